/* clang-format off */
/*
 * What the host of an ACP agent and its clients (the pane, `mas ask`, editors, `mas serve`) send to
 * each other over run/<agent>.sock, a stream socket to which only the owner can connect (mode 600 in
 * directories of mode 700; SO_PEERCRED checks the peer's user). Each message is a frame
 * (base/frame.h): a JSON object of at most 64 KiB and an optional body of at most 4 MiB. A host has 64
 * connections, of which 48 may watch or listen; if all are taken, it drops a client that does not ask
 * or does not read. Times are both ISO 8601 and ms since the epoch. New members may appear; a client
 * ignores those that it does not know.
 *
 * A connection makes one request, unless it listens. The answer is {"ok":true,"agent":ID,...} or an
 * error, which hosts_reply_error() reads. Every request except `listen` has a sender: the agent from
 * which the client's process descends, otherwise the agent named in "from", otherwise the guest named
 * in "guest" (mas invite), who is recorded as guest:NAME and decides nothing that only a person may,
 * otherwise a person. An
 * agent must follow the rules of `send`; its own host refuses it `permit`, `clear`, `mode`, `set`,
 * `sleep` and `conversation`.
 *
 * Requests to every host
 *
 *   status        -> the members of model/agent_status.h that have a value, times in ms; tmux: where
 *                    the pane is, which lets client/servers.h do without tmux
 *   watch         messages, early
 *                 -> the same at once, and again at each change, until the client hangs up. One that
 *                 reads late gets only the newest state. With "messages":true, each text that a
 *                 terminal agent's host accepts comes between them: {"event":"prompt","from":"10",
 *                 "bytes":5} and the text. With "early":true, those of the host's first ten seconds
 *                 come first, if these are not over (256 KiB of texts at most).
 *   send          from, enter, wait, pictures, bytes; body: the text
 *                 -> outcome: "delivered" or "queued": typed, or accepted
 *                 With "wait":true the connection becomes a watch. Starts an agent that does not run.
 *                 "pictures": [{file, name}] are in the session already (store/pictures.h); the text
 *                 may be empty then. MAS_CONFLICT: the agent takes none.
 *   restart       the answer is the agent's status, once the new process runs
 *   stop          hangup, terminate: times in ms
 *                 -> terminated, killed, names: "cat(123)", once the whole tree has ended
 *                 The host stays, and starts the agent again only for a person or `restart`.
 *
 * Requests that not every host takes
 *
 *   ask           from, wait, new, conversation, tags: ["K:V"], once, aside, pictures, bytes; body:
 *                 the prompt
 *                 -> agent, outcome: "started" or "queued", prompt: its id, queued: N,
 *                    ahead: number of prompts before it, paused: why no turn begins
 *                 With "new" or "conversation" the prompt belongs to a new conversation or to the
 *                 named one. That one becomes current when the turn of the prompt comes, also for
 *                 the prompts behind it. With "wait":true the events of this prompt follow, `end`
 *                 last. Closing the connection earlier withdraws nothing, unless the request has
 *                 "held":true: then it cancels the prompt.
 *                 With "once":true a prompt whose first tag one of a person has had is not asked again:
 *                 the answer is outcome: "queued" and the prompt of then.
 *                 With "aside":true a copy of the agent's session is asked, always with "wait", and
 *                 only this client gets its events; closing the connection cancels it. MAS_CONFLICT:
 *                 the agent cannot copy its session.
 *   send          as for any agent: a prompt without a client that waits for its end
 *                 With "now":true the agent sees it in its present turn, if it can: outcome
 *                 "steered"; else why. The answer waits for the agent's; a listener is told
 *                 "steers" at once.
 *                 An agent on a terminal answers with the outcome "delivered", "queued" or "held":
 *                 why; held messages wait for a line that a person has typed on.
 *                 "note":true: mas has written the text. An agent that executes what it is sent is
 *                 not sent it; it is shown in the pane: outcome "shown".
 *   sleep         all
 *                 -> terminated, killed, names; or the agent's status, if it is asleep already
 *                 Answered when the agent's process has ended with its tree. MAS_CONFLICT: it is
 *                 not known to be idle. With "all":true an agent on a terminal answers with its
 *                 status instead of MAS_CONFLICT.
 *   wake          the answer is the agent's status
 *                 Starts an agent that is asleep.
 *   listen        early
 *                 -> the agent's status, conversation, query, mode, modes, commands,
 *                    can: {now, aside, pictures, kept, deleteKept}, each true or false, or null: the agent has
 *                    not told yet what it can do,
 *                    permissions: [..], each as in its event, the beginning of its body as "details",
 *                    and options: [..],
 *                    if the agent has sent some and they fit
 *                 All events follow until the connection closes; it may carry further requests.
 *                 With "early":true the events of the host's first ten seconds come first, if these
 *                 are not over. The host closes the connection to a listener that leaves more than
 *                 HOST_BACKLOG bytes unread for a second, and reads hardly any of them; to a client
 *                 of `ask`, after a minute.
 *   cancel        prompt
 *                 -> cancelled: true or false
 *                 Cancels the current turn. With "prompt" only that one, which may still be queued.
 *   permit        permission, option, as, mode, more, answers
 *                 -> permission, option, title, the beginning of its details; mode; or budget
 *                 Answers an open permission; without "permission" the oldest. "option" is the id
 *                 of an option; or "allow", "allow_always", "deny", "deny_always": the first of
 *                 that kind; or "clear": clear the context and carry out the plan. "as" is "allow"
 *                 or "deny": MAS_USAGE if the option is of the other kind. MAS_NOT_FOUND: none is
 *                 open. A plan that continues with an empty context does so in "mode"; a client
 *                 that waits for the plan's prompt then waits until the plan is carried out.
 *                 "answers" is an object: what a person has filled into the form, by the names of
 *                 its fields, as texts or as values of their types. MAS_USAGE: they do not fit.
 *                 With "more", or with "allow" if no permission is asked and the agent is paused,
 *                 lets the agent use more than its budget: "2 USD", "turns=5"; without "more" the
 *                 same again. Only a person may. "budget" says in words what it may use then.
 *   clear         mode, tags, wait, bytes; body: the text of --then
 *                 -> conversation, query: N, prompt: its id or null; modeUnchecked
 *                 Answered after it is on disk. "modeUnchecked":true: the agent has not run yet, so
 *                 the host does not know whether the agent has this mode.
 *   login         method: the id of one on a terminal; missing: the first
 *                 The agent's own program has the pane until it ends; then the agent starts again.
 *   mode          mode
 *   set           option, value
 *   look          the answer is the agent's status
 *                 The work tree of the agent, or the integration branch, has changed: the host of
 *                 any agent looks at it again, soon.
 *   seen          A person has looked at the agent: the host of any agent notes the time.
 *   conflict      body: the names of files
 *                 `mas merge` has found that the agent's branch does not merge; people are told.
 *                 The answer is the agent's status. The host of any agent does this.
 *   disk          session, agent: {"used", "limit"} in bytes; room: how much more leads to the next
 *                 level. `mas measure` tells what it has found; without figures a limit was
 *                 changed. The answer is the agent's status. The host of any agent does this.
 *   kept          session: the id of one to delete; all: true
 *                 -> sessions: [{id, title, updatedAt, inUse, deleted, error}], more, failed
 *                 The sessions that the agent itself keeps for its directory. With "session" that
 *                 one is deleted, with "all" each but the one in use; "error" says why one was not.
 *                 Those that were not come first; "failed" is their number. "more" is the number
 *                 of those for which the answer has no room.
 *                 Answered when the agent has answered; an agent that does not run is started.
 *   adopt         session: its id; path: its file, which the preset's told.kept have to mean
 *                 -> the agent's status, when it has started
 *                 A session of the program that began without mas goes on in the agent, on a
 *                 terminal that tells: host/terminal/teller_adopt.c.
 *   conversation  new: true, or conversation: the id of the one that becomes current
 *                 -> conversation, state: "starting" until the agent has a session for it; its mode
 *                 and options come as events before another state does
 *
 * The host of a terminal program refuses those that are about a conversation with
 * MAS_CONFLICT ("cannot ask agent '11': it is not an ACP agent") and a hint to use `mas send`.
 *
 * Events: {"event":NAME,...}. `mas ask --json` prints each on a line, the body as "text".
 *
 *   queued        prompt, from, pictures; body: its text              a prompt waits
 *   prompt        prompt, from, tags, pictures; body: its text        a turn begins
 *                 steered: true if the agent has taken it in the middle of one
 *   text          message, at: bytes of the message before this piece; body: the piece
 *   thought       the same
 *   user          the same
 *   tool          message, id, title, kind, status; body: its content for reading
 *   plan          message, entries: [{content, priority, status}]
 *   permission    permission, message, id, title, kind, options: [{id, name, kind}]; body: details
 *                 The title begins with the command, address or path, if the tool call has one. The
 *                 same permission comes again if the agent has told more of what it asks.
 *                 plan: true if it asks to approve a plan; then "clear" is an option too
 *                 form: the JSON schema of a form; then the options are accept and decline
 *                 url, host, elicitation: an address to open, and its id; the same options
 *   elicited      elicitation: what a person was asked to do in a browser is done
 *   permitted     permission, option, name, by: "policy", "cancelled", an agent, "-": a person
 *   mode          mode, modes: [{id, name}]
 *   commands      commands: [{name, description}]
 *   options       options: [{id, name, category, type: select or boolean, value, values: [{value,
 *                    name}]}]; the values of a boolean one are "true" and "false"
 *   usage         used, size, cost, currency                          cost: of all its turns, or null
 *   title         title
 *   state         state, note
 *   query         query, reason                                       the context was cleared
 *   continuity    outcome: resumed, loaded, injected or fresh; note
 *   conversation  conversation
 *   note          body: a message of mas
 *   end           prompt, stopReason, code, error                     a turn has ended
 *
 * "more":N says how much of a long event is omitted: entries of a plan, options of a permission,
 * bytes of a tool's content. `mas history` has all of it.
 */
/* clang-format on */
#pragma once

enum {
    HOST_BACKLOG = 4 << 20, /* bytes that a listener may leave unread */
    HOST_QUEUE_MAX = 256, /* queued prompts */
    HOST_PROMPT_MAX = 4 << 20, /* bytes of a prompt */
    HOST_KEPT_MS = 180000, /* for the answer to `kept`: the agent may have to start first */
};

/* Stop reasons of `end` besides those of ACP (end_turn, max_tokens, max_turn_requests, refusal,
 * cancelled). */
#define HOST_END_CLEARED "cleared" /* the context was cleared before its turn */
#define HOST_END_FAILED "failed" /* the agent ended or answered with an error; see `error` */
#define HOST_END_STOPPED "stopped" /* the session was stopped; with `error`, before the turn */
/* The end of the error of a prompt that was still queued when its agent was stopped. */
#define HOST_WAITS "the prompt waits for the next start"

/* clang-format off */
/*
 * What the host of an ACP agent and its clients (the pane, `mas ask`, editors, `mas serve`) say to
 * each other over run/<agent>.sock. Each message is a frame (base/frame.h): a JSON object, and
 * behind it the bytes of a body, if there is one.
 *
 * A connection makes one request, unless it listens. The answer is {"ok":true,...}, or an error, as
 * hosts_reply_error() reads it. Every request but `listen` has a sender: the agent from which the
 * client's process descends, else the agent that "from" names, else a person. An agent is held to
 * the rules of `send`, and its own host refuses it `permit`, `clear`, `mode`, `set` and
 * `conversation`.
 *
 * Requests
 *
 *   ask           from, wait, new, conversation, tags: ["K:V"], bytes; body: the prompt
 *                 -> agent, outcome: "started" or "queued", prompt: its id, queued: N,
 *                    ahead: how many prompts come before it
 *                 With "new" or "conversation" the prompt belongs to a new conversation or to the
 *                 one named. That becomes the current one when the prompt's turn comes, also for
 *                 the prompts behind it. With "wait":true the events of this prompt follow; the
 *                 last is `end`. A connection that closes before that takes nothing back.
 *   send          as to any agent: a prompt for which nobody waits
 *   listen        early
 *                 -> the agent's status, conversation, query, mode, modes, commands,
 *                    permissions: [..], and options: [..], if the agent has told some and they fit
 *                 Every event follows, until the connection closes; further requests may be made
 *                 on it. With "early":true the events of the host's first ten seconds come first,
 *                 if these are not over. A listener that leaves TALK_BACKLOG bytes unread is hung
 *                 up on.
 *   cancel        prompt
 *                 -> cancelled: true or false
 *                 Ends the turn in flight. With "prompt" only that one, which may also still wait.
 *   permit        permission, option, as, mode
 *                 -> permission, option, title; mode
 *                 Answers an open permission; without "permission" the oldest. "option" is the id
 *                 of an option; or "allow", "allow_always", "deny", "deny_always": the first of
 *                 that kind; or "clear": clear the context and carry out the plan. "as" is "allow"
 *                 or "deny": MAS_USAGE if the option is of the other kind. MAS_NOT_FOUND: none is
 *                 open. A plan that goes on with an empty context does so in "mode", and whoever
 *                 waits for the plan's prompt then waits for the end of that.
 *   clear         mode, bytes; body: the text of --then
 *                 -> conversation, query: N, prompt: its id or null; modeUnchecked
 *                 Answered once it is on disk. "modeUnchecked":true: the agent has not run yet, and
 *                 nobody knows whether it has this mode.
 *   mode          mode
 *   set           option, value
 *   conversation  new: true, or conversation: the id of the one that becomes the current one
 *
 * The host of a terminal program refuses all but `send` with MAS_CONFLICT ("cannot ask agent
 * '11': it is no ACP agent") and the hint to use `mas send`.
 *
 * Events: {"event":NAME,...}. `mas ask --json` prints each on a line, the body as "text".
 *
 *   prompt        prompt, from, tags; body: the words                 a turn begins
 *   text          message, at: bytes of the message before this piece; body: the piece
 *   thought       the same
 *   user          the same
 *   tool          message, id, title, kind, status; body: its content, as it is to be read
 *   plan          message, entries: [{content, priority, status}]
 *   permission    permission, message, id, title, kind, options: [{id, name, kind}]; body: details
 *                 plan: true if it asks to approve a plan; then "clear" is an option too
 *   permitted     permission, option, name, by: "policy", "cancelled", an agent, "-": a person
 *   mode          mode, modes: [{id, name}]
 *   commands      commands: [{name, description}]
 *   options       options
 *   usage         used, size
 *   title         title
 *   state         state, note
 *   query         query, reason                                       the context was cleared
 *   continuity    outcome: resumed, loaded, injected or fresh; note
 *   conversation  conversation
 *   note          body: words of mas
 *   end           prompt, stopReason, code, error                     a turn has ended
 *
 * "more":N says how much was left out of what is very long: entries of a plan, options of a
 * permission, bytes of a tool's content. `mas history` has all of it.
 */
/* clang-format on */
#ifndef MAS_PROTOCOL_HOST_H
#define MAS_PROTOCOL_HOST_H

enum {
    TALK_BACKLOG = 4 << 20, /* bytes that a listener may leave unread */
    TALK_QUEUE_MAX = 256, /* prompts that wait */
    TALK_PROMPT_MAX = 4 << 20, /* bytes of one */
};

/* Stop reasons of `end` besides the protocol's (end_turn, max_tokens, max_turn_requests, refusal,
 * cancelled). */
#define TALK_END_CLEARED "cleared" /* the context was cleared before its turn */
#define TALK_END_FAILED "failed" /* the agent answered with an error, or ended; `error` says it */
#define TALK_END_STOPPED "stopped" /* the session was stopped; `error`: before its turn */
/* What becomes of a prompt whose turn had not begun when its agent was stopped */
#define TALK_WAITS "it waits, and is asked after the next start"

#endif

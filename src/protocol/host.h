/*
 * How the host of an ACP agent and those who talk with the agent (the pane, `mas ask`, editors,
 * programs) speak over run/<agent>.sock: the words of frames (base/frame.h).
 *
 * Requests, one a connection unless said otherwise; an answer is {"ok":true,...} or an error as
 * hosts_reply_error() reads it. Each but `listen` is asked by somebody: the agent that the client's
 * process descends from, else whom `from` names, else a person. An agent is held to the rules of
 * `send`, and its own host refuses it `permit`, `clear`, `mode`, `set` and `conversation`.
 *
 *   {"do":"ask","from","wait","new","conversation","tags":["K:V"],"bytes"}   body: the prompt
 *       -> {"ok":true,"agent","outcome":"started"|"queued","prompt":"<message id>","queued":N,
 *           "ahead":N}                  ahead: prompts that come before it
 *       in a new conversation, or the one named, where it says so: it becomes the current one when
 *       the prompt's turn comes, for the prompts behind it too;
 *       with "wait":true then the events of that prompt, the last of which is "end". A connection
 *       that closes before takes nothing back.
 *   {"do":"send",...}        as to any agent: a prompt that nobody waits for
 *   {"do":"listen"}          -> {"ok":true,...status...,"conversation","query","mode","modes",
 *                            "commands","permissions":[...],"options":[...] where it has told some
 *                            and they fit} then every event, until it hangs up;
 *                            further requests may be made on the same connection. With
 *                            "early":true the events of the host's first ten seconds come first,
 *                            where these are not over. A listener that
 *                            leaves TALK_BACKLOG bytes unread is hung up on.
 *   {"do":"cancel","prompt"}  -> {"ok":true,"cancelled":true|false}   the turn in flight; with
 *                            `prompt` only that one, which may also still be queued
 *   {"do":"permit","permission","option","as","mode"}   option: an option's id, or "allow",
 *                            "allow_always", "deny", "deny_always" (by kind), or "clear" for clear
 *                            context and carry out the plan; without `permission` the oldest open
 *                            one; `as` "allow" or "deny": MAS_USAGE where the option is another
 * kind
 *                            -> {"ok":true,"permission","option","title"}; MAS_NOT_FOUND: none
 * open. A plan that goes on with a cleared context does so in `mode`, which the answer has too; who
 * waits for the plan's prompt then waits for its end
 *   {"do":"clear","mode","bytes"}           body: --then
 *                            -> once durable {"ok":true,"conversation","query":N,"prompt"|null},
 *                            with "modeUnchecked":true where the agent has not run yet, so that
 *                            nobody knows whether it has the mode
 *   {"do":"mode","mode"}  {"do":"set","option","value"}
 *   {"do":"conversation","new":true | "conversation":"ID"}   makes another the current one
 *
 * Each of these but `send` is refused with MAS_CONFLICT by the host of a
 * terminal program: "cannot ask agent '11': it is no ACP agent", with the hint to `mas send`.
 *
 * Events: {"event":NAME,...}, any text of it as the frame's body. `mas ask --json` prints them one
 * a line, the body as "text". "more":N says how much was left out of what is very long: entries of
 * a plan, options of a permission, bytes of a tool's content; `mas history` has all of it.
 *
 *   prompt      prompt, from, tags; body: the words       a turn begins
 *   text, thought, user   message, at: bytes of the message before it; body: a piece
 *   tool        message, id, title, kind, status; body: content as it is to be read
 *   plan        message, entries: [{content, priority, status}]
 *   permission  permission, message, id, title, kind, options: [{id, name, kind}], plan: true where
 *               a plan is to be approved (then "clear" is an option too); body: details
 *   permitted   permission, option, name, by ("policy", "-", an agent, "cancelled")
 *   mode        mode, modes: [{id, name}]      commands   commands: [{name, description}]
 *   options     options                        usage      used, size       title   title
 *   state       state, note                    query      query, reason: what was said before is
 * away continuity  outcome: resumed loaded injected fresh; note conversation  conversation note
 * body: words of mas end         prompt, stopReason, code, error: a turn has ended
 */
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

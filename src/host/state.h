/*
 * The whole state of a host; for src/host/ only. host.c owns it and runs the loop. Each of the
 * other files keeps one member and acts on it when the loop says that something has happened:
 *
 *     start.c      reads what the agent is started with, before the loop
 *     backend.h    the kind of agent: a program on a terminal (terminal/) or an ACP agent (acp/)
 *     talk/        what is asked and told, of an agent that tells (talk/talk.h)
 *     role.c       what the agent is told of its role and of the project
 *     child.c      the agent's process: its start, its end, and what comes after that
 *     resources.c  what holds its memory, CPUs and processes
 *     pane.h       the pane that people look at
 *     server.h     the socket: connections and their bytes
 *     broker.c     runs the agent's own commands of mas outside, as the agent
 *     peer.c       finds out whose process is at the other end of a connection
 *     attention.c  whether a person has seen what the agent did, and the register of who waits
 *     display.c    what tmux is told of the agent, and asked
 *     code.c       what the agent has changed in the session's project
 *     setup.c      the setup of the agent's work tree, which runs before the agent
 *     notify.c     notices for people
 *     lease.c      the end in time of a session whose lease is not renewed
 *     unwritten.h  writes that could not be made, as on a full disk
 *     disk.c       how much disk space is used, and the pause at a limit
 *     status.c     the status, for those who ask, watch, or wait for a start or an end
 *     request.c    the table of requests, and the answers that do not depend on the kind of agent
 *     own.c        the host's own words in the logs, and its own processes
 *
 * There are no threads, and only the loop waits. Each part tells the loop when it has to be called
 * again. Times are monotonic milliseconds unless a name says otherwise; -1 means never.
 */
#pragma once

#include "base/frame.h"
#include "host/bounds.h"
#include "host/commands.h"
#include "host/disk_pace.h"
#include "host/expand.h"
#include "host/pane.h"
#include "host/supervisor.h"
#include "model/agent_status.h"
#include "model/attention.h"
#include "model/disk.h"
#include "model/notice.h"
#include "model/preset.h"
#include "model/request_id.h"
#include "model/team/team.h"
#include "os/conn.h"
#include "os/log.h"
#include "os/loop.h"
#include "os/proc.h"
#include "protocol/broker.h"
#include "store/config.h"
#include "store/lease_clock.h"
#include "store/root.h"
#include "store/session.h"
#include "wall/cgroup.h"
#include "wall/plan.h"
#include "wall/probe.h"

enum child_phase {
    CHILD_NONE, /* nothing runs */
    CHILD_SETS_UP, /* the setup of its work tree runs; the agent follows */
    CHILD_RUNS,
    CHILD_ENDS, /* the agent, or its setup, has ended or was told to; some of its tree still runs */
};

enum { CHILD_OVERUSED_MAX = 96 };

struct child {
    enum child_phase phase;
    struct supervisor supervisor;
    pid_t pid; /* of the agent; 0: none, or not known yet */
    int64_t started;
    bool ended; /* the host knows that this run of the agent has ended */
    bool cleared; /* its whole tree has */
    bool gone; /* the supervisor has ended, but the pane has not taken all output */
    bool asked; /* mas itself ends the agent */
    bool again; /* start a new one as soon as the tree of this one has ended */
    bool stopped; /* by `mas stop`: only a person starts it again */
    bool sleeps; /* mas has put it to sleep; see backend.sleeps */
    bool delivered; /* this run took a message */
    enum agent_state rest; /* its state while nothing runs */
    int exit_code, signal; /* of the last run; -1, 0: not so */
    int failures; /* ends in a row that count as failures */
    int restarts;
    int64_t restart_at; /* -1: it does not start by itself */
    struct supervisor_report clear; /* what the last end took */
    char overused[CHILD_OVERUSED_MAX]; /* of what it used too much in its last run; or "" */
    char note[AGENT_NOTE_MAX];
};

enum {
    SERVER_CLIENTS_MAX = 64,
    SERVER_WATCHERS_MAX = 48, /* of these; the other places are for clients that ask and leave */
};

enum client_kind {
    CLIENT_NEW, /* has not made a request yet */
    CLIENT_WATCHES,
    CLIENT_RESTARTS, /* waits for the new process */
    CLIENT_STOPS, /* waits for the end */
    CLIENT_STEERS, /* waits for what the agent does with its words */
    CLIENT_SETS, /* waits for what the agent says of a mode or an option (host/acp/settings.c) */
    CLIENT_LISTS, /* waits for what the agent keeps (host/acp/kept.c) */
    CLIENT_ASKS, /* gets the events of its prompt */
    CLIENT_LISTENS, /* gets all events, and may make further requests */
    CLIENT_LEAVES, /* leaves once its answer is written */
};

/* Whose process is at the other end of a connection. */
enum peer_kind {
    PEER_NEW, /* not known yet */
    PEER_PERSON,
    PEER_AGENT, /* it descends from an agent of this team */
    PEER_STRANGER, /* or from one of another session */
    PEER_GONE, /* it has ended, or is in another PID namespace: nobody can tell */
};

struct client {
    struct conn conn;
    struct proc_id peer; /* without a start if it had ended when its connection was accepted */
    enum peer_kind whose;
    const struct agent *agent; /* of PEER_AGENT; host_member() */
    char *stranger; /* of PEER_STRANGER: "agent '11' of session '...'" */
    bool elsewhere; /* of PEER_STRANGER: its session is in another root */
    /* Who makes the present request: an agent of the team; a guest, as `guest`; NULL: a person. */
    const char *from;
    char guest[TEAM_WORD_MAX + 1];
    enum client_kind kind;
    bool done; /* it writes nothing more, but may still read */
    bool dirty; /* a watcher that gets the status once it has read the one before */
    bool messages; /* a watcher that gets messages too */
    int64_t
        prompt; /* of CLIENT_ASKS and CLIENT_STEERS: its number; of CLIENT_SETS: the request's */
    bool holds; /* of CLIENT_ASKS: the prompt is cancelled if the client goes before its end */
    bool asked; /* of CLIENT_LISTENS: it has made a prompt, and gets its end */
    bool stays; /* of CLIENT_STEERS: it watches then */
    int64_t full_since; /* since when it leaves too much unread; 0: it does not */
    size_t full_unread; /* bytes, at that time */
};

enum server_audience {
    SERVER_WATCHERS, /* with client.messages */
    SERVER_LISTENERS,
    SERVER_AUDIENCE_COUNT,
};

struct host_server {
    int listener;
    struct client clients[SERVER_CLIENTS_MAX];
    size_t count;
    int64_t early_until; /* when the early frames are dropped; 0: they are */
    struct str early[SERVER_AUDIENCE_COUNT]; /* all frames so far, for clients that come late */
};

/* A connection to the agent's socket whose request has not come yet. */
struct broker_arrival {
    int fd;
    struct proc_id peer;
    int64_t until; /* it is dropped then */
    bool tells; /* it is read here; else what comes is for the supervisor of a command */
    struct frames frames;
};

/* Commands that run for the agent; of broker.c. */
struct host_broker {
    int listener; /* -1: the agent is a person */
    struct broker_arrival arrivals[BROKER_JOBS_MAX];
    size_t arrived;
    struct supervisor jobs[BROKER_JOBS_MAX];
    size_t count;
    int64_t full_until; /* -1: there is room; then clients that wait are refused */
};

/* The figures of the agent's work tree; of code.c. */
struct code_look {
    bool wanted; /* something may have changed since the last look began */
    bool runs; /* `proc` looks */
    struct proc proc;
    int64_t due; /* the next one begins no earlier */
    struct code_figures figures; /* of the last one */
};

/* What a person knows of the agent; of attention.c. */
struct host_attention {
    enum attention class;
    int64_t done_ms, seen_ms; /* epoch, as in struct agent_status */
    enum turn_outcome turn; /* of the newest turn, and why */
    char why[AGENT_NOTE_MAX];
    bool failed; /* one has just failed */
    bool rested; /* this run of the agent has been idle */
    bool looked; /* a person looks at what made the class, or did */
    bool known; /* `looked` is right: tmux has answered, or need not be asked */
    bool wanted; /* ask tmux */
};

/* What tmux knows of the agent; of display.c. */
struct host_display {
    bool on; /* [tmux] status, and there is a pane */
    enum agent_state state; /* that tmux was told, or is being told */
    bool waits; /* likewise: the agent needs a person */
    bool runs; /* `proc` tells and asks */
    struct proc proc;
    int lock; /* on run/, while it runs, and until `space`; -1 */
    int64_t space;
    int64_t first; /* tmux is told nothing before */
    int64_t due; /* the next call begins no earlier */
};

/* The setup of the agent's work tree; of setup.c. */
struct host_setup {
    bool runs; /* the child is the setup, not the agent */
    bool late; /* it takes too long, and is being ended */
    bool told; /* the pane says why there is none */
    int out; /* what it prints */
    int64_t deadline;
    int status; /* its end, as from waitpid() */
    struct log log;
};

/* The entry of the agent in the register of who waits; of attention.c. */
struct host_entry {
    int64_t since_ms; /* epoch; 0: it has none */
    int64_t due; /* the next try to write comes no earlier */
};

/* Notices for people; of notify.c. */
struct host_notify {
    unsigned kinds; /* bits of enum notice_kind; 0: nobody wants any */
    int done_ms; /* how long a turn takes whose end is told */
    struct notice_state before;
    struct str waiting; /* `count` notices, as lines of JSON */
    size_t count, dropped;
    bool runs; /* `proc` delivers earlier ones */
    struct proc proc;
};

/* The wall of the agent; of wall.c. */
struct host_wall {
    struct wall_probe probe;
    bool rises; /* the wall of the run that began last has not told that its program begins */
    struct wall_report report; /* of the newest start */
    bool nested; /* the agent of that start may set up a sandbox of its own inside */
    bool began; /* an agent was started: its /tmp and its home are this host's */
    struct wall_shared shared;
};

/* The lease of the session, if it has one; of lease.c. */
struct host_lease {
    struct lease_clock clock;
    int64_t due; /* when to see whether a process renews it; monotonic ms */
    bool runs; /* `renewer` does */
    struct proc renewer;
    bool watched; /* `watcher` runs */
    struct proc watcher;
    bool lost; /* the end has begun */
};

/* How much disk space is used; of disk.c. */
struct host_disk {
    bool watched; /* there is a limit */
    bool wanted; /* measure soon, whatever the pace */
    bool runs; /* `proc` measures */
    bool failed; /* the last try */
    bool held; /* a quota of the file system holds the limit of the session */
    struct proc proc;
    int session_lock, root_lock; /* while it runs; -1 */
    int64_t began, used; /* when it began, and what the file system held then */
    int64_t room; /* as told by the last one */
    struct disk_pace pace;
    int64_t due, reserve_due;
    struct disk_use use[DISK_SCOPE_COUNT];
    enum disk_level level[DISK_SCOPE_COUNT];
    bool paused; /* at a limit: what runs, or starts, is stopped */
    int64_t paused_at, said_at;
    char words[DISK_WORDS]; /* of the highest level; "" */
};

/* The logins that the agent may have; see model/account.h. They point into the config. */
struct host_accounts {
    const struct account *of[ACCOUNTS_EACH_MAX]; /* in their order */
    size_t count; /* 0: mas gives it none */
    size_t next, given; /* that its program gets at its next start, and got at the last */
};

/* A write that can be repeated. run() writes it; if it adds a message, it sets `number`, which is
 * that of the message otherwise. */
enum { WRITE_NUMBERS = 16, WRITE_TEXTS = 6 };
struct store;
struct unwritten_write {
    int (*run)(struct store *store, struct unwritten_write *write, struct err *err);
    bool adds;
    int64_t number;
    int64_t trigger; /* of a message that is added: the prompt, which may be added late, too */
    int64_t n[WRITE_NUMBERS];
    const char *text[WRITE_TEXTS]; /* NULL: none */
    size_t len; /* of the first one */
};

/* What could not be written; of unwritten.c. */
struct host_unwritten {
    struct unwritten_write *writes; /* in their order */
    size_t count, bytes;
    int64_t *numbers; /* of messages that were added late; 0: not yet */
    size_t added;
    int64_t again; /* when to try again */
    char why[ERR_TEXT_MAX + 16]; /* "not written: ..."; "": everything is */
};

struct backend;
struct terminal;
struct conversation;
struct talk;

struct host {
    struct root root;
    struct config config;
    struct session session;
    struct team team; /* as it was when the host started */
    struct newer_team *newer; /* as it was read later; see host/team.c */
    const struct agent *agent; /* points into the team */
    const struct preset *preset; /* points into the config */
    int dir, run, logs, lock;
    char **env, **argv;
    bool prompts; /* the host delivers the first message of the team to the agent */
    int hibernate_ms; /* idle for this long, the agent is put to sleep; 0: never */
    bool is_operator; /* the agent is a person's terminal */
    bool unit_waits; /* the agent's directory is made when the agent first starts */
    int port; /* the first of the agent's own ports; 0: it has none */
    char pane_id[24]; /* tmux's %id */
    pid_t pid;
    int signals;
    bool leaving; /* the pane or the team ends: the host ends once the agent's tree has ended */
    struct pane pane;
    pid_t pane_program; /* the pane's own program, which acts for a person; 0: none runs */
    pid_t pane_login; /* the agent's login, which has the pane instead; it acts for the agent */
    struct child child;
    struct host_resources resources;
    const struct backend *backend; /* by the preset's protocol */
    union { /* the state of that kind of agent; NULL before open() */
        struct terminal *terminal;
        struct conversation *conversation;
    };
    struct talk *talk; /* what is asked and told, of an agent that tells; NULL */
    struct host_server server;
    struct host_broker broker;
    const struct host_commands *commands;
    struct code_look code;
    struct host_attention attention;
    struct host_display display;
    struct host_setup setup;
    struct host_entry entry;
    struct host_notify notify;
    struct host_wall wall;
    struct host_disk disk;
    struct host_lease lease;
    struct host_accounts accounts;
    struct log log;
    bool log_failed;
    struct host_unwritten unwritten;
    char memory[AGENT_NOTE_MAX]; /* what memory.db has lost, as this host has found; or "" */
    int64_t output_ms; /* epoch, of the newest output */
    struct agent_status told; /* what watchers know: state, pid, ... */
    char told_request[REQUEST_ID_TEXT]; /* and the question */
};

/* Returns the name of the agent's account; "": it has none. */
static inline const char *host_account(const struct host *host)
{
    const struct host_accounts *accounts = &host->accounts;
    return accounts->count > 0 ? accounts->of[accounts->next]->name : "";
}
/* ... and of the one with which its program was started. */
static inline const char *host_payer(const struct host *host)
{
    const struct host_accounts *accounts = &host->accounts;
    return accounts->count > 0 ? accounts->of[accounts->given]->name : "";
}

/* ---- start.c */
/* Reads session, team, settings and preset, takes lock and socket, and reads the environment, for
 * which it waits until the team stands. */
int start_prepare(struct host *host, const char *id, const char *agent_id, struct err *err);
/* Makes the agent's directory if it is missing, and enters it. */
int start_make_unit(struct host *host, struct err *err);
/* Releases everything that start_prepare() has taken, and removes the host's files from run/. */
void start_release(struct host *host);

/* ---- role.c */
/* Appends the first text of a fresh context: the agent's system text, and what the program does not
 * find in the directory where it starts of its role and of the project. */
void role_add(const struct host *host, struct str *to);
/* For a program on a terminal: writes the same text, and what was said before (""), into run/, and
 * adds to the command and the environment what its preset says. *argv and *env are vectors of
 * strings. */
int role_tell(const struct host *host, const char *history, char ***argv, char ***env,
              struct err *err);
/* Sets the variables in the environment, as expand_variable() does; one that keeps its value is
 * logged as this loss. */
void role_add_variables(const struct host *host, const struct kv *variables,
                        const struct expand_value *values, size_t count, const char *loss,
                        char ***env);
/* Opens run/<agent>.role/, which is made if it is missing. The caller frees *ret_path. */
int role_open_dir(const struct host *host, char **ret_path, struct err *err);
/* Removes run/<agent>.role/, which has that, and the settings of teller_hooks.c. */
void role_drop(const struct host *host);

/* ---- team.c */
/* Notes the team that was just read. */
void host_team_note(struct host *host);
void host_team_free(struct host *host);
/* Returns the team as it is now, for what concerns others; the host owns it. */
const struct team *host_team(const struct host *host);
/* Returns an agent of it, or NULL; that of this host is always host->agent. */
const struct agent *host_member(const struct host *host, const char *id);

/* ---- own.c */
enum { OWN_OUTPUT_MAX = 8 * 1024 }; /* bytes; they fit into a pipe */
/* Starts mas itself: like proc_start() with its environment, input and time limit from `spec`.
 * `shown` names the program in messages and is constant text. */
int host_start_own(const char *shown, const char *const *argv, const struct proc_spec *spec,
                   struct proc *ret, struct err *err);
/* Like proc_finish(), for such a process; fails with what it says if its exit code is not 0. */
int host_finish_own(struct proc *proc, struct proc_result *ret, struct err *err);
/* Kills what a killed supervisor of the agent has left to this process. What the host has started
 * for itself goes on: the program in the pane, a login, and the programs of mas that look, measure,
 * tell and watch. The agent's own commands (broker.c) end as they do whenever their clients are
 * gone, in order: one may be in the middle of a merge. */
void host_sweep(struct host *host);
/* Reaps what has ended: also supervisors, and what a killed one has left to this process. */
void host_reap(struct host *host);
/* Appends to the agent's log. */
void host_keep_log(struct host *host, const char *bytes, size_t len);
/* Sets the pane's title to the agent's id and role. */
void host_set_title(struct host *host);
/* Writes a line about this agent, or about a message to it, to the session's log. */
void host_log(const struct host *host, const char *words);
void host_log_message(const struct host *host, const char *from, size_t len, const char *outcome);
/* Renames a damaged memory.db. *ret_words, which the caller frees, says so; it is NULL if another
 * process has renamed it before. */
int host_set_store_aside(struct host *host, char **ret_words, struct err *err);
/* Keeps what memory.db has lost, for the status. */
void host_note_memory(struct host *host, const char *words);

/* ---- child.c */
/* Starts the agent; if the tree of the one before has not ended, as soon as it has. On failure says
 * why in the pane and in child.note. */
void child_start(struct host *host, int64_t now);
/* Ends the agent. `spare` is a process that is left alone; `again`: a new one starts then. */
void child_end(struct host *host, struct supervisor_times times, pid_t spare, bool again);
/* Ends an agent that failed before it could be used, and starts it once more a little later.
 * Returns false if that has been done already. */
bool child_retry(struct host *host, int64_t now);
/* Ends the process of an agent, which is asleep then. */
void child_sleep(struct host *host);
/* Starts an agent that sleeps, or that is about to. */
void child_wake(struct host *host);
/* Handles the reports of the supervisor. */
void child_serve(struct host *host, int64_t now);
/* Does what is due. Returns when to call again. */
int64_t child_tick(struct host *host, int64_t now);
/* Returns the times for an end for which nobody gave others. */
struct supervisor_times child_times(const struct host *host);
/* Describes the end of the last run, as in "exited with code 3". */
void child_describe_end(const struct child *child, char *buf, size_t size);

/* ---- resources.c */
/* Makes the group of the agent, or finds out why there is none. */
void resources_open(struct host *host);
void resources_close(struct host *host);
/* Returns true if the disk space of the session or of the agent is limited. */
bool resources_limit_disk(const struct host *host);
/* Follows a limit that a person has changed. A group holds it at once, rlimits from the next start
 * of the agent on. */
void resources_limits_changed(struct host *host);
/* A run of the agent, or its setup, is about to start; it runs, and was refused by its group for
 * this reason (errno; 0: it was not). */
void resources_begin(struct host *host);
void resources_started(struct host *host, int refused);
/* Reports what holds the limits of the agent. Fails if something must, and nothing does. */
int resources_hold(struct host *host, struct wall_report *report, struct err *err);
/* If the run ended because it used too much, writes that: "it used more than ...". */
bool resources_describe_end(const struct host *host, char *buf, size_t size);
/* Measures what the agent uses, unless that was done a moment ago. */
void resources_measure(struct host *host);
/* Returns what was measured last; all is unknown if no agent runs. */
struct agent_resources resources_usage(const struct host *host);
/* The same while somebody watches. Returns when to call again. */
int64_t resources_tick(struct host *host, int64_t now);

/* ---- code.c */
void code_open(struct host *host);
void code_close(struct host *host);
/* The agent may have changed its work tree: looks at it soon. */
void code_changed(struct host *host);
/* Begins a look that is due. Returns when to call again. */
int64_t code_tick(struct host *host, int64_t now);
void code_want(const struct host *host, struct loop *loop);
void code_serve(struct host *host, struct loop *loop);

/* ---- attention.c */
/* Fills in done_ms, seen_ms and the outcome of the newest turn. */
void attention_fill(const struct host *host, struct agent_status *ret);
/* Compares the status with the one that watchers know, and fills in the same. */
void attention_update(struct host *host, struct agent_status *now);
/* A turn of an ACP agent has ended, and why if not well (NULL: not known); call it before those who
 * wait for that are released. */
void attention_turn_ended(struct host *host, enum turn_outcome outcome, const char *why);
/* How its newest turn ended before this host began. `cut`: that has just been found out. */
void attention_restore(struct host *host, enum turn_outcome outcome, const char *why, int64_t at_ms,
                       bool cut);
/* A person has looked at the agent, or types in its pane and probably does. */
void attention_seen(struct host *host);
void attention_keys(struct host *host);
/* Returns true if tmux is to be asked whether a person sees the pane. */
bool attention_asks(const struct host *host);
/* The question is on its way; it has been answered. */
void attention_asked(struct host *host);
void attention_answered(struct host *host, bool seen);
/* Finds an entry that an earlier host of this agent has left. */
void register_open(struct host *host);
/* Enters the agent, or removes it, as its class says. Returns when to call again. */
int64_t register_tick(struct host *host, int64_t now);
void register_close(struct host *host);

/* ---- display.c */
void display_open(struct host *host);
void display_close(struct host *host);
/* Tells tmux, and asks, if that is due. Returns when to call again. */
int64_t display_tick(struct host *host, int64_t now);
void display_want(const struct host *host, struct loop *loop);
void display_serve(struct host *host, struct loop *loop);

/* ---- setup.c */
/* Starts the setup of the agent's work tree if it is due; *ret_started tells whether it was. */
int setup_begin(struct host *host, struct supervisor_times times, int64_t now, bool *ret_started,
                struct err *err);
/* Ends what setup_begin() has started. Returns what went wrong, which the caller frees; NULL: the
 * setup has run. */
char *setup_finish(struct host *host);
/* Ends a setup that takes too long. Returns when to call again. */
int64_t setup_tick(struct host *host, struct supervisor_times times, int64_t now);
void setup_want(const struct host *host, struct loop *loop);
void setup_serve(struct host *host, struct loop *loop);
void setup_close(struct host *host);

/* ---- notify.c */
void notify_open(struct host *host);
/* Drops what has not been delivered. */
void notify_close(struct host *host);
/* Compares the status with the one before, and tells of a change that is worth it, unless it was
 * `told` already. */
void notify_changed(struct host *host, const struct agent_status *now, bool told);
/* Tells at once that a turn has failed, unless a crash tells it. */
void notify_failed(struct host *host, const char *why);
/* Tells of something else, if [notify] on says so. */
void notify_add(struct host *host, const struct notice *notice);
/* Begins what is due. Returns when to call again. */
int64_t notify_tick(struct host *host, int64_t now);
void notify_want(const struct host *host, struct loop *loop);
void notify_serve(struct host *host, struct loop *loop);

/* ---- lease.c: the host of a session with a lease ends in time if nobody renews it. Does nothing
 * for a session without one. */
int host_lease_open(struct host *host, struct err *err);
void host_lease_close(struct host *host);
/* Looks at the age of the lease, before anything else in a turn of the loop. Returns true, once, if
 * the agent and the host have to end now. Does not return if it is too late for that. */
bool host_lease_look(struct host *host);
int64_t host_lease_tick(struct host *host, int64_t now);
void host_lease_want(const struct host *host, struct loop *loop);
void host_lease_serve(struct host *host, struct loop *loop);

/* ---- disk.c */
void disk_open(struct host *host);
void disk_close(struct host *host);
/* Measures if that is due. Returns when to call again. */
int64_t disk_tick(struct host *host, int64_t now);
void disk_want(const struct host *host, struct loop *loop);
void disk_serve(struct host *host, struct loop *loop);
/* Returns true if the agent, or its setup, is stopped because a limit is reached. */
bool disk_is_paused(const struct host *host);
/* Returns what people should know of the space that is used; "". */
const char *disk_note(const struct host *host);
/* Returns what watches or holds the limits of disk space; "": there are none. */
const char *disk_holder(const struct host *host);
/* The agent has been started, and is paused at once if a limit is reached. */
void disk_child_starts(struct host *host);
/* A person types in the pane. */
void disk_keys(struct host *host);
/* Handles the figures that `mas measure` tells; without figures a limit was changed. */
int disk_told(struct host *host, struct client *client, const struct frame *frame, struct err *err);
/* Returns true if a request to grant something means a limit that is reached; then raises it, and
 * answers. */
bool disk_is_meant(const struct host *host, const struct frame *frame);
int disk_let_go_on(struct host *host, struct client *client, const struct frame *frame,
                   struct err *err);

/* ---- broker.c */
/* Listens for the agent's own commands, unless it is a person. */
int broker_open(struct host *host, struct err *err);
void broker_close(struct host *host);
void broker_want(const struct host *host, struct loop *loop);
void broker_serve(struct host *host, struct loop *loop);
/* Refuses those who have waited for long. Returns when to call again. */
int64_t broker_tick(struct host *host, int64_t now);

/* ---- peer.c */
/* Finds out who makes a request: the agent in whose tree the client's process is, whatever the
 * request and the environment say; else the agent that `from` names; else, with *ret NULL, a
 * person. Fails, without "cannot ...", if the team has no such agent, if it is one of another
 * session, or if the process has ended. */
int peer_sender(const struct host *host, struct client *client, const struct frame *frame,
                const struct agent **ret, struct err *err);

/* Fails, without "cannot ...", if the process acts for another agent than this host's. */
int peer_check_own(const struct host *host, pid_t pid, struct err *err);

/* Fails, without "cannot ...", if an agent has started the client, or if that cannot be told. With
 * `elsewhere`, an agent of another root may be meant as well: it works on mas, say. */
int peer_check_person(const struct host *host, struct client *client, bool elsewhere,
                      struct err *err);

/* Returns true if a person's process is at the other end. */
bool peer_is_person(const struct host *host, struct client *client);

/* ---- status.c */
void status_fill(const struct host *host, struct agent_status *ret);
/* Appends the answer to `status`. */
void status_put(const struct host *host, struct str *head);
/* Answers with it and with what only those learn who ask; the client leaves then. */
void status_answer(struct host *host, struct client *client);
/* Answer the clients that wait for a start (error NULL: the agent runs) or for an end. */
void status_started(struct host *host, const char *error);
void status_ended(struct host *host);

/* ---- request.c */
/* Fails if no more clients may watch this agent. */
int request_check_watch(struct host *host, struct err *err);
/* Answers one request. */
void request_handle(struct host *host, struct client *client, const struct frame *frame);

/* clang-format off */
/*
 * The conversation of an ACP agent, in its host; for src/host/acp/ only. What any agent has of it is
 * struct talk (host/talk/talk.h): the store, prompts, turns, permissions, limits, sleep. One file
 * owns each of the other parts and is the only one that changes it, unless the comment on the part
 * says otherwise:
 *
 *     link          link.c        the agent's process: pipes, phase; process.c: its life
 *     resume        resume.c      how the present session knows what was said before; summary.c
 *                                 makes the summary
 *     offered       offered.c     modes, options and commands that the agent offers
 *     settings      settings.c    those that are made in each session, and those that a client makes
 *     compaction    compact.c     how the agent shortens its context
 *     tasks         tasks.c       subagents and tasks that go on beside the turn
 *     asides        aside.c       prompts to copies of the session
 *     kept          kept.c        a person's look at the sessions that the agent keeps
 *     visited       elicit.c      addresses that a person opens; forms that are filled in
 *     work          work.c        files and programs that the agent asks for (files.h, terminals.h)
 *     chat          chat.c        the pane: mas-chat, or plain lines
 *
 * Some files own no part. update.c and tool.c read what the agent says, ask.c what it asks, which
 * may be a plan. prompt.c sends prompts. request.c answers the clients' requests, opening.c opens the
 * agent's sessions and closes them, leave.c goes from one to the next, and login.c has the pane while a person logs in. conversation.c makes all of this, is called by the
 * loop, and has what a talk asks of its agent; nothing here waits. What these files do for each
 * other is in agent_side.h (the agent: its process and its sessions) and in turn_side.h (what is
 * asked and said). No two of them call each other.
 *
 * Everything that happens is stored, then told. A session of the agent is known by its id; the host
 * drops what comes from another session than the present one, so that nothing from before a clear
 * arrives after it.
 *
 * mas-chat, which has the pane, is a client like any other. It is started again 1 s after it ends;
 * after more than five ends in a row the pane shows plain lines. If the agent ends in a turn, the
 * turn ends as `failed`, and waiting prompts go to the next process, which starts at once. After a
 * SIGKILL of the host the supervisor ends the agent's tree; everything shown is in memory.db, and
 * the next writer marks open messages as interrupted and a turn without an end as stopped.
 */
/* clang-format on */
#pragma once

#include "base/json.h"
#include "host/acp/files.h"
#include "host/acp/phase.h"
#include "host/acp/terminals.h"
#include "host/talk/talk.h"
#include "host/watcher.h"
#include "memory/context.h"
#include "os/proc.h"
#include "protocol/acp.h"
#include "protocol/host.h"

enum {
    VISITED_MAX = 8, /* addresses whose end the agent may tell */
    OFFERED_MAX = 256, /* modes, commands or options that are kept of an agent */
    SESSION_CLOSE_MS = 5000,
};

/*
 * The agent's process. `acp` exists while it runs, and the phase is not OFF then.
 * host->talk->session is also one that is being resumed or loaded; resume.c and opening.c set it.
 * Whoever enters a phase makes the request that the phase waits for. resume.c sets program and
 * needs_login, opening.c counts the sessions that it leaves, and leave.c the programs that those
 * leave behind.
 */
struct agent_link {
    int in, out, err; /* the agent's standard files; -1 */
    struct acp *acp; /* NULL: no process */
    struct phase_state phase;
    struct watcher printed; /* what the agent writes to its standard error */
    char *program; /* its name and version */
    char *cwd; /* of its sessions: absolute */
    char *machine;
    char *tools; /* mcpServers of its sessions; NULL: none */
    bool has_role; /* its sessions have the role in their system prompts */
    bool refused_role; /* it opens no session with that */
    bool cleared; /* the present session is of a query that was cleared */
    bool counted; /* what its start came to is in sessions/.starts */
    int left, unclosed; /* sessions of this process that the host left; that it could not close */
    size_t servers; /* programs of mas below this process when the host had left one session */
    int64_t garbage; /* lines that were no messages */
    char trouble[ERR_TEXT_MAX]; /* why the process cannot be used; "" */
    bool needs_login;
};

/* The ways to get a session, in the order in which the host tries them. */
enum resume_method { METHOD_RESUME, METHOD_LOAD, METHOD_NEW };

/*
 * How the present session knows what was said before. A resumed or loaded session is proved once a
 * turn in it has ended well. Until then an error of the first prompt leads to the next method, and
 * `failed` keeps the methods whose sessions failed so. update.c counts the replay and collects the
 * summary.
 */
struct resume {
    enum store_outcome outcome; /* the way in which the session came to know it */
    bool proved;
    unsigned failed; /* 1 << method */
    char *notes; /* why methods failed or were skipped; NULL */
    bool prime; /* the agent's system text and the history go in front of the next prompt */
    int64_t remind; /* the first of the newest prompts whose turns were cut off, which the agent may
                       have forgotten; 0: none */
    int64_t replayed; /* pieces that a loaded session has shown again */
    int64_t quiet_since; /* when the last of them came */
    bool ignores; /* content that comes outside of a turn may be a replay, and is not stored */
    bool summed; /* a summary was made, or tried, since resume_begin() */
    char *lost; /* the session that did not come back; NULL: none */
    char *copy; /* of that, which is asked for the summary; NULL: none */
    struct str summary; /* "" none */
};

/* What the query was given of other conversations. */
struct recall {
    struct context_list known;
    int prompts; /* that came since */
};

/* A config option, as far as mas uses it. */
struct config_option {
    char *id, *category, *value;
    bool boolean; /* the value is "true" or "false" */
};

/* What the agent offers. It is forgotten when the process ends, except for the modes and the title.
 * update.c keeps commands and title. */
struct offered {
    struct abilities can; /* also of the process before, for when none runs */
    char *mode; /* the present one; "" not known */
    struct word *modes, *commands;
    size_t mode_count, command_count;
    struct word *past_modes; /* of the process before, for when none runs */
    size_t past_mode_count;
    struct str options; /* the array of the event "options"; "" none */
    struct config_option *option_list; /* the same options */
    size_t option_count;
    char *title;
};

/* A setting that a client makes, for which the agent was asked. */
struct asked_setting {
    int64_t serial; /* of the request */
    char *option, *value; /* option NULL: a mode */
};

struct settings {
    int next; /* that is made in the phase SETS */
    struct asked_setting *asked;
    size_t asked_count;
};

/* A subagent, which has a session of its own, or a task. The history shows what it does as a tool
 * call; a subagent may work again later. */
struct agent_task {
    char *id; /* of its session, or of the task */
    char *name; /* "": not told */
    bool subagent, stoppable;
    enum acp_task state; /* DONE: it rests */
    struct str told; /* what it is to do */
    struct str said, reply; /* its last words in its session, and to that of the agent */
    struct tool_table tools;
    struct tool_call line; /* its id is NULL before it has worked */
    int runs;
};
struct agent_tasks {
    struct agent_task *tasks;
    size_t count;
    struct str note; /* what is told of them in the status */
};

/* A prompt to a copy of the session, which leaves nothing in the conversation. Its client has the
 * kind CLIENT_ASKS and -number as its prompt. */
struct aside {
    int64_t number;
    char *text; /* of the prompt; NULL: the copy has it */
    char from[TEAM_WORD_MAX + 1];
    int64_t serial; /* of the request for the copy, or of the prompt to it; 0: it waits for READY */
    char *session; /* the copy; NULL: not known yet */
    size_t said; /* bytes of the answer */
};
enum { ASIDES_MAX = 4 };
struct asides {
    struct aside open[ASIDES_MAX];
    size_t count;
    int64_t last; /* number */
};

/* A person asks which sessions the agent itself keeps for its directory, and may have some deleted.
 * The client has the kind CLIENT_LISTS; there is one at a time. */
struct kept_sessions {
    enum kept_state { KEPT_NONE, KEPT_WAITS /* for READY */, KEPT_LISTS, KEPT_DELETES } state;
    int64_t serial; /* of the request for a page of the list */
    int pages;
    char *wanted; /* the id of one to delete; NULL: none */
    bool all; /* delete all but the present one */
    struct kept_session {
        char *id, *title, *updated; /* title and updated: NULL if not told */
        bool deletes;
        int64_t serial; /* of the request that deletes it */
        char *error; /* why it was not deleted; NULL */
    } * sessions;
    size_t count, open; /* open: requests to delete that were not answered */
};

/* What serves the agent's requests for files and programs while it runs. */
struct agent_work {
    struct work_root roots[5]; /* the workspace, or the parts of it behind a wall */
    char *paths[5];
    struct work_place place;
    struct terminals *terminals; /* NULL: the agent does not run */
    int64_t shown; /* how many programs had ended when their output was last shown */
};

/* The pane: mas-chat runs in it (host->pane_program), or the host prints plain lines. */
struct chat_pane {
    bool plain; /* there is no mas-chat */
    bool text_open; /* a plain line has no end yet */
    int failures; /* ends of mas-chat in a row */
    int64_t started, start_at; /* start_at: when mas-chat starts again; -1: not */
};

/* What the agent tells of the newest compaction of its context. */
struct compaction {
    char *id; /* NULL: none yet */
    struct str summary;
    bool done;
};

/* Elicitations whose addresses a person has agreed to open. */
struct visited {
    char *id[VISITED_MAX]; /* NULL: none */
    size_t next;
};

struct conversation {
    struct talk talk; /* host->talk */
    struct agent_link link;
    struct resume resume;
    struct offered offered;
    struct settings settings;
    struct agent_tasks tasks;
    struct asides asides;
    struct kept_sessions kept;
    struct compaction compaction;
    struct visited visited;
    struct agent_work work;
    struct chat_pane chat;
    struct recall recall;
};

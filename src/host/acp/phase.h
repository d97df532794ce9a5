/* clang-format off */
/*
 * The phases in which the connection with an ACP agent's process can be. This is the whole state
 * machine: only phase_enter() changes the phase, and phase.c has the table of what each phase waits
 * for and which phases may follow it. OFF may follow each of them, because the process may end, and
 * STUCK, because the host may find that it cannot use the agent. From RESUMES to ENDS_TURN, so may
 * RESUMES, LOADS and OPENS: a clear, or another conversation, needs another session.
 *
 * There are three methods to get a session: resume, load, new. Every error and every timeout leads
 * to the next method. Each phase waits for
 *
 *     OFF          a process
 *     INITIALIZES  the agent's first answer
 *                  Another version, or no answer: the host ends the process, and the note says why.
 *                  An error, or the end of the process: the same, but it is started once more first.
 *     RESUMES      `session/resume`
 *                  of the query's session, if this session opened it, in this directory, on this
 *                  machine. After three failures of an agent that never worked with this version of
 *                  the program, the method is not tried for an hour.
 *     LOADS        `session/load`
 *                  likewise
 *     SETTLES      150 ms of silence
 *                  The replay is not stored again. If nothing is replayed in 5 s although there is a
 *                  history, the session counts as empty.
 *     OPENS        `session/new`
 *                  The history goes in front of each prompt until a turn has succeeded.
 *     SUMS_UP      a summary of the history
 *                  [memory] summary, in a copy of the session that did not come back, if the agent
 *                  can copy it, else in a session of its own
 *     SETS         mode, model, options, one after the other
 *     READY        prompts
 *                  A first prompt that fails in a resumed or loaded session leads to the next method.
 *     ENDS_TURN    the end of a turn that a clear has cut off
 *                  at most 5 s; then the host closes the session and gets one for the new query
 *     STUCK        a login, or nothing
 *                  The next prompt starts a new process.
 *
 * The first turn that ends well proves a resumed or loaded session. If the agent answers the first
 * prompt with an error before any output, the prompt goes back to the front of the queue, and the
 * host tries the next method. A session opened this way is kept in memory.db once a turn in it has
 * ended well. If its first prompt fails too, the host resumes the earlier session again: then the
 * model fails, not the session.
 */
/* clang-format on */
#pragma once

enum phase {
    PHASE_OFF, /* no process runs */
    PHASE_INITIALIZES,
    PHASE_RESUMES,
    PHASE_LOADS,
    PHASE_SETTLES, /* the session is loaded; the rest of its replay may still come */
    PHASE_OPENS,
    PHASE_SUMS_UP, /* in a session of its own: a summary of a long history */
    PHASE_SETS,
    PHASE_READY,
    PHASE_ENDS_TURN, /* a clear has cut off a turn */
    PHASE_STUCK, /* link.trouble says why */
    PHASE_COUNT
};

struct phase_state {
    enum phase now;
    int64_t serial; /* of the request that the phase waits for; 0: it waits for none */
    int64_t until; /* when it stops waiting; -1: the request itself has a limit, or there is none */
};

/* Enters a phase. `serial` and `until` are as in struct phase_state. Returns false, and enters the
 * phase all the same, if the table does not let it follow the present one: that is a bug. */
bool phase_enter(struct phase_state *state, enum phase next, int64_t serial, int64_t until);
/* Returns true if the phase is `phase` and waits for the request with this serial. */
bool phase_waits_for(const struct phase_state *state, enum phase phase, int64_t serial);
bool phase_may_follow(enum phase next, enum phase phase);
/* Returns the phase's name, "READY". */
const char *phase_name(enum phase phase);
/* Returns what the phase waits for, as above. */
const char *phase_event(enum phase phase);

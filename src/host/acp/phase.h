/*
 * The phases in which the connection with an ACP agent's process can be. This is the whole state
 * machine: only phase_enter() changes the phase, and phase.c has the table of what each phase waits
 * for and which phases may follow it. HACKING.md explains the table.
 */
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
/* Returns what the phase waits for, as HACKING.md says it. */
const char *phase_event(enum phase phase);

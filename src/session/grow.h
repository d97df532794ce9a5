/*
 * A team that grows: an agent is added to a session, or removed from it, whether it runs or not.
 *
 * The team is in config.json, and with its replacement the session has the new one. What belongs
 * to the agent alone, its parts, is made before an agent is there, and goes after it: unit/AGENT,
 * code/AGENT and what code.git keeps for it, home/AGENT, and what a person has set for it. The file
 * `.growing` names the agent whose parts these are, so that they are told from a user's files.
 *
 * add
 *
 * 1. Take the session's lock; wait for it. Do what a killed command has left (grow_mend()). Check
 *    everything that can be checked; nothing may be where the agent's parts will be.
 * 2. Write .growing.
 * 3. Make the parts: the directory of the template, the work tree, which begins with the
 *    integration branch, under the lock of code.git. One syncfs(2).
 * 4. Replace config.json. Remove .growing. The row.
 * 5. If the session runs, start the agent as a restart does (life_respawn()), in a pane beside its
 *    unit's. Log.
 *
 * Killed before 4, the session has the old team, and .growing says what is to go. Killed behind it,
 * it has the new one; if it runs, the agent has no host yet, as if that had been killed, and start
 * or restart starts it. A failure, also that of 5, undoes all.
 *
 * fork
 *
 * Is an add of another agent like one that there is: in step 3 its directory is copied, its work
 * tree begins with that one's commit and has its files, and a transaction copies what was said in
 * its open query. That one is only read, and may be in the middle of a turn, or not run at all.
 * What waits for it stays its own. The new one's program goes on with a copy of that one's session,
 * or it is told what was said (grow_talk.c). A kill can leave a copy in the user's home that
 * nothing names.
 *
 * remove
 *
 * 1. As above; refuse for the last agent, one that is at work, and one whose work would be lost.
 * 2. If the session runs, end the agent, as stop does, and its pane.
 *    Look at its work again. If this, or 3, fails, start it again.
 * 3. With `force`, keep the work, if there is any: an archive of the session in lost/, and
 *    refs/mas/lost/ in the project (session/lost.h).
 * 4. Write .growing. Replace config.json. The row.
 * 5. Remove the parts: directories become trash first. Its conversations are over, and what waits
 *    for it is ended; what was said stays. Remove .growing. Log.
 *
 * Killed before 4, the session has the old team, and if it runs an agent without a host. Killed
 * behind it, it has the new one, and .growing says what is to go.
 *
 * An agent with rank may add others if its template says so (grow = N): within its unit, or any for
 * a meta manager; with the presets that the template lists and that run no shell; behind a wall
 * that is no weaker than its own. Nothing that was granted to anybody is handed on.
 */
#pragma once

#include "session/life.h"

struct grow_wish {
    const char *preset;
    const char *as; /* its id; NULL: the preset's name, if that is taken with a number */
    const char *unit; /* NULL: that of `by`, or else the only one */
    const char *role, *model; /* NULL: as a template has it that does not say */
    const char *by; /* the agent that adds it; NULL: a person */
    const char *fork; /* the agent that it is to be like, whose preset, role and model count; or
                       * NULL */
};

struct grown {
    char agent[TEAM_WORD_MAX + 1];
    char *branch; /* without refs/heads/; NULL: it has no work tree; the caller frees it */
    bool runs; /* the session does */
    const char *continuity; /* of a fork: "copied", its program goes on with a copy of the other
                             * one's session; "injected", it is told what was said; "fresh",
                             * nothing was */
};

/* Adds an agent to a session. Fails with MAS_USAGE for a bad name or unit, with MAS_NOT_FOUND for
 * an unknown preset or unit, with MAS_CONFLICT for a name that is taken, and with MAS_FAILED if
 * `by` may not add it or there is no room. life->notes gets what a person should know. */
int grow_add(const struct life *life, const char *id, const struct grow_wish *wish,
             struct grown *ret, struct err *err);

struct shrunk {
    int64_t waiting; /* messages that waited for the agent, and went with it */
    char
        *kept; /* the archive with its work; NULL: none would have been lost; the caller frees it */
    struct err untold; /* why the project did not get its commits; MAS_OK: it did */
};

/* Removes an agent from a session. Fails with MAS_NOT_FOUND if the team has no such agent, and with
 * MAS_CONFLICT if it is the last one or the one in whose pane the command runs, or, without
 * `force`, if it is at work or has work that would be lost. */
int grow_remove(const struct life *life, const char *id, const char *agent, bool force,
                struct shrunk *ret, struct err *err);

#define GROW_JOURNAL ".growing" /* in the workspace */
/* Removes what a killed command has left of an agent that the team does not have. The caller holds
 * the lock of the session `id`, whose workspace is open at `dir`. */
int grow_mend(const struct root *root, int dir, const char *id, struct err *err);

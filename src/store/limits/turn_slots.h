/*
 * Slots: at most N turns at the same time, among processes that know nothing of each other. A
 * directory has
 *
 *     slot-<i>                              locked by the process whose turn is on
 *     wait-<class>-<time>-<pid>-<agent>     locked by a process that waits; a person's first (class
 *                                           0), then in the order of their times
 *
 * The kernel frees the locks of a killed process; its ticket is removed by those behind it. Nothing
 * here waits: a process that waits watches the directory (os/watch.h), for a descriptor that was
 * open for writing is closed, or a ticket removed, whenever something becomes free. What is only
 * looked at is opened for reading, so that looks wake nobody.
 */
#pragma once

#define TURNS_DIR ".turns" /* in sessions/, and in run/ of a session */

enum {
    TURN_SLOTS_MAX = 1000,
    TURN_TICKETS_MAX = 4096, /* of one directory */
    TURN_AGED_MS = 600000, /* a ticket that waits for so long goes like a person's */
};

/* Opens the directory, which is made if it is missing; -1 with errno. */
int turn_slots_open(int parent);
/* Takes a ticket. Returns a descriptor that holds it, and its name in *ret_name, which the caller
 * frees; -1 with errno. */
int turn_ticket_take(int dir, bool person, int64_t asked_ms, const char *agent, char **ret_name);
/* Gives a ticket back. */
void turn_ticket_drop(int dir, int *fd, char **name);
/* Returns true if no other process waits in front of this ticket; `name` NULL: if none waits. */
bool turn_ticket_is_first(int dir, const char *name, int64_t now_ms);
/* Returns true if one of the slots is free. */
bool turn_slot_is_free(int dir, int count);
/* Takes a free slot. Returns a descriptor that holds it until it is closed; -1: none is free. */
int turn_slot_take(int dir, int count);

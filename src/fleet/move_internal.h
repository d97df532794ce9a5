/*
 * Shared by src/fleet/move*.c only: what the other machine is asked to do (`mas receive`).
 */
#pragma once

#include "fleet/move.h"
#include "model/remote.h"
#include "session/arrive.h"
#include "session/leave.h"

/* What both ends of a move are. */
struct move {
    const struct life *life;
    const struct remote *remote;
    struct leaving leaving;
    bool stopped; /* it was stopped for this */
};

/* Sets the error: "cannot move session 'x' to host 'n2': <why>". Returns -1. */
int move_fail(const struct move *move, int code, const char *why, struct err *err);
/* Asks what is there. The caller releases *ret with arrival_free(). */
int move_look(const struct move *move, struct arrival *ret, struct err *err);
/* Ask for arrive_release() and arrive_drop(). */
int move_release(const struct move *move, struct err *err);
int move_drop(const struct move *move, struct err *err);
/* Starts the session there. */
int move_start(const struct move *move, struct err *err);
/* Sends the archive, and checks that what has arrived is the same. */
int move_send(struct move *move, struct move_report *report, struct err *err);

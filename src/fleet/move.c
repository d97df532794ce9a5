/*
 * One function for each stretch of the way: send_it() up to the mark MOVED_TO, hand_over() from
 * there on, give_up() and take_back() for what a kill has left. Whether the session has arrived is
 * asked of the other machine each time. All run under the locks of struct leaving, except for the
 * start of a session that stays here after all.
 */

#include "fleet/move_internal.h"

void move_report_free(struct move_report *report)
{
    free(report->lacks);
    strv_free(report->warnings);
    *report = (struct move_report){.lacks = NULL};
}

static int in_the_way(const struct move *move, const struct arrival *there, struct err *err)
{
    _cleanup_free_ char *why =
        mem_printf("a session with this id is %s there, in epoch %ju",
                   there->state == ARRIVAL_HERE ? "already" : "still", (uintmax_t)there->epoch);
    return move_fail(move, MAS_CONFLICT, why, err);
}

/* The other machine has lost an arriving copy, or has let the session go elsewhere. */
static int is_lost(const struct move *move, struct err *err)
{
    const struct session_label label = session_label(move->life->root, move->leaving.session.id);

    (void)move_fail(move, MAS_CONFLICT,
                    "it was sent there before, but is not there now: it has been removed there, or "
                    "has moved on",
                    err);
    return err_hint(err, "if it is nowhere else: mas start --takeover --fenced %s", label.text);
}

/* A move that was given up: undoes it, unless the other machine was quicker. */
static int give_up(struct move *move, struct err *err)
{
    _cleanup_arrival_ struct arrival there = {.lacks = NULL};

    if (leave_mark(move->life, &move->leaving, move->remote->name, true, err) == -1 ||
        move_look(move, &there, err) == -1)
        return -1;
    if (there.epoch > move->leaving.session.epoch && there.state != ARRIVAL_ARRIVING)
        return leave_mark(move->life, &move->leaving, move->remote->name, false, err);
    return move_drop(move, err) == -1 ? -1
                                      : leave_mark(move->life, &move->leaving, NULL, false, err);
}

/* Sends a session that is here. Afterwards it is there, arriving. */
static int send_it(struct move *move, struct move_report *report, struct err *err)
{
    _cleanup_arrival_ struct arrival there = {.lacks = NULL};
    bool stale = false;

    if (move_look(move, &there, err) == -1)
        return -1;
    stale = there.state == ARRIVAL_ARRIVING ||
            (there.state == ARRIVAL_GONE && there.epoch < move->leaving.session.epoch);
    if (there.state != ARRIVAL_NONE && !stale)
        return in_the_way(move, &there, err);
    if (stale && move_drop(move, err) == -1)
        return -1;
    move->stopped = true; /* its agents, even if the rest fails */
    return leave_stop(move->life, &move->leaving, err) == -1 || move_send(move, report, err) == -1
               ? -1
               : leave_mark(move->life, &move->leaving, move->remote->name, false, err);
}

/* Starts a session again that was stopped for a move which has failed before the mark. *err, of the
 * move, says so, too, or what is to be done. */
static void run_again(const struct move *move, const char *id, struct err *err)
{
    struct err why = ERR_INIT;
    char told[sizeof err->text];
    bool was = false;

    if (life_start(move->life, id, &was, &why) == -1) {
        (void)err_hint(err, "it is stopped here, and does not start again: %s", why.text);
        return;
    }
    if (was) { /* its tmux session was left, and keeps dead panes */
        (void)err_hint(err, "its agents have ended; start them again here with: mas start %s", id);
        return;
    }
    (void)snprintf(told, sizeof told, "%s", err->text);
    (void)err_set(err, err->code, "%s; it runs here again", told);
}

/* From the mark on: the other machine gets the session, then it is removed here. */
static int hand_over(struct move *move, bool start, struct move_report *report, struct err *err)
{
    _cleanup_arrival_ struct arrival there = {.lacks = NULL};

    if (move_look(move, &there, err) == -1)
        return -1;
    if (there.state == ARRIVAL_NONE || there.epoch <= move->leaving.session.epoch)
        return is_lost(move, err);
    if (there.state == ARRIVAL_ARRIVING && move_release(move, err) == -1)
        return -1;
    report->lacks = TAKE_PTR(there.lacks);
    if (leave_remove(move->life, &move->leaving, err) == -1)
        return -1;
    if (report->ran && start && there.state != ARRIVAL_GONE && !there.runs)
        report->started = move_start(move, &report->start) == 0;
    return 0;
}

/* Opens a session and finds the host that MOVED_TO names, if it names one. */
static int open_move(const struct life *life, const char *id, struct move *ret, bool *ret_given_up,
                     struct err *err)
{
    _cleanup_free_ char *name = NULL;

    *ret_given_up = false;
    if (leave_open(life, id, &ret->leaving, err) == -1)
        return -1;
    if (!leave_parse(ret->leaving.session.moved_to, &name, ret_given_up))
        return 0;
    return config_need_remote(life->config, name, &ret->remote, err) == -1
               ? err_wrap(err, "cannot tell where session '%s' is",
                          session_label(life->root, id).text)
               : 0;
}

static int move_locked(struct move *move, const struct remote *to, bool given_up, bool start,
                       struct move_report *report, struct err *err)
{
    const struct session *session = &move->leaving.session;

    if (strcmp(session->moved_to, MOVED_ARRIVING) == 0) {
        move->remote = to;
        return move_fail(move, MAS_CONFLICT, "its move to here has not ended", err);
    }
    if (move->remote != NULL && given_up && give_up(move, err) == -1)
        return -1;
    if (session->moved_to[0] != '\0' && move->remote != NULL &&
        strcmp(move->remote->name, to->name) != 0) {
        (void)err_set(err, MAS_CONFLICT, "cannot move session '%s' to host '%s': it moves to '%s'",
                      session_label(move->life->root, session->id).text, to->name,
                      move->remote->name);
        return err_hint(err, "finish that first: mas move %s %s",
                        session_label(move->life->root, session->id).text, move->remote->name);
    }
    move->remote = to;
    report->ran = session->status == STATUS_ACTIVE;
    if (session->moved_to[0] == '\0' && send_it(move, report, err) == -1)
        return -1;
    return hand_over(move, start, report, err);
}

int move_session(const struct life *life, const char *id, const char *host, bool start,
                 struct move_report *ret, struct err *err)
{
    struct move move = {.life = life, .leaving = LEAVING_INIT};
    struct move_report report = {.lacks = NULL};
    const struct remote *to = NULL;
    bool given_up = false;

    if (config_need_remote(life->config, host, &to, err) == -1)
        return -1;
    if (to->via != REMOTE_SSH) {
        (void)err_set(err, MAS_USAGE,
                      "cannot move a session to host '%s': it is a partition of Slurm", host);
        return err_hint(err, "a job restores it from a store: mas help run");
    }
    int rc = open_move(life, id, &move, &given_up, err);
    if (rc == 0)
        rc = move_locked(&move, to, given_up, start, &report, err);
    bool again = rc == -1 && move.stopped && report.ran && move.leaving.session.moved_to[0] == '\0';
    leave_close(&move.leaving);
    if (again)
        run_again(&move, id, err);
    if (rc == 0)
        *ret = report;
    else
        move_report_free(&report);
    return rc;
}

/* Fails if the session is at the other machine, else takes it back. */
static int take_back(struct move *move, bool given_up, struct err *err)
{
    _cleanup_arrival_ struct arrival there = {.lacks = NULL};
    const struct session *session = &move->leaving.session;
    const struct session_label label = session_label(move->life->root, session->id);

    if (!given_up) {
        if (move_look(move, &there, err) == -1)
            return -1;
        if (there.state == ARRIVAL_NONE || there.epoch <= session->epoch)
            return is_lost(move, err);
    }
    if ((given_up || there.state == ARRIVAL_ARRIVING) && give_up(move, err) == -1)
        return -1;
    if (session->moved_to[0] == '\0')
        return 0;
    (void)err_set(err, MAS_CONFLICT, "cannot start session '%s': it has moved to %s", label.text,
                  move->remote->name);
    return err_hint(err, "start it there; what is left here goes with: mas move %s %s", label.text,
                    move->remote->name);
}

int move_settle(const struct life *life, const char *id, struct err *err)
{
    struct move move = {.life = life, .leaving = LEAVING_INIT};
    bool given_up = false;

    int rc = open_move(life, id, &move, &given_up, err);
    if (rc == 0 && move.remote != NULL)
        rc = take_back(&move, given_up, err);
    leave_close(&move.leaving);
    return rc;
}

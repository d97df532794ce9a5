/*
 * One function for each stretch of the way: send_it() up to the mark MOVED_TO, hand_over() from
 * there on, give_up() and take_back() for what a kill has left. Whether the session has arrived is
 * asked of the other machine each time. All run under the locks of struct leaving, except for the
 * start of a session that stays here after all.
 */

#include "fleet/move.h"

#include "base/json.h"
#include "fleet/pulled.h"
#include "fleet/reach.h"
#include "model/remote.h"
#include "os/file.h"
#include "os/proc.h"
#include "session/arrive.h"
#include "session/leave.h"

#include <sys/wait.h>

/* What both ends of a move are. */
struct move {
    const struct life *life;
    const struct remote *remote;
    struct pulled *home; /* it pulls, and is `remote`; NULL: a host of mas.ini */
    struct leaving leaving;
    bool stopped; /* it was stopped for this */
};

/* ---- what the other machine is asked to do (`mas receive`) */

enum {
    ASK_MS = 60 * 1000,
    WORK_MS = 60 * 60 * 1000, /* removing or starting a large session */
    NUMBER_TEXT = 24,
};

/* Sets the error: "cannot move session 'x' to host 'n2': <why>". Returns -1. */
static int move_fail(const struct move *move, int code, const char *why, struct err *err)
{
    return err_set(err, code, "cannot move session '%s' to host '%s': %s",
                   session_label(move->life->root, move->leaving.session.id).text,
                   move->home != NULL ? move->home->remote.place : move->remote->name, why);
}

/* Runs a verb there; *ret (NULL: not wanted) is the JSON object that it prints. */
static int ask(const struct move *move, char *const *words, int timeout_ms, struct json **ret,
               struct err *err)
{
    const struct reach_ask one = {.command = {.remote = move->remote, .words = words},
                                  .root = move->life->root->path,
                                  .output_max = REACH_ANSWER_MAX,
                                  .timeout_ms = timeout_ms};
    struct err why = ERR_INIT;

    switch (move->home != NULL ? pulled_ask(move->home, words, timeout_ms, ret, &why)
                               : reach_ask_json(&one, ret, &why)) {
    case 0:
        return 0;
    case REACH_REFUSED:
        return move_fail(move, why.code, why.text, err);
    case REACH_STRANGE:
        return move_fail(move, MAS_FAILED, "mas there is of another version", err);
    default:
        *err = why;
        return -1;
    }
}

/* Asks what is there. The caller releases *ret with arrival_free(). */
static int move_look(const struct move *move, struct arrival *ret, struct err *err)
{
    _cleanup_json_ struct json *json = NULL;
    char *const words[] = {(char[]){"receive"}, (char[]){"look"}, (char *)move->leaving.session.id,
                           NULL};
    struct arrival arrival = {.lacks = NULL};

    if (ask(move, words, ASK_MS, &json, err) == -1)
        return -1;
    int64_t epoch = json_int(json_get(json, "epoch"), -1);
    if (!arrival_parse(json_get_text(json, "state"), &arrival.state) || epoch < 0)
        return move_fail(move, MAS_FAILED, "mas there is of another version", err);
    const char *lacks = json_get_text(json, "lacks");
    arrival.epoch = (uint64_t)epoch;
    arrival.runs = json_bool(json_get(json, "runs"), false);
    arrival.lacks = lacks != NULL ? mem_dup(lacks) : NULL;
    *ret = arrival;
    return 0;
}

static int ask_epoch(const struct move *move, const char *verb, uint64_t epoch, struct err *err)
{
    char number[NUMBER_TEXT];
    char *const words[] = {(char[]){"receive"}, (char *)verb, (char *)move->leaving.session.id,
                           number, NULL};

    (void)snprintf(number, sizeof number, "%ju", (uintmax_t)epoch);
    return ask(move, words, WORK_MS, NULL, err);
}

/* Ask for arrive_release() and arrive_drop(). */
static int move_release(const struct move *move, struct err *err)
{
    return ask_epoch(move, "release", move->leaving.session.epoch + 1, err);
}

static int move_drop(const struct move *move, struct err *err)
{
    return ask_epoch(move, "drop", move->leaving.session.epoch, err);
}

/* Starts the session there. */
static int move_start(const struct move *move, struct err *err)
{
    char *const words[] = {(char[]){"start"}, (char[]){"-q"}, (char *)move->leaving.session.id,
                           NULL};
    return ask(move, words, WORK_MS, NULL, err);
}

/* ---- the stream */

struct stream {
    const struct move *move;
    int ends[2];
};

/* In a child: the other machine gets what is written into the pipe. */
static int run_receive(void *arg)
{
    const struct stream *stream = arg;
    char *const words[] = {(char[]){"receive"}, (char[]){"hold"}, NULL};
    const struct reach_command command = {.remote = stream->move->remote, .words = words};
    struct err err = ERR_INIT;
    struct reach_end end;

    (void)close(stream->ends[1]);
    if (stream->move->home != NULL)
        return pulled_send(stream->move->home, stream->move->leaving.session.id, stream->ends[0]);
    if (dup2(stream->ends[0], STDIN_FILENO) == -1)
        return MAS_FAILED;
    (void)close(stream->ends[0]);
    if (reach_run(&command, &end, &err) == 0)
        return end.signal != 0 ? 128 + end.signal : end.code;
    (void)dprintf(STDERR_FILENO, "mas: %s\n", err.text);
    return err.code;
}

/* Takes the answer: fails unless what has arrived is what was sent. */
static int compare(const struct move *move, const struct proc_result *result,
                   const struct archive_report *sent, struct err *err)
{
    _cleanup_json_ struct json *json = NULL;
    struct err bad = ERR_INIT;

    if (json_parse(str_text(&result->out), result->out.len, REACH_ANSWER_MAX, &json, &bad) == -1)
        return move_fail(move, MAS_FAILED, "mas there is of another version", err);
    const char *id = json_get_text(json, "sessionId");
    const char *digest = json_get_text(json, "digest");
    int64_t epoch = json_int(json_get(json, "epoch"), -1);
    if (id == NULL || strcmp(id, move->leaving.session.id) != 0 || digest == NULL ||
        strcmp(digest, sent->digest) != 0 || epoch != (int64_t)move->leaving.session.epoch + 1) {
        (void)move_fail(move, MAS_DAMAGED, "what has arrived there is not what was sent", err);
        return err_hint(err, "nothing has moved; try again");
    }
    return 0;
}

/* Says why the other machine did not take the archive: its own words, if there are any. */
static int tell_there(const struct move *move, const struct proc_result *result, struct err *err)
{
    _cleanup_str_ struct str line = STR_INIT;
    size_t len;
    const char *text = reach_find_error(str_text(&result->err), &len);

    str_addn(&line, text, len);
    if (result->status == MAS_UNREACHED && line.len > 0)
        return err_set(err, MAS_UNREACHED, "%s", line.data);
    return move_fail(move,
                     result->status > MAS_OK && result->status <= MAS_UNREACHED ? result->status
                                                                                : MAS_FAILED,
                     line.len > 0 ? line.data : "the command was killed there", err);
}

/* Sends the archive, and checks that what has arrived is the same. */
static int move_send(struct move *move, struct move_report *report, struct err *err)
{
    struct stream stream = {.move = move};
    struct proc proc;
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    struct archive_report sent = {.file = NULL};
    struct err here = ERR_INIT;
    const struct proc_spec spec = reach_spec(move->remote->name, run_receive, &stream);

    if (pipe2(stream.ends, O_CLOEXEC) == -1)
        return err_errno(err, "cannot create a pipe");
    int rc = proc_start(&spec, &proc, err);
    (void)close(stream.ends[0]);
    if (rc == -1) {
        (void)close(stream.ends[1]);
        return -1;
    }
    rc = leave_pack(move->life, &move->leaving, stream.ends[1], &sent, &here);
    (void)close(stream.ends[1]);
    if (proc_finish(&proc, &result, err) == -1)
        rc = -1;
    else if (result.status != MAS_OK && (rc == 0 || result.status != MAS_DAMAGED))
        rc = tell_there(move, &result, err);
    else if (rc == -1) /* the other machine got only a part */
        *err = here;
    else
        rc = compare(move, &result, &sent, err);
    if (rc == 0) {
        report->bytes = sent.written;
        memcpy(report->digest, sent.digest, SHA256_TEXT);
        report->warnings = TAKE_PTR(sent.warnings);
    }
    archive_report_free(&sent);
    return rc;
}

/* ---- the way of a session */

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
    (void)err_set(err, err->code, "%s; it runs %s", told,
                  move->home != NULL ? "again where it was" : "here again");
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

/* The session is on its way to a machine that pulls it and cannot be asked. */
static int fail_pulled(const struct move *move, const char *name, struct err *err)
{
    const struct session_label label = session_label(move->life->root, move->leaving.session.id);
    int len = (int)strcspn(name, ":");

    (void)err_set(err, MAS_UNREACHED, "cannot tell where session '%s' is: it moves to %.*s",
                  label.text, len, name);
    return err_hint(err,
                    "finish that there, by 'move HOST:%s .'; if %.*s is gone for good: mas start "
                    "--takeover --fenced %s",
                    label.text, len, name, label.text);
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
    if (ret->home != NULL && strcmp(name, ret->home->remote.name) == 0) {
        ret->remote = &ret->home->remote;
        return 0;
    }
    if (strchr(name, MOVED_PULLED) != NULL)
        return fail_pulled(ret, name, err);
    return config_need_remote(life->config, name, &ret->remote, err) == -1
               ? err_wrap(err, "cannot tell where session '%s' is",
                          session_label(life->root, id).text)
               : 0;
}

static int move_locked(struct move *move, const struct remote *to, bool given_up, bool start,
                       struct move_report *report, struct err *err)
{
    const struct session *session = &move->leaving.session;

    if (session_arrives(session->moved_to)) {
        move->remote = to;
        return move_fail(move, MAS_CONFLICT, "its move to here has not ended", err);
    }
    if (move->remote != NULL && given_up && give_up(move, err) == -1)
        return -1;
    if (session->moved_to[0] != '\0' && move->remote != NULL &&
        strcmp(move->remote->name, to->name) != 0) {
        (void)err_set(err, MAS_CONFLICT, "cannot move session '%s' to host '%s': it moves to '%s'",
                      session_label(move->life->root, session->id).text,
                      move->home != NULL ? to->place : to->name, move->remote->name);
        return err_hint(err, "finish that first: mas move %s %s",
                        session_label(move->life->root, session->id).text, move->remote->name);
    }
    move->remote = to;
    report->ran = session->status == STATUS_ACTIVE;
    if (session->moved_to[0] == '\0' && send_it(move, report, err) == -1)
        return -1;
    return hand_over(move, start, report, err);
}

/* `to`: a host of mas.ini, or of `home`. */
static int move_to(struct move *move, const char *id, const struct remote *to, bool start,
                   struct move_report *ret, struct err *err)
{
    struct move_report report = {.lacks = NULL};
    bool given_up = false;

    int rc = open_move(move->life, id, move, &given_up, err);
    if (rc == 0)
        rc = move_locked(move, to, given_up, start, &report, err);
    bool again =
        rc == -1 && move->stopped && report.ran && move->leaving.session.moved_to[0] == '\0';
    leave_close(&move->leaving);
    if (again)
        run_again(move, id, err);
    if (rc == 0)
        *ret = report;
    else
        move_report_free(&report);
    return rc;
}

int move_session(const struct life *life, const char *id, const char *host, bool start,
                 struct move_report *ret, struct err *err)
{
    struct move move = {.life = life, .leaving = LEAVING_INIT};
    const struct remote *to = NULL;

    if (config_need_remote(life->config, host, &to, err) == -1)
        return -1;
    if (to->via != REMOTE_SSH) {
        (void)err_set(err, MAS_USAGE,
                      "cannot move a session to host '%s': it is a partition of Slurm", host);
        return err_hint(err, "a job restores it from a store: mas help run");
    }
    return move_to(&move, id, to, start, ret, err);
}

int move_home(const struct life *life, const char *id, struct pulled *home, struct move_report *ret,
              struct err *err)
{
    struct move move = {.life = life, .home = home, .leaving = LEAVING_INIT};

    return move_to(&move, id, &home->remote, false, ret, err);
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

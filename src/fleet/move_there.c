/* The part of fleet/move.h that runs commands on the other machine. */
#include "base/json.h"
#include "fleet/move_internal.h"
#include "fleet/reach.h"
#include "os/file.h"
#include "os/proc.h"

#include <sys/wait.h>

enum {
    ANSWER_MAX = 64 * 1024,
    ASK_MS = 60 * 1000,
    WORK_MS = 60 * 60 * 1000, /* removing or starting a large session */
    NUMBER_TEXT = 24,
};

int move_fail(const struct move *move, int code, const char *why, struct err *err)
{
    return err_set(err, code, "cannot move session '%s' to host '%s': %s",
                   session_label(move->life->root, move->leaving.session.id).text,
                   move->remote->name, why);
}

/* Runs a verb there; *ret (NULL: not wanted) is the JSON object that it prints. */
static int ask(const struct move *move, char *const *words, int timeout_ms, struct json **ret,
               struct err *err)
{
    struct reach_ask one = {.command = {.remote = move->remote, .words = words},
                            .root = move->life->root->path,
                            .output_max = ANSWER_MAX,
                            .timeout_ms = timeout_ms};
    struct err bad = ERR_INIT;
    int rc = -1;

    reach_ask_all(&one, 1);
    if (one.err.code != MAS_OK)
        *err = one.err;
    else if (one.code != MAS_OK)
        (void)move_fail(move, one.code, str_text(&one.why), err);
    else if (ret != NULL &&
             json_parse(str_text(&one.out), one.out.len, ANSWER_MAX, ret, &bad) == -1)
        (void)move_fail(move, MAS_FAILED, "mas there is of another version", err);
    else
        rc = 0;
    reach_ask_free(&one);
    return rc;
}

int move_look(const struct move *move, struct arrival *ret, struct err *err)
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

int move_release(const struct move *move, struct err *err)
{
    return ask_epoch(move, "release", move->leaving.session.epoch + 1, err);
}

int move_drop(const struct move *move, struct err *err)
{
    return ask_epoch(move, "drop", move->leaving.session.epoch, err);
}

int move_start(const struct move *move, struct err *err)
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

    if (json_parse(str_text(&result->out), result->out.len, ANSWER_MAX, &json, &bad) == -1)
        return move_fail(move, MAS_FAILED, "mas there is of another version", err);
    const char *id = json_get_text(json, "sessionId");
    const char *digest = json_get_text(json, "digest");
    int64_t epoch = json_int(json_get(json, "epoch"), -1);
    if (id == NULL || strcmp(id, move->leaving.session.id) != 0 || digest == NULL ||
        strcmp(digest, sent->digest) != 0 || epoch != (int64_t)move->leaving.session.epoch + 1) {
        (void)move_fail(move, MAS_DAMAGED, "what has arrived there is not what was sent", err);
        return err_hint(err, "the session is here; try again");
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

int move_send(struct move *move, struct move_report *report, struct err *err)
{
    struct stream stream = {.move = move};
    struct proc proc;
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    struct archive_report sent = {.file = NULL};
    struct err here = ERR_INIT;
    const struct proc_spec spec = {.file = move->remote->name,
                                   .go_on = run_receive,
                                   .arg = &stream,
                                   .cwd = -1,
                                   .output_max = ANSWER_MAX,
                                   .timeout_ms = INT32_MAX,
                                   .bound = true};

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

/*
 * The end of a pulled move at which the session arrives. Everything that comes is from the other
 * machine: frames with limits, words that are compared with a table before they become arguments of
 * `mas receive`, which checks them again.
 */

#include "fleet/pull.h"

#include "fleet/pulled.h"
#include "fleet/reach.h"
#include "os/file.h"
#include "os/loop.h"
#include "os/machine.h"
#include "os/path.h"
#include "os/proc.h"
#include "store/session.h"

enum {
    STEP_MS = 60 * 60 * 1000, /* removing or restoring a large session */
    WARNINGS_MAX = 100,
};

struct pulling {
    const struct pull *pull;
    char *desk; /* DESK:HASH */
    struct proc proc; /* `mas leave` there */
    int answers[2];
    struct frames frames;
    char id[ID_TEXT]; /* of the session; "": nothing was asked yet */
    bool done;
    char *hint; /* of what failed here, which the other machine is not told; NULL: none */
};

void pull_report_free(struct pull_report *report)
{
    free(report->label);
    move_report_free(&report->move);
    *report = (struct pull_report){.label = NULL};
}

/* ---- what is said at either end */

void pull_format(const char *id, const char *label, const struct move_report *report,
                 struct str *to)
{
    struct json_out out = {.to = to};

    json_put_all(&out, JO(NULL), JT("do", "done"), JT("sessionId", id), JT("label", label),
                 JI("archiveBytes", report->bytes), JT("digest", report->digest),
                 JB("ran", report->ran), JT("lacks", report->lacks), JA("warnings"));
    for (size_t i = 0; report->warnings != NULL && report->warnings[i] != NULL; i++)
        if (i < WARNINGS_MAX && to->len < FRAME_HEAD_MAX / 2)
            json_put_fit(&out, NULL, report->warnings[i], FRAME_HEAD_MAX / 8);
    json_put_all(&out, JAE, JOE);
}

static int fail_version(const struct pulling *pulling, struct err *err)
{
    const struct remote *remote = pulling->pull->carry->remote;

    (void)err_set(err, MAS_FAILED,
                  "cannot move session '%s:%s' here: mas there is of another version", remote->name,
                  pulling->pull->session);
    return err_hint(err,
                    "bring this one there with: mas remote add %s %s; or take the session as "
                    "an archive: man 7 mas-fleet",
                    remote->name, remote->place);
}

static int parse_report(const struct pulling *pulling, const struct json *head,
                        struct pull_report *ret, struct err *err)
{
    const char *id = json_get_text(head, "sessionId");
    const char *label = json_get_text(head, "label");
    const char *digest = json_get_text(head, "digest");
    int64_t bytes = json_int(json_get(head, "archiveBytes"), -1);

    if (id == NULL || id[0] == '\0' || strcmp(id, pulling->id) != 0 || label == NULL ||
        digest == NULL || (digest[0] != '\0' && !sha256_is_hex(digest)) || bytes < 0)
        return fail_version(pulling, err);
    const char *lacks = json_get_text(head, "lacks");
    *ret = (struct pull_report){.label = mem_dup(label)};
    memcpy(ret->id, id, ID_TEXT);
    ret->move.bytes = (uint64_t)bytes;
    memcpy(ret->move.digest, digest, strlen(digest) + 1);
    ret->move.ran = json_bool(json_get(head, "ran"), false);
    ret->move.lacks = lacks != NULL ? mem_dup(lacks) : NULL;
    const struct json *warning = json_first(json_get(head, "warnings"));
    for (; warning != NULL; warning = json_next(warning))
        if (json_text(warning) != NULL)
            strv_push(&ret->move.warnings, json_text(warning));
    return 0;
}

/* ---- frames */

/* Returns 1 with a frame; 0 at the end. */
static int next_frame(struct pulling *pulling, struct frame *ret, struct err *err)
{
    enum { ROOM = 256 * 1024 };

    for (;;) {
        int got = frames_next(&pulling->frames, ret, err);
        if (got == -1)
            return fail_version(pulling, err);
        if (got == 1)
            return 1;
        ssize_t len = read(pulling->proc.out, frames_room(&pulling->frames, ROOM), ROOM);
        if (len == -1 && (errno == EINTR || errno == EAGAIN)) {
            (void)loop_wait_for(pulling->proc.out, POLLIN, -1);
            continue;
        }
        if (len <= 0)
            return 0;
        frames_came(&pulling->frames, (size_t)len);
    }
}

static const char *what(const struct frame *frame)
{
    return json_get_text_or(frame->head, "do", "");
}

/* The other machine ends if it does not get the answer. */
static void answer(const struct pulling *pulling, int code, const char *text)
{
    _cleanup_str_ struct str head = STR_INIT;
    _cleanup_str_ struct str frame = STR_INIT;
    struct json_out out = {.to = &head};

    json_put_all(&out, JO(NULL), JI("code", code), JOE);
    frame_add(&frame, &head, text, strlen(text));
    (void)file_write_all(pulling->answers[1], frame.data, frame.len);
}

/* ---- steps of `mas receive` here */

static char **make_argv(const struct pulling *pulling, const char *step, const char *epoch)
{
    const struct carry *carry = pulling->pull->carry;
    char **argv = NULL;

    strv_push(&argv, "receive");
    strv_push(&argv, "--pulled");
    strv_push(&argv, carry->remote->name);
    if (pulling->pull->links)
        strv_push(&argv, "--links");
    strv_push(&argv, "--");
    strv_push(&argv, step);
    strv_push(&argv, pulling->id);
    if (epoch != NULL)
        strv_push(&argv, epoch);
    return argv;
}

static void run_step(const struct pulling *pulling, const char *step, const char *epoch)
{
    _cleanup_strv_ char **words = make_argv(pulling, step, epoch);
    struct reach_ask one = {.command = {.words = words},
                            .root = pulling->pull->carry->root,
                            .output_max = REACH_ANSWER_MAX,
                            .timeout_ms = STEP_MS};

    reach_ask_all(&one, 1);
    if (one.err.code != MAS_OK)
        answer(pulling, one.err.code, one.err.text);
    else
        answer(pulling, one.code, str_text(one.code == MAS_OK ? &one.out : &one.why));
    reach_ask_free(&one);
}

struct holding {
    const struct pulling *pulling;
    int ends[2];
};

/* In a child: becomes `mas receive hold`, which reads the pipe. */
static int run_hold(void *arg)
{
    const struct holding *holding = arg;
    _cleanup_strv_ char **words = make_argv(holding->pulling, "hold", NULL);
    _cleanup_strv_ char **argv = NULL;
    _cleanup_free_ char *mas = path_exe();
    struct err err = ERR_INIT;

    strv_push(&argv, "mas");
    strv_push(&argv, "--root");
    strv_push(&argv, holding->pulling->pull->carry->root);
    strv_push_all(&argv, words);
    if (mas != NULL && dup2(holding->ends[0], STDIN_FILENO) != -1)
        (void)proc_exec(mas, argv, NULL, &err);
    return MAS_FAILED;
}

/* Passes the pieces of the archive on. What takes no more has ended, and its answer goes back
 * before the end. */
static int take_pieces(struct pulling *pulling, int to, struct err *err)
{
    struct frame frame = {.head = NULL};
    int got;

    while ((got = next_frame(pulling, &frame, err)) == 1) {
        bool is_piece = strcmp(what(&frame), "piece") == 0 && frame.body != NULL;
        bool is_end = strcmp(what(&frame), "end") == 0;
        bool taken = is_piece && file_write_all(to, frame.body, frame.body_len) == 0;
        frame_free(&frame);
        if (!is_piece && !is_end)
            return fail_version(pulling, err);
        if (!taken)
            return is_piece ? 1 : 0;
    }
    return got == -1 ? -1 : 0;
}

static int drop_pieces(struct pulling *pulling, struct err *err)
{
    int got;

    do
        got = take_pieces(pulling, -1, err);
    while (got == 1);
    return got;
}

static int hold(struct pulling *pulling, struct err *err)
{
    struct holding holding = {.pulling = pulling};
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    struct err why = ERR_INIT;
    struct proc proc;
    size_t len;
    const struct proc_spec spec = reach_spec("mas", run_hold, &holding);

    if (pipe2(holding.ends, O_CLOEXEC) == -1)
        return err_errno(err, "cannot create a pipe");
    int rc = proc_start(&spec, &proc, err);
    (void)close(holding.ends[0]);
    if (rc == 0)
        rc = take_pieces(pulling, holding.ends[1], err);
    (void)close(holding.ends[1]);
    if (rc == -1)
        return -1;
    if (proc_finish(&proc, &result, &why) == -1) {
        answer(pulling, why.code, why.text);
    } else {
        const char *said = reach_find_error(str_text(&result.err), &len);
        _cleanup_free_ char *error = mem_dupn(said, len);
        free(pulling->hint);
        pulling->hint = NULL;
        if (result.status != MAS_OK && said[len] != '\0')
            pulling->hint = mem_dupn(said + len + 1, strcspn(said + len + 1, "\n"));
        answer(pulling, result.status, result.status == MAS_OK ? str_text(&result.out) : error);
    }
    return rc == 1 ? drop_pieces(pulling, err) : 0;
}

static const struct {
    const char *name;
    bool epoch;
} steps[] = {{"look", false}, {"hold", false}, {"release", true}, {"drop", true}};

/* Does a step that the other machine asks for. */
static int serve(struct pulling *pulling, const struct json *words, struct err *err)
{
    const struct json *word = json_first(words);
    const char *step = json_text(word);
    const char *id = json_text(json_next(word));
    const char *epoch = json_text(json_next(json_next(word)));

    if (step == NULL || id == NULL || !id_is_valid(id) ||
        (pulling->id[0] != '\0' && strcmp(id, pulling->id) != 0))
        return fail_version(pulling, err);
    memcpy(pulling->id, id, ID_TEXT);
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        if (strcmp(steps[i].name, step) != 0 || steps[i].epoch != (epoch != NULL))
            continue;
        if (strcmp(step, "hold") == 0)
            return hold(pulling, err);
        run_step(pulling, step, epoch);
        return 0;
    }
    return fail_version(pulling, err);
}

static int serve_all(struct pulling *pulling, struct pull_report *ret, struct err *err)
{
    int got = 0;

    while (!pulling->done) {
        struct frame frame = {.head = NULL};
        got = next_frame(pulling, &frame, err);
        if (got != 1)
            break;
        int rc = strcmp(what(&frame), "receive") == 0
                     ? serve(pulling, json_get(frame.head, "words"), err)
                 : strcmp(what(&frame), "done") == 0 ? parse_report(pulling, frame.head, ret, err)
                                                     : fail_version(pulling, err);
        pulling->done = rc == 0 && strcmp(what(&frame), "done") == 0;
        frame_free(&frame);
        if (rc == -1)
            return -1;
    }
    return got == -1 ? -1 : 0;
}

/* ---- the other machine */

/* In a child: `mas leave` there, which reads the answers. */
static int run_leave(void *arg)
{
    const struct pulling *pulling = arg;
    char *const words[] = {(char[]){"leave"}, (char[]){"--"}, (char *)pulling->pull->session,
                           pulling->desk, NULL};
    const struct reach_command command = {.remote = pulling->pull->carry->remote, .words = words};
    struct err err = ERR_INIT;
    struct reach_end end;

    (void)close(pulling->answers[1]);
    if (dup2(pulling->answers[0], STDIN_FILENO) == -1)
        return MAS_FAILED;
    (void)close(pulling->answers[0]);
    if (reach_run(&command, &end, &err) == 0)
        return end.signal != 0 ? 128 + end.signal : end.code;
    (void)dprintf(STDERR_FILENO, "mas: %s\n%s\n", err.text, err.hint);
    return err.code;
}

/* Makes the error of `mas leave` that of this command. */
static int tell_there(const struct pulling *pulling, const struct proc_result *result,
                      struct err *err)
{
    size_t len;
    const char *error = reach_find_error(str_text(&result->err), &len);
    const char *hint = error[len] != '\0' ? error + len + 1 : "";
    bool known = result->status > MAS_OK && result->status <= MAS_UNREACHED;

    if (pulling->id[0] == '\0' && result->status == MAS_USAGE)
        return fail_version(pulling, err);
    if (len == 0)
        return err_set(err, MAS_FAILED, "cannot move session '%s:%s' here: the command was killed",
                       pulling->pull->carry->remote->name, pulling->pull->session);
    (void)err_set(err, known ? result->status : MAS_FAILED, "%.*s", (int)len, error);
    hint = hint[0] == '\0' && pulling->hint != NULL ? pulling->hint : hint;
    return err_hint(err, "%.*s", (int)strcspn(hint, "\n"), hint);
}

/* Returns DESK:HASH. */
static int make_desk(const struct pull *pull, char **ret, struct err *err)
{
    _cleanup_free_ char *machine = NULL;
    char hash[SHA256_TEXT];

    if (machine_identity(&machine, err) == -1)
        return -1;
    _cleanup_free_ char *whole = mem_printf("%s\n%s", machine, pull->carry->root);
    _cleanup_free_ char *desk = mem_printf("%.*s", PULLED_DESK_MAX, machine_host(machine));
    for (char *at = desk; *at != '\0'; at++)
        if (strchr(PULLED_DESK_CHARS, *at) == NULL)
            *at = '_';
    sha256_of(whole, strlen(whole), hash);
    *ret =
        mem_printf("%s%c%.*s", desk[0] != '\0' ? desk : "_", MOVED_PULLED, PULLED_HASH_CHARS, hash);
    return 0;
}

static int pull_from(struct pulling *pulling, struct pull_report *ret, struct err *err)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    const struct proc_spec spec =
        reach_spec(pulling->pull->carry->remote->name, run_leave, pulling);

    if (pipe2(pulling->answers, O_CLOEXEC) == -1)
        return err_errno(err, "cannot create a pipe");
    int rc = proc_start(&spec, &pulling->proc, err);
    (void)close(pulling->answers[0]);
    if (rc == 0 && serve_all(pulling, ret, err) == -1) {
        proc_abandon(&pulling->proc);
        rc = -1;
    } else if (rc == 0 && proc_finish(&pulling->proc, &result, err) == -1) {
        rc = -1;
    } else if (rc == 0 && result.status != MAS_OK) {
        rc = tell_there(pulling, &result, err);
    } else if (rc == 0 && !pulling->done) {
        rc = fail_version(pulling, err);
    }
    (void)close(pulling->answers[1]);
    return rc;
}

int pull_session(const struct pull *pull, struct pull_report *ret, struct err *err)
{
    struct pulling pulling = {.pull = pull};
    struct pull_report report = {.label = NULL};

    if (make_desk(pull, &pulling.desk, err) == -1)
        return -1;
    void (*was)(int) = signal(SIGPIPE, SIG_IGN); /* an end that has gone is an error like others */
    int rc = pull_from(&pulling, &report, err);
    (void)signal(SIGPIPE, was);
    frames_free(&pulling.frames);
    free(pulling.desk);
    free(pulling.hint);
    if (rc == 0)
        *ret = report;
    else
        pull_report_free(&report);
    return rc;
}

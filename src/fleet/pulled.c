/*
 * The standard files are taken for frames at once, and /dev/null is put in their place. Questions
 * go one after the other, each with its time; only while the archive goes out are both directions
 * watched, because the other machine may say early that it wants no more. A connection that is lost
 * is MAS_UNREACHED: whether the last question was heard is then not known.
 */

#include "fleet/pulled.h"

#include "base/time.h"
#include "fleet/reach.h"
#include "os/file.h"
#include "os/loop.h"
#include "store/session.h"

enum {
    PIECE_MAX = 256 * 1024, /* bytes of the archive in one frame */
    STORE_MS = 60 * 60 * 1000, /* until a large session is restored there */
};

static bool is_name(const char *name)
{
    static const char hex[] = "0123456789abcdef";
    size_t len = strcspn(name, ":");

    return len > 0 && len <= PULLED_DESK_MAX && strspn(name, PULLED_DESK_CHARS) == len &&
           name[len] == MOVED_PULLED && strspn(name + len + 1, hex) == PULLED_HASH_CHARS &&
           name[len + 1 + PULLED_HASH_CHARS] == '\0';
}

/* What else prints here must not become a frame. */
static int take(int fd, int flags)
{
    _cleanup_close_ int null = open("/dev/null", flags | O_CLOEXEC);
    int own = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

    if (null == -1 || own == -1 || dup2(null, fd) == -1)
        fd_closep(&own);
    return own;
}

int pulled_open(const char *name, struct pulled *ret, struct err *err)
{
    if (!is_name(name))
        return err_set(err, MAS_USAGE, "'leave' is for 'mas move' on another machine");
    *ret =
        (struct pulled){.in = take(STDIN_FILENO, O_RDONLY), .out = take(STDOUT_FILENO, O_WRONLY)};
    remote_make(&ret->remote, name, "");
    ret->remote.via = REMOTE_SSH;
    free(ret->remote.place);
    ret->remote.place = mem_dupn(name, strcspn(name, ":"));
    return ret->in == -1 || ret->out == -1 ? err_errno(err, "cannot take the standard files") : 0;
}

void pulled_free(struct pulled *pulled)
{
    frames_free(&pulled->frames);
    remote_free(&pulled->remote);
    fd_closep(&pulled->in);
    fd_closep(&pulled->out);
    *pulled = (struct pulled)PULLED_INIT;
}

static int lost(const struct pulled *pulled, struct err *err)
{
    return err_set(err, MAS_UNREACHED, "the connection to '%s' was lost", pulled->remote.place);
}

static int tell(const struct pulled *pulled, const struct str *head, const char *body, size_t len,
                struct err *err)
{
    _cleanup_str_ struct str frame = STR_INIT;

    frame_add(&frame, head, body, len);
    return file_write_all(pulled->out, frame.data, frame.len) == -1 ? lost(pulled, err) : 0;
}

/* Sends a frame that says only what it is. */
static int tell_do(const struct pulled *pulled, const char *what, const char *body, size_t len,
                   struct err *err)
{
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out = {.to = &head};

    json_put_all(&out, JO(NULL), JT("do", what), JOE);
    return tell(pulled, &head, body, len, err);
}

static int tell_words(const struct pulled *pulled, char *const *words, struct err *err)
{
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out = {.to = &head};

    json_put_all(&out, JO(NULL), JT("do", words[0]), JA("words"));
    for (size_t i = 1; words[i] != NULL; i++)
        json_put(&out, NULL, words[i]);
    json_put_all(&out, JAE, JOE);
    return tell(pulled, &head, NULL, 0, err);
}

static int hear(struct pulled *pulled, int timeout_ms, struct frame *ret, struct err *err)
{
    enum { ROOM = 64 * 1024 };
    int64_t until = time_monotonic_ms() + timeout_ms;

    for (;;) {
        int got = frames_next(&pulled->frames, ret, err);
        int64_t left = until - time_monotonic_ms();
        if (got != 0)
            return got == 1 ? 0 : -1;
        if (left <= 0 || loop_wait_for(pulled->in, POLLIN, (int)left) <= 0)
            return err_set(err, MAS_UNREACHED, "'%s' does not answer", pulled->remote.place);
        ssize_t len = read(pulled->in, frames_room(&pulled->frames, ROOM), ROOM);
        if (len <= 0)
            return lost(pulled, err);
        frames_came(&pulled->frames, (size_t)len);
    }
}

static int code_of(const struct frame *answer)
{
    int64_t code = json_int(json_get(answer->head, "code"), MAS_FAILED);

    return code < MAS_OK || code > MAS_UNREACHED ? MAS_FAILED : (int)code;
}

int pulled_ask(struct pulled *pulled, char *const *words, int timeout_ms, struct json **ret,
               struct err *err)
{
    struct frame answer = {.head = NULL};
    struct err ignored = ERR_INIT;
    int rc = 0;

    if (tell_words(pulled, words, err) == -1 || hear(pulled, timeout_ms, &answer, err) == -1)
        return -1;
    const char *body = answer.body != NULL ? answer.body : "";
    int code = code_of(&answer);
    if (code != MAS_OK) {
        (void)err_set(err, code, "%s", body);
        rc = REACH_REFUSED;
    } else if (ret != NULL &&
               json_parse(body, answer.body_len, FRAME_BODY_MAX, ret, &ignored) == -1) {
        rc = REACH_STRANGE;
    }
    frame_free(&answer);
    return rc;
}

/* Returns false if nothing more comes, or is wanted. */
static bool send_piece(struct pulled *pulled, struct loop *loop, int from, char *room,
                       struct err *err)
{
    loop_begin(loop);
    loop_want(loop, from, POLLIN);
    loop_want(loop, pulled->in, POLLIN);
    if (loop_wait(loop, -1) == -1 || loop_got(loop, pulled->in) != 0)
        return false;
    ssize_t len = loop_got(loop, from) != 0 ? read(from, room, PIECE_MAX) : 1;
    return loop_got(loop, from) == 0 ||
           (len > 0 && tell_do(pulled, "piece", room, (size_t)len, err) == 0);
}

int pulled_send(struct pulled *pulled, const char *id, int from)
{
    char *const words[] = {(char[]){"receive"}, (char[]){"hold"}, (char *)id, NULL};
    _cleanup_loop_ struct loop loop = LOOP_INIT;
    _cleanup_free_ char *room = mem_alloc(PIECE_MAX);
    struct frame answer = {.head = NULL};
    struct err err = ERR_INIT;

    if (tell_words(pulled, words, &err) == 0)
        while (send_piece(pulled, &loop, from, room, &err))
            ;
    (void)close(from);
    if (err.code != MAS_OK || tell_do(pulled, "end", NULL, 0, &err) == -1 ||
        hear(pulled, STORE_MS, &answer, &err) == -1) {
        (void)dprintf(STDERR_FILENO, "mas: %s\n", err.text);
        return err.code;
    }
    int code = code_of(&answer);
    if (code == MAS_OK)
        (void)file_write_all(STDOUT_FILENO, answer.body, answer.body_len);
    else
        (void)dprintf(STDERR_FILENO, "mas: %s\n", answer.body != NULL ? answer.body : "");
    frame_free(&answer);
    return code;
}

int pulled_end(struct pulled *pulled, const struct str *head, struct err *err)
{
    return tell(pulled, head, NULL, 0, err);
}

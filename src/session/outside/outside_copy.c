/*
 * The copy is put where the program would keep it: what the pattern has found is filled in again,
 * with the new id. The home of an agent behind a wall is entered without following links, which the
 * agent may have made. Of a session that may be in the middle of a turn only the whole turns are
 * copied.
 */

#include "session/outside/outside_copy.h"

#include "base/env.h"
#include "os/file.h"
#include "os/path.h"
#include "os/transcript.h"
#include "protocol/line.h"
#include "session/outside/outside.h"

/* Returns the directory in which the path ends, below the home. */
static int open_place(const struct outside_home *home, const char *variable, const char *below,
                      const char *file, const char **ret_name)
{
    const char *top = env_get(home->env, variable != NULL ? variable : "HOME");
    size_t plain = path_pattern_plain(below);
    struct err ignored = ERR_INIT;

    if (home->own != -1 ? variable != NULL : top == NULL || top[0] != '/')
        return -1;
    if (home->own != -1) /* the agent may put links there */
        return path_make_above(home->own, file, 0700, ret_name);
    _cleanup_free_ char *first = mem_printf("%s/%.*s", top, (int)plain, file);
    if (path_make_dirs(first, &ignored) == -1)
        return -1;
    _cleanup_close_ int base = open(first, PATH_PLACE | O_CLOEXEC);
    return base != -1 ? path_make_above(base, file + plain, 0700, ret_name) : -1;
}

/* Appends the text with the new id in place of the old one. The id is the program's word, and may
 * be so short that it is in every line. */
static int put_id(const char *text, size_t len, const char *id, const char *new_id, struct str *to,
                  struct err *err)
{
    const char *end = text + len, *next;

    str_reserve(to, len);
    while (to->len + (size_t)(end - text) <= OUTSIDE_COPIED_MAX &&
           (next = memmem(text, (size_t)(end - text), id, strlen(id))) != NULL) {
        str_addn(to, text, (size_t)(next - text));
        str_add(to, new_id);
        text = next + strlen(id);
    }
    if (to->len + (size_t)(end - text) > OUTSIDE_COPIED_MAX)
        return err_set(err, MAS_FAILED, "its copy would have more than %d bytes",
                       OUTSIDE_COPIED_MAX);
    str_addn(to, text, (size_t)(end - text));
    return 0;
}

int outside_copy(const struct outside_home *home, const struct preset_told *told,
                 const struct path_found *found, const char *id, const char *text, size_t len,
                 struct outside_copied *ret, struct err *err)
{
    _cleanup_str_ struct str copy = STR_INIT;
    struct transcript read = {.offset = 0};

    if (id_make(ret->id, err) == -1)
        return -1;
    for (char *const *pattern = told->kept; ret->place == -1 && *pattern != NULL; pattern++) {
        _cleanup_free_ char *variable = NULL;
        const char *below = path_pattern_below(*pattern, &variable);
        free(ret->path);
        ret->path = path_pattern_fill(below, found, ret->id);
        if (ret->path != NULL)
            ret->place = open_place(home, variable, below, ret->path, &ret->name);
    }
    if (ret->place == -1)
        return err_set(err, MAS_FAILED, "there is no place for it in the agent's home");
    if (put_id(text, len, id, ret->id, &copy, err) == -1 ||
        file_replace(ret->place, ret->name, copy.data, copy.len, 0600, err) == -1)
        return -1;
    _cleanup_close_ int fd = openat(ret->place, ret->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    transcript_skip_all(&read, fd);
    ret->offset = read.offset;
    ret->tail = read.tail;
    return 0;
}

static bool ends_turn(const struct preset_told *told, const char *text, size_t len)
{
    _cleanup_json_ struct json *json = NULL;
    struct err ignored = ERR_INIT;
    bool ends = false;

    for (size_t i = 0; i < told->line_count && !ends; i++) {
        const struct line_rule *rule = &told->lines[i];
        _cleanup_line_ struct line_told line = {.owned = NULL};
        if ((rule->fact != TOLD_DONE && rule->fact != TOLD_FAILED && rule->fact != TOLD_STOPPED) ||
            !line_may_apply(rule, text, len))
            continue;
        if (json == NULL && (json_parse(text, len, TRANSCRIPT_LINE_MAX, &json, &ignored) == -1 ||
                             !json_is_object(json)))
            return false;
        ends = line_apply(rule, json, &line);
    }
    return ends;
}

/* Returns how many bytes of the text are whole turns. */
static size_t whole_turns(const struct preset_told *told, const char *text, size_t len)
{
    size_t whole = 0;
    const char *end;

    for (size_t at = 0; (end = memchr(text + at, '\n', len - at)) != NULL;) {
        size_t next = (size_t)(end - text) + 1;
        if (ends_turn(told, text + at, next - 1 - at))
            whole = next;
        at = next;
    }
    return whole;
}

struct copying_session {
    const struct outside_home *to;
    const struct preset_told *told;
    const char *id;
    struct outside_copied *ret;
    struct err *err;
    int rc;
};

static void copy_found(int dir, const char *name, const struct path_found *found, void *arg)
{
    struct copying_session *copying = arg;
    _cleanup_free_ char *text = NULL;
    size_t len = 0;

    if (file_read(dir, name, OUTSIDE_COPIED_MAX, &text, &len, copying->err) == -1)
        return;
    size_t whole = whole_turns(copying->told, text, len);
    if (whole == 0)
        (void)err_set(copying->err, MAS_NOT_FOUND, "it has no whole turn");
    else
        copying->rc = outside_copy(copying->to, copying->told, found, copying->id, text, whole,
                                   copying->ret, copying->err);
}

int outside_copy_session(const struct outside_home *from, const struct outside_home *to,
                         const struct preset_told *told, const char *id, struct outside_copied *ret,
                         struct err *err)
{
    struct copying_session copying = {
        .to = to, .told = told, .id = id, .ret = ret, .err = err, .rc = -1};

    if (!outside_look_for(from->own, told->kept, id, copy_found, &copying))
        return err_set(err, MAS_NOT_FOUND, "its program has not kept session %s", id);
    return copying.rc;
}

void outside_uncopy(const struct outside_copied *copied)
{
    if (copied->place != -1)
        (void)unlinkat(copied->place, copied->name, 0);
}

void outside_copied_free(struct outside_copied *copied)
{
    free(copied->path);
    fd_closep(&copied->place);
}

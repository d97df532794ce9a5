#include "fleet/greeting.h"

#include "base/json.h"
#include "base/time.h"
#include "git/git.h"
#include "session/helper.h"
#include "tmux/tmux.h"
#include "wall/probe.h"

#include <sys/statvfs.h>

static int64_t free_of(const struct statvfs *fs)
{
    return (int64_t)(fs->f_bavail * fs->f_frsize);
}

/* Returns true if this build and this machine have what walls need. */
static bool can_wall(struct err *why)
{
    _cleanup_wall_probe_ struct wall_probe probe = WALL_PROBE_INIT;
    _cleanup_free_ char *enter = helper_find(HELPER_WALL, why);

    if (enter == NULL)
        return false;
    wall_probe_look(&probe, getenv("PATH"), enter);
    return wall_probe_lacks(&probe, why) == 0;
}

static void put_whole(const struct greeting_subject *subject, struct json_out *out)
{
    char version[TMUX_VERSION_MAX];
    _cleanup_free_ char *git = NULL;
    struct err ignored = ERR_INIT;
    struct err why = ERR_INIT;
    struct statvfs fs;

    json_put(out, "tmux", tmux_version(version, &ignored) == 0 ? version : GREETING_NONE);
    git = git_version(&ignored);
    json_put_fit(out, "git", git != NULL ? git : GREETING_NONE, GREETING_VERSION_MAX - 1);
    json_put_fit(out, "walls", can_wall(&why) ? GREETING_WALLS : why.text, GREETING_WHY_MAX - 1);
    if (subject->store != NULL && subject->store[0] != '\0')
        json_put_int(out, "storeFree", statvfs(subject->store, &fs) == 0 ? free_of(&fs) : 0);
}

void greeting_print(const struct greeting_subject *subject)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};
    struct statvfs fs;
    bool known = subject->root != -1 && fstatvfs(subject->root, &fs) == 0;

    json_open(&out, NULL, '{');
    json_put_all(&out, JT("mas", MAS_VERSION), JI("timeMs", time_epoch_ms()),
                 JI("free", known ? free_of(&fs) : -1));
    if (subject->whole)
        put_whole(subject, &out);
    json_close(&out, '}');
    printf("%s\n", text.data);
}

static void copy_text(const char *from, char *to, size_t size)
{
    (void)snprintf(to, size, "%.*s", (int)str_fit(from, size - 1), from);
}

bool greeting_parse(const char *text, size_t len, struct greeting *ret, size_t *ret_len)
{
    const char *end = memchr(text, '\n', len < GREETING_MAX ? len : GREETING_MAX);
    _cleanup_json_ struct json *line = NULL;
    struct err ignored = ERR_INIT;

    if (end == NULL || json_parse(text, (size_t)(end - text), GREETING_MAX, &line, &ignored) == -1)
        return false;
    const char *version = json_get_text(line, "mas");
    if (version == NULL)
        return false;
    copy_text(version, ret->version, sizeof ret->version);
    copy_text(json_get_text_or(line, "tmux", ""), ret->tmux, sizeof ret->tmux);
    copy_text(json_get_text_or(line, "git", ""), ret->git, sizeof ret->git);
    copy_text(json_get_text_or(line, "walls", ""), ret->walls, sizeof ret->walls);
    ret->time_ms = json_int(json_get(line, "timeMs"), 0);
    ret->free = json_int(json_get(line, "free"), -1);
    ret->store_free = json_int(json_get(line, "storeFree"), -1);
    *ret_len = (size_t)(end + 1 - text);
    return true;
}

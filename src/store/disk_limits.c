#include "store/disk_limits.h"

#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "store/reserve.h"
#include "store/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void disk_limits_free(struct disk_limits *limits)
{
    free(limits->each);
    *limits = (struct disk_limits)DISK_LIMITS_INIT;
}

static int64_t read_bytes(const struct json *node)
{
    int64_t bytes = json_int(node, 0);
    return bytes >= -1 ? bytes : 0;
}

static struct disk_limit_of *find(const struct disk_limits *limits, const char *agent)
{
    for (size_t i = 0; i < limits->count; i++)
        if (strcmp(limits->each[i].agent, agent) == 0)
            return &limits->each[i];
    return NULL;
}

static void put_each(struct disk_limits *limits, const char *agent, int64_t bytes)
{
    struct disk_limit_of *one = find(limits, agent);

    if (one == NULL && limits->count == DISK_LIMITS_MAX)
        return;
    if (one == NULL) {
        limits->each = mem_room(limits->each, limits->count, sizeof *limits->each);
        one = &limits->each[limits->count++];
        (void)snprintf(one->agent, sizeof one->agent, "%s", agent);
    }
    one->bytes = bytes;
}

int disk_limits_read(int dir, struct disk_limits *ret, struct err *err)
{
    struct disk_limits limits = DISK_LIMITS_INIT;
    _cleanup_free_ char *text = NULL;
    _cleanup_json_ struct json *file = NULL;
    struct err why = ERR_INIT;
    size_t len = 0;

    if (file_read(dir, WORKSPACE_LIMITS, DISK_LIMITS_FILE_MAX, &text, &len, &why) == -1) {
        if (why.number != ENOENT) {
            *err = why;
            return -1;
        }
        *ret = limits;
        return 0;
    }
    if (json_parse(text, len, DISK_LIMITS_FILE_MAX, &file, &why) == -1)
        return err_set(err, MAS_DAMAGED, "cannot read '" WORKSPACE_LIMITS "': %s", why.text);
    limits.session = read_bytes(json_get(file, "session"));
    limits.agent = read_bytes(json_get(file, "agent"));
    for (const struct json *it = json_first(json_get(file, "agents")); it != NULL;
         it = json_next(it))
        if (json_key(it) != NULL && str_is_word(json_key(it), TEAM_WORD_MAX))
            put_each(&limits, json_key(it), read_bytes(it));
    *ret = limits;
    return 0;
}

static void put_bytes(struct json_out *out, const char *key, int64_t bytes)
{
    if (bytes != 0)
        json_put_int(out, key, bytes);
}

static int write_limits(int dir, const struct disk_limits *limits, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    json_open(&out, NULL, '{');
    put_bytes(&out, "session", limits->session);
    put_bytes(&out, "agent", limits->agent);
    json_open(&out, "agents", '{');
    for (size_t i = 0; i < limits->count; i++)
        put_bytes(&out, limits->each[i].agent, limits->each[i].bytes);
    json_close(&out, '}');
    json_close(&out, '}');
    str_addc(&text, '\n');
    struct err why = ERR_INIT;
    if (file_replace(dir, WORKSPACE_LIMITS, text.data, text.len, 0600, &why) == 0)
        return 0;
    if (reserve_give(dir, RESERVE_RECORD, &why))
        return file_replace(dir, WORKSPACE_LIMITS, text.data, text.len, 0600, err);
    *err = why;
    return -1;
}

int disk_limits_set(const struct root *root, int dir, enum disk_scope scope, const char *agent,
                    int64_t bytes, int wait_ms, struct err *err)
{
    _cleanup_disk_limits_ struct disk_limits limits = DISK_LIMITS_INIT;
    _cleanup_close_ int lock = -1;

    if (file_lock(root->sessions, ROOT_LOCK, wait_ms, "limits", &lock, err) == -1)
        return err_wrap(err, "cannot set a limit");
    if (disk_limits_read(dir, &limits, err) == -1 && err->code != MAS_DAMAGED)
        return -1;
    if (scope == DISK_SESSION)
        limits.session = bytes;
    else if (agent == NULL)
        limits.agent = bytes;
    else
        put_each(&limits, agent, bytes);
    return write_limits(dir, &limits, err);
}

int64_t disk_limits_of(const struct disk_limits *limits, const struct config *config,
                       enum disk_scope scope, const char *agent)
{
    const struct disk_limit_of *own = agent != NULL ? find(limits, agent) : NULL;
    int64_t set = scope == DISK_SESSION            ? limits->session
                  : own != NULL && own->bytes != 0 ? own->bytes
                                                   : limits->agent;

    if (set != 0)
        return set > 0 ? set : 0;
    return (int64_t)config_bytes(config, scope == DISK_SESSION ? SETTING_LIMIT_SESSION
                                                               : SETTING_LIMIT_AGENT);
}

int64_t disk_limits_of_session(int dir, const struct config *config)
{
    _cleanup_disk_limits_ struct disk_limits limits = DISK_LIMITS_INIT;
    struct err ignored = ERR_INIT;

    if (dir != -1)
        (void)disk_limits_read(dir, &limits, &ignored);
    return disk_limits_of(&limits, config, DISK_SESSION, NULL);
}

bool disk_limits_exist(int dir, const struct config *config)
{
    struct stat st;

    return config_bytes(config, SETTING_LIMIT_SESSION) != 0 ||
           config_bytes(config, SETTING_LIMIT_AGENT) != 0 ||
           fstatat(dir, WORKSPACE_LIMITS, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/*
 * Each key has a function that checks the value and only then changes the remote. Names of machines
 * and partitions are words of command lines later, so the characters that they may have are listed,
 * and none begins with "-". `via` sets two members, so it has no place in the struct that
 * remote_value() could read.
 */

#include "model/remote.h"

#include "base/suggest.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"
/* What the name of a machine or a user consists of. ssh puts it into commands of ~/.ssh/config. */
#define DESTINATION LETTERS DIGITS "._-@:/[]%+"
#define PARTITION LETTERS DIGITS "._-,"

static const char via_ssh[] = "ssh:";
static const char via_slurm[] = "slurm:";

bool remote_is_name(const char *name)
{
    return str_is_word(name, REMOTE_NAME_MAX) && name[0] != '-';
}

static bool consists_of(const char *text, const char *chars)
{
    size_t len = strlen(text);
    return len > 0 && len <= REMOTE_PLACE_MAX && strspn(text, chars) == len;
}

static bool is_destination(const char *text)
{
    const char *machine = str_starts(text, "ssh://") ? text + strlen("ssh://") : text;
    const char *at = strrchr(machine, '@');

    if (!consists_of(machine, DESTINATION) || strlen(text) > REMOTE_PLACE_MAX || machine[0] == '-')
        return false;
    return at == NULL || (at > machine && at[1] != '\0' && at[1] != '-');
}

static void replace(char **to, const char *text)
{
    free(*to);
    *to = mem_dup(text);
}

static const char *read_via(struct remote *remote, const char *value)
{
    if (str_starts(value, via_ssh) && is_destination(value + strlen(via_ssh))) {
        remote->via = REMOTE_SSH;
        replace(&remote->place, value + strlen(via_ssh));
        return NULL;
    }
    if (str_starts(value, via_slurm) && value[strlen(via_slurm)] != '-' &&
        consists_of(value + strlen(via_slurm), PARTITION)) {
        remote->via = REMOTE_SLURM;
        replace(&remote->place, value + strlen(via_slurm));
        return NULL;
    }
    return "ssh:DESTINATION or slurm:PARTITION";
}

static const char *read_path(char **to, const char *value)
{
    if (value[0] != '/' || strlen(value) >= PATH_MAX)
        return "an absolute path";
    replace(to, value);
    return NULL;
}

static const char *read_mas(struct remote *remote, const char *value)
{
    return read_path(&remote->mas, value);
}

static const char *read_root(struct remote *remote, const char *value)
{
    return read_path(&remote->root, value);
}

static const char *read_store(struct remote *remote, const char *value)
{
    return read_path(&remote->store, value);
}

static const char *read_submit(struct remote *remote, const char *value)
{
    _cleanup_strv_ char **words = NULL;
    struct err ignored = ERR_INIT;

    if (str_split_words(value, &words, &ignored) == -1)
        return "a list of options, quoted as for a shell";
    replace(&remote->submit, value);
    return NULL;
}

static const struct {
    const char *name;
    const char *(*read)(struct remote *remote, const char *value);
    size_t member; /* 0: via and place */
} keys[] = {
    {"via", read_via, 0},
    {"mas", read_mas, offsetof(struct remote, mas)},
    {"root", read_root, offsetof(struct remote, root)},
    {"store", read_store, offsetof(struct remote, store)},
    {"submit", read_submit, offsetof(struct remote, submit)},
};

void remote_make(struct remote *ret, const char *name, const char *origin)
{
    *ret = (struct remote){.name = mem_dup(name),
                           .place = mem_dup(""),
                           .mas = mem_dup("mas"),
                           .root = mem_dup(""),
                           .store = mem_dup(""),
                           .submit = mem_dup(""),
                           .origin = mem_dup(origin)};
}

void remote_free(struct remote *remote)
{
    free(remote->name);
    free(remote->place);
    free(remote->mas);
    free(remote->root);
    free(remote->store);
    free(remote->submit);
    free(remote->origin);
    free(remote->wrong);
}

int remote_read(struct remote *remote, const struct ini_line *line, struct err *err)
{
    struct suggest suggest = SUGGEST_INIT(line->key);

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        suggest_try(&suggest, keys[i].name);
        if (strcmp(line->key, keys[i].name) != 0)
            continue;
        const char *want = keys[i].read(remote, line->value);
        return want == NULL ? 0 : ini_fail(line, err, "'%s' is not %s", line->value, want);
    }
    return ini_fail_unknown(line, "unknown key of a host", suggest.nearest, err);
}

const char *remote_key(size_t at)
{
    return at < ARRAY_LEN(keys) ? keys[at].name : NULL;
}

const char *remote_value(const struct remote *remote, size_t at, char buf[REMOTE_PLACE_MAX + 16])
{
    static const char *const schemes[] = {
        [REMOTE_UNSET] = "", [REMOTE_SSH] = via_ssh, [REMOTE_SLURM] = via_slurm};

    if (keys[at].member != 0)
        return *(char *const *)(const void *)((const char *)remote + keys[at].member);
    (void)snprintf(buf, REMOTE_PLACE_MAX + 16, "%s%s", schemes[remote->via], remote->place);
    return buf;
}

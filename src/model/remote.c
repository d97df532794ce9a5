/*
 * Names of machines and partitions are words of command lines later, so the characters that they
 * may have are listed, and none begins with "-". `via` sets two members, so its row stands for the
 * whole struct.
 */

#include "model/remote.h"

#include "model/member.h"

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

static const char *parse_via(const char *value, void *to)
{
    struct remote *remote = to;
    bool by_ssh = str_starts(value, via_ssh);
    const char *place = value + strlen(by_ssh ? via_ssh : via_slurm);

    if (by_ssh ? !is_destination(place)
               : !str_starts(value, via_slurm) || place[0] == '-' || !consists_of(place, PARTITION))
        return "ssh:DESTINATION or slurm:PARTITION";
    free(remote->place);
    remote->place = mem_dup(place);
    remote->via = by_ssh ? REMOTE_SSH : REMOTE_SLURM;
    return NULL;
}

static const struct value_type via_type = {VALUE_OTHER, .parse = parse_via};
static const struct value_type path_type = {VALUE_TEXT, "an absolute path", .min = 1,
                                            .max = PATH_MAX - 1, .absolute = true};
/* sbatch takes the beginning of an option's name, if no other begins so. */
static const char *check_options(const char *text)
{
    _cleanup_strv_ char **words = NULL;
    struct err ignored = ERR_INIT;

    if (str_split_words(text, &words, &ignored) == -1)
        return "a list of options, quoted as for a shell";
    for (char **word = words; word != NULL && *word != NULL; word++)
        if (str_starts(*word, "-a") || str_starts(*word, "--ar"))
            return "a list of options without --array: each session is one job";
    return NULL;
}

static const struct value_type options_type = {VALUE_TEXT, .check = check_options};

static const struct member keys[] = {
    {.key = "via", .type = &via_type}, /* of the whole struct */
    {MEMBER("mas", path_type, struct remote, mas)},
    {MEMBER("root", path_type, struct remote, root)},
    {MEMBER("store", path_type, struct remote, store)},
    {MEMBER("submit", options_type, struct remote, submit)},
    MEMBER_END,
};

void remote_make(struct remote *ret, const char *name, const char *origin)
{
    *ret = (struct remote){.name = mem_dup(name),
                           .place = mem_dup(""),
                           .mas = mem_dup("mas"),
                           .origin = mem_dup(origin)};
    members_fill(keys, ret);
}

void remote_free(struct remote *remote)
{
    members_free(keys, remote);
    free(remote->name);
    free(remote->place);
    free(remote->origin);
    free(remote->wrong);
}

int remote_read(struct remote *remote, const struct ini_line *line, struct err *err)
{
    return members_read_line(keys, line, "unknown key of a host", remote, err);
}

const char *remote_key(size_t at)
{
    return keys[at].key;
}

const char *remote_value(const struct remote *remote, size_t at, char buf[REMOTE_PLACE_MAX + 16])
{
    static const char *const schemes[] = {
        [REMOTE_UNSET] = "", [REMOTE_SSH] = via_ssh, [REMOTE_SLURM] = via_slurm};

    if (keys[at].type->kind == VALUE_TEXT)
        return *(char *const *)member_in(&keys[at], remote);
    (void)snprintf(buf, REMOTE_PLACE_MAX + 16, "%s%s", schemes[remote->via], remote->place);
    return buf;
}

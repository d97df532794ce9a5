#include "fleet/last_known.h"

#include "base/time.h"
#include "os/file.h"
#include "os/path.h"

#define HOSTS_FILE "hosts"
#define HOSTS_LOCK "hosts.lock"

enum { WORDS = 4 };

static int open_state(void)
{
    _cleanup_free_ char *state = path_user_dir("XDG_STATE_HOME", ".local/state");
    _cleanup_free_ char *dir = state != NULL ? mem_printf("%s/mas", state) : NULL;
    struct err ignored = ERR_INIT;

    if (dir == NULL || path_make_dirs(dir, &ignored) == -1)
        return -1;
    return open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Returns the lines of the file, NULL if there are none. */
static char **read_lines(int dir)
{
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    char **lines = NULL;
    size_t len = 0;
    char *rest = NULL;

    if (file_read(dir, HOSTS_FILE, LAST_KNOWN_FILE_MAX, &text, &len, &ignored) == -1)
        return NULL;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        if (strv_len(lines) < REMOTES_MAX)
            strv_push(&lines, line);
    return lines;
}

static bool is_of(const char *line, const struct remote *remote)
{
    size_t name = strlen(remote->name);
    size_t place = strlen(remote->place);

    return strncmp(line, remote->name, name) == 0 && line[name] == '@' &&
           strncmp(line + name + 1, remote->place, place) == 0 && line[name + 1 + place] == ' ';
}

static void parse(const char *line, struct last_known *ret)
{
    _cleanup_strv_ char **words = str_split_list(line);
    struct last_known known;

    if (strv_len(words) == WORDS && time_parse(words[1], &known.when)) {
        known.sessions = strtoll(words[2], NULL, 10);
        known.active = strtoll(words[3], NULL, 10);
        *ret = known;
    }
}

void last_known_read(const struct remote *const *remotes, size_t count, struct last_known *ret)
{
    _cleanup_close_ int dir = open_state();
    _cleanup_strv_ char **lines = dir != -1 ? read_lines(dir) : NULL;

    memset(ret, 0, count * sizeof *ret);
    for (size_t i = 0; lines != NULL && lines[i] != NULL; i++)
        for (size_t j = 0; j < count; j++)
            if (is_of(lines[i], remotes[j]))
                parse(lines[i], &ret[j]);
}

void last_known_write(const struct remote *const *remotes, size_t count,
                      const struct last_known *known)
{
    _cleanup_close_ int dir = open_state();
    _cleanup_close_ int lock = -1;
    _cleanup_strv_ char **lines = NULL;
    _cleanup_str_ struct str text = STR_INIT;
    struct err ignored = ERR_INIT;

    if (dir == -1 || file_lock(dir, HOSTS_LOCK, LOCK_TRY, "hosts", &lock, &ignored) == -1)
        return;
    for (size_t i = 0; i < count; i++) {
        char when[TIME_TEXT];
        if (known[i].when == 0)
            continue;
        time_format(known[i].when, when);
        str_addf(&text, "%s@%s %s %" PRId64 " %" PRId64 "\n", remotes[i]->name, remotes[i]->place,
                 when, known[i].sessions, known[i].active);
    }
    lines = read_lines(dir);
    for (size_t i = 0; lines != NULL && lines[i] != NULL; i++) {
        bool is_new = false;
        for (size_t j = 0; j < count; j++)
            is_new = is_new || (known[j].when != 0 && is_of(lines[i], remotes[j]));
        if (!is_new && text.len + strlen(lines[i]) + 1 <= LAST_KNOWN_FILE_MAX)
            str_addf(&text, "%s\n", lines[i]);
    }
    if (text.len > 0)
        (void)file_replace(dir, HOSTS_FILE, text.data, text.len, 0600, &ignored);
}

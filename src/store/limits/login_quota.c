#include "store/limits/login_quota.h"

#include "base/time.h"
#include "os/file.h"
#include "os/path.h"

#define SUFFIX ".quota"

enum {
    FILE_MAX = 2048, /* bytes */
    LOCK_MS = 1000,
    FRESH_MS = 60000,
    HOUR = 60, /* minutes */
    DAY = 24 * HOUR,
    WEEK = 7 * DAY,
    UNKNOWN_MS = 5 * HOUR * 60000,
};

#define TIME_MS_MAX (INT64_C(1) << 50)

void quota_name(int64_t minutes, const char *name, char ret[QUOTA_NAME])
{
    const struct {
        int64_t minutes;
        const char *unit;
    } units[] = {{DAY, "d"}, {HOUR, "h"}, {1, "m"}};

    (void)snprintf(ret, QUOTA_NAME, "%s", minutes == WEEK ? "week" : name);
    if (minutes <= 0 || minutes == WEEK)
        return;
    size_t i = 0;
    while (minutes % units[i].minutes != 0)
        i++;
    (void)snprintf(ret, QUOTA_NAME, "%" PRId64 "%s", minutes / units[i].minutes, units[i].unit);
}

bool quota_holds_now(const struct quota_window *window, int64_t now_ms)
{
    int64_t until = window->resets_ms != 0 ? window->resets_ms : window->told_ms + UNKNOWN_MS;

    return now_ms < until;
}

static bool parse_window(const char *line, struct quota_window *ret)
{
    *ret = (struct quota_window){.percent = -1};
    return sscanf(line, "%23s %3d %" SCNd64 " %" SCNd64, ret->name, &ret->percent, &ret->resets_ms,
                  &ret->told_ms) == 4 &&
           str_is_word(ret->name, QUOTA_NAME - 1) && ret->percent >= 0 && ret->resets_ms >= 0 &&
           ret->resets_ms <= TIME_MS_MAX && ret->told_ms >= 0 && ret->told_ms <= TIME_MS_MAX;
}

static struct login_quota read_file(int dir, const char *name)
{
    struct login_quota quota = {.count = 0};
    struct err ignored = ERR_INIT;
    _cleanup_free_ char *text = NULL;
    char *rest = NULL;
    size_t len = 0;

    if (file_read(dir, name, FILE_MAX, &text, &len, &ignored) == -1 || strlen(text) != len)
        return quota;
    const char *line = strtok_r(text, "\n", &rest);
    if (line == NULL || sscanf(line, "%32s %32s", quota.preset, quota.account) < 1 ||
        !str_is_word(quota.preset, TEAM_WORD_MAX))
        return quota;
    if (!str_is_word(quota.account, ACCOUNT_NAME_MAX))
        quota.account[0] = '\0';
    while ((line = strtok_r(NULL, "\n", &rest)) != NULL && quota.count < QUOTA_WINDOWS_MAX)
        if (parse_window(line, &quota.windows[quota.count]))
            quota.count++;
    return quota;
}

struct login_quota login_quota_read(int dir, const char *login)
{
    _cleanup_free_ char *name = mem_printf("%s" SUFFIX, login);

    return read_file(dir, name);
}

/* Returns the place of a window: the one that it has, a free one, or that of the oldest. */
static struct quota_window *place_of(struct login_quota *quota, const char *name)
{
    struct quota_window *oldest = &quota->windows[0];

    for (size_t i = 0; i < quota->count; i++) {
        struct quota_window *window = &quota->windows[i];
        if (strcmp(window->name, name) == 0)
            return window;
        oldest = window->told_ms < oldest->told_ms ? window : oldest;
    }
    return quota->count < QUOTA_WINDOWS_MAX ? &quota->windows[quota->count++] : oldest;
}

int login_quota_note(int dir, const char *login, const char *preset, const char *account,
                     const struct quota_window *window, struct err *err)
{
    _cleanup_free_ char *name = mem_printf("%s" SUFFIX, login);
    _cleanup_free_ char *lock_name = mem_printf("%s.lock", name);
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_close_ int lock = -1;

    if (file_lock(dir, lock_name, LOCK_MS, "quota", &lock, err) == -1)
        return -1;
    struct login_quota quota = read_file(dir, name);
    struct quota_window *place = place_of(&quota, window->name);
    if (place->percent == window->percent && place->resets_ms == window->resets_ms &&
        strcmp(place->name, window->name) == 0 && window->told_ms - place->told_ms < FRESH_MS)
        return 0;
    *place = *window;
    str_addf(&text, "%s %s\n", preset, account);
    for (size_t i = 0; i < quota.count; i++)
        str_addf(&text, "%s %d %" PRId64 " %" PRId64 "\n", quota.windows[i].name,
                 quota.windows[i].percent, quota.windows[i].resets_ms, quota.windows[i].told_ms);
    return file_replace(dir, name, str_text(&text), text.len, 0600, err);
}

int login_quota_each(const struct root *root, each_quota *each, void *arg, struct err *err)
{
    _cleanup_strv_ char **names = NULL;
    _cleanup_close_ int dir = path_open_dir(root->sessions, LIMITS_DIR);

    if (dir == -1)
        return errno == ENOENT ? 0 : err_errno(err, "cannot open 'sessions/" LIMITS_DIR "'");
    if (path_list(dir, &names, err) == -1)
        return -1;
    for (char **name = names; name != NULL && *name != NULL; name++) {
        if (!str_ends(*name, SUFFIX))
            continue;
        struct login_quota quota = read_file(dir, *name);
        (void)snprintf(quota.login, sizeof quota.login, "%.*s",
                       (int)(strlen(*name) - strlen(SUFFIX)), *name);
        if (quota.count > 0 && str_is_word(quota.login, LOGIN_ID))
            each(&quota, arg);
    }
    return 0;
}

#include "store/limits/login_limit.h"

#include "base/time.h"
#include "os/file.h"
#include "os/path.h"

enum {
    FILE_MAX = 256, /* bytes */
    LOCK_MS = 1000,
    ATTEMPTS_MAX = 1000,
};

int login_limit_open(const struct root *root)
{
    if (mkdirat(root->sessions, LIMITS_DIR, 0700) == -1 && errno != EEXIST)
        return -1;
    return path_open_dir(root->sessions, LIMITS_DIR);
}

struct login_limit login_limit_read(int dir, const char *login)
{
    struct login_limit limit = {.attempts = 0};
    struct err ignored = ERR_INIT;
    _cleanup_free_ char *text = NULL;
    size_t len = 0;

    if (file_read(dir, login, FILE_MAX, &text, &len, &ignored) == -1)
        return limit;
    if (sscanf(text, "%4d %" SCNd64 " %" SCNd64 " %" SCNd64, &limit.attempts, &limit.until_ms,
               &limit.due_ms, &limit.since_ms) != 4 ||
        limit.attempts < 0 || limit.until_ms < 0)
        return (struct login_limit){.attempts = 0};
    return limit;
}

int64_t login_limit_due(int attempts, int retry_ms, int64_t now_ms)
{
    int64_t wait = retry_ms;

    for (int i = 1; i < attempts && wait < LIMIT_RETRY_MAX_MS; i++)
        wait *= 2;
    return now_ms + (wait < LIMIT_RETRY_MAX_MS ? wait : LIMIT_RETRY_MAX_MS);
}

int login_limit_note(int dir, const char *login, const struct login_limit *told, int64_t began_ms,
                     int retry_ms, struct login_limit *ret, struct err *err)
{
    _cleanup_free_ char *name = mem_printf("%s.lock", login);
    _cleanup_close_ int lock = -1;
    int64_t now = time_epoch_ms();
    char text[FILE_MAX];

    if (file_lock(dir, name, LOCK_MS, "limit", &lock, err) == -1)
        return -1;
    *ret = login_limit_read(dir, login);
    bool old_news = ret->attempts > 0 && began_ms <= ret->since_ms;
    if (old_news && (told->until_ms == 0 || told->until_ms <= ret->until_ms))
        return 0;
    if (!old_news && ret->attempts < ATTEMPTS_MAX)
        ret->attempts++;
    ret->until_ms = told->until_ms;
    ret->due_ms =
        told->until_ms > 0 ? told->until_ms : login_limit_due(ret->attempts, retry_ms, now);
    ret->since_ms = now;
    int len = snprintf(text, sizeof text, "%d %" PRId64 " %" PRId64 " %" PRId64 "\n", ret->attempts,
                       ret->until_ms, ret->due_ms, ret->since_ms);
    return file_replace(dir, login, text, (size_t)len, 0600, err);
}

int login_limit_try(int dir, const char *login)
{
    _cleanup_free_ char *name = mem_printf("%s.try", login);
    struct err ignored = ERR_INIT;
    int fd = -1;

    if (file_is_locked(dir, name)) /* opened for reading: its close wakes no other agent */
        return -1;
    return file_lock(dir, name, LOCK_TRY, "try", &fd, &ignored) == 0 ? fd : -1;
}

void login_limit_over(int dir, const char *login)
{
    (void)unlinkat(dir, login, 0);
}

#include "store/limits/session_quota.h"

#include "os/quota.h"

#include <sys/statvfs.h>

enum { TRIES = 8 };

/* Returns the number of a session; 0 if it has none of ours. */
static uint32_t number_of(int dir)
{
    uint32_t number = 0;

    if (quota_number(dir, &number) == -1 || number < SESSION_QUOTA_FIRST ||
        number - SESSION_QUOTA_FIRST >= SESSION_QUOTA_COUNT)
        return 0;
    return number;
}

/* Returns a number that nothing uses; 0 if there are no quotas, or they cannot be read. */
static uint32_t find_free(int dir)
{
    struct quota_use use;
    struct stat st;

    if (quota_read(dir, SESSION_QUOTA_FIRST, &use) == -1 || fstat(dir, &st) == -1)
        return 0;
    for (uint32_t i = 0; i < TRIES; i++) {
        uint32_t number =
            SESSION_QUOTA_FIRST + ((uint32_t)st.st_ino + i) % (uint32_t)SESSION_QUOTA_COUNT;
        if (quota_read(dir, number, &use) == -1)
            return 0;
        if (use.files == 0 && use.used == 0 && use.limit == 0)
            return number;
    }
    return 0;
}

void session_quota_begin(int dir, int like)
{
    uint32_t before = 0;

    if (like == SESSION_QUOTA_NONE)
        return;
    uint32_t number = like == SESSION_QUOTA_OWN ? find_free(dir) : number_of(like);
    if (number != 0 && quota_number(dir, &before) == 0 && before == 0)
        (void)quota_set_number(dir, number);
}

void session_quota_except(int dir)
{
    if (number_of(dir) != 0)
        (void)quota_set_number(dir, 0);
}

/* Returns true if the kernel shows the limit as the size of the file system, as it does where
 * limits are in force. */
static bool is_held(int dir, uint64_t limit)
{
    struct statvfs fs;

    return limit != 0 && fstatvfs(dir, &fs) == 0 && fs.f_frsize != 0 &&
           fs.f_blocks <= limit / fs.f_frsize + 1;
}

bool session_quota_use(int dir, uint64_t limit, struct session_quota *ret)
{
    const uint32_t number = number_of(dir);
    const uint64_t spare = limit / SESSION_QUOTA_SHARE + SESSION_QUOTA_SPARE;
    const uint64_t hard = limit == 0 || limit > UINT64_MAX - spare - 1024
                              ? 0
                              : (limit + spare + 1023) / 1024 * 1024; /* as the kernel keeps it */
    struct quota_use use;

    if (number == 0 || quota_read(dir, number, &use) == -1)
        return false;
    if (use.limit != hard && quota_limit(dir, number, hard) == 0)
        use.limit = hard;
    *ret =
        (struct session_quota){.used = use.used, .holds = use.limit == hard && is_held(dir, hard)};
    return true;
}

void session_quota_end(int dir)
{
    const uint32_t number = number_of(dir);

    if (number != 0)
        (void)quota_limit(dir, number, 0);
}

bool session_quota_leave(int dir, int at)
{
    int before = errno;
    uint32_t number = 0;

    if (quota_number(at, &number) == 0 && quota_set_number(dir, number) == 0)
        return true;
    errno = before;
    return false;
}

#include "host/disk_pace.h"

#include "base/time.h"

enum { FREED = 64 * 1024 }; /* bytes; less than that frees no agent */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Returns true if the session may have reached its next level, or, if it is paused, come back. */
static bool is_urgent(const struct disk_pace *pace, int64_t grown)
{
    return pace->paused ? grown <= -FREED : grown > 0 && grown >= pace->room / 2;
}

/* Returns in how many ms half of the room that is left will be gone. */
static int64_t time_left(const struct disk_pace *pace, int64_t now, int64_t used, int64_t grown)
{
    int64_t more = used - pace->looked_used;
    int64_t passed = now - pace->looked_at;
    int64_t left = pace->room / 2 - grown;

    if (pace->looked_at == 0 || more <= 0 || passed <= 0 || left <= 0)
        return DISK_LOOK_MS;
    double ms = (double)left / (double)more * (double)passed / 2;
    return ms < DISK_LOOK_MS ? most((int64_t)ms, DISK_LOOK_MIN_MS) : DISK_LOOK_MS;
}

int64_t disk_pace(struct disk_pace *pace, int64_t now, int64_t used, bool *ret_walk)
{
    int64_t grown = used - pace->walked_used;
    int64_t rest = pace->paused ? DISK_WALK_PAUSED_MS : DISK_WALK_MS;
    int64_t calm = pace->walked_at + most(rest, pace->took * DISK_CALM_SHARE);
    int64_t urgent = pace->walked_at + most(DISK_LOOK_MIN_MS, pace->took * DISK_URGENT_SHARE);
    bool hurries = is_urgent(pace, grown);
    int64_t next = now + time_left(pace, now, used, grown);

    *ret_walk = !pace->walked || now >= calm || (hurries && now >= urgent);
    pace->looked_at = now;
    pace->looked_used = used;
    if (hurries)
        next = most(urgent, now + DISK_LOOK_MIN_MS);
    return least(next, most(calm, now + DISK_LOOK_MIN_MS));
}

void disk_pace_walked(struct disk_pace *pace, int64_t now, int64_t took, int64_t used, int64_t room)
{
    pace->walked = true;
    pace->walked_at = now;
    pace->took = took;
    pace->walked_used = used;
    pace->room = room;
}

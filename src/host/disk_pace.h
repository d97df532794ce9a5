/*
 * When to measure how much disk space a session takes. A measurement walks over all of its files,
 * so it costs something; the free space of the file system costs nothing, and tells whether the
 * session can have grown much since the last walk:
 *
 *     next = disk_pace(&pace, now, used, &walk);      call again at `next`; measure if `walk`
 *     disk_pace_walked(&pace, now, took, used, room);
 *
 * The walks of a session take at most 2 % of the time, or 10 % while the file system fills as if
 * the session were about to reach its next limit.
 */
#pragma once

enum {
    DISK_LOOK_MS = 1000, /* between two looks at the file system */
    DISK_LOOK_MIN_MS = 100, /* if it fills fast */
    DISK_WALK_MS = 60 * 1000, /* a walk comes at least so often */
    DISK_WALK_PAUSED_MS = 5000, /* and so often while agents are paused */
    DISK_CALM_SHARE = 50, /* a walk costs one part in so many of the time */
    DISK_URGENT_SHARE = 10,
};

/* Zero-initialised. */
struct disk_pace {
    bool walked;
    int64_t walked_at, took; /* monotonic ms, ms */
    int64_t walked_used; /* of the file system, bytes, at the beginning of that walk */
    int64_t room; /* bytes that the session may grow by until something is to be told */
    bool paused; /* it waits for space to be freed */
    int64_t looked_at, looked_used;
};

int64_t disk_pace(struct disk_pace *pace, int64_t now, int64_t used, bool *ret_walk);
void disk_pace_walked(struct disk_pace *pace, int64_t now, int64_t took, int64_t used,
                      int64_t room);

#include "model/disk.h"

#include "base/number.h"

enum { NEAR_PERCENT = 90, FULL_PERCENT = 100, BACK_PERCENT = 5 };

/* Returns a share of the limit, rounded down, without an overflow. */
static int64_t share(const struct disk_use *use, int percent)
{
    return use->limit / 100 * percent + use->limit % 100 * percent / 100;
}

static bool reaches(const struct disk_use *use, int percent, bool was)
{
    return use->used >= share(use, was ? percent - BACK_PERCENT : percent);
}

enum disk_level disk_level(enum disk_level before, const struct disk_use *use)
{
    if (use->limit <= 0)
        return DISK_CALM;
    if (reaches(use, FULL_PERCENT, before == DISK_FULL))
        return DISK_FULL;
    return reaches(use, NEAR_PERCENT, before != DISK_CALM) ? DISK_NEAR : DISK_CALM;
}

int64_t disk_room(const struct disk_use *use)
{
    if (use->limit <= 0 || use->used >= use->limit)
        return INT64_MAX;
    int64_t near = share(use, NEAR_PERCENT);
    return (use->used < near ? near : use->limit) - use->used;
}

void disk_describe(enum disk_scope scope, const struct disk_use *use, char buf[DISK_WORDS])
{
    char used[NUMBER_SIZE_TEXT], limit[NUMBER_SIZE_TEXT];

    number_format_size((uint64_t)use->used, used);
    number_format_size((uint64_t)use->limit, limit);
    (void)snprintf(buf, DISK_WORDS, "the %s uses %s of %s on disk",
                   scope == DISK_SESSION ? "session" : "agent", used, limit);
}

void disk_put(const char *key, const struct disk_use *use, struct json_out *out)
{
    if (!use->known) {
        json_put(out, key, NULL);
        return;
    }
    json_open(out, key, '{');
    json_put_int(out, "used", use->used);
    if (use->limit > 0)
        json_put_int(out, "limit", use->limit);
    else
        json_put(out, "limit", NULL);
    json_close(out, '}');
}

void disk_read(const struct json *object, struct disk_use *ret)
{
    int64_t used = json_int(json_get(object, "used"), -1);
    int64_t limit = json_int(json_get(object, "limit"), 0);

    *ret = (struct disk_use){
        .known = used >= 0, .used = used >= 0 ? used : 0, .limit = limit > 0 ? limit : 0};
}

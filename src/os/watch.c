#include "os/watch.h"

#include "os/path.h"

#include <sys/inotify.h>

static const struct {
    unsigned what;
    uint32_t kernel;
} kinds[] = {
    {WATCH_CREATED, IN_CREATE},  {WATCH_CAME, IN_MOVED_TO},    {WATCH_LEFT, IN_MOVED_FROM},
    {WATCH_DELETED, IN_DELETE},  {WATCH_WRITTEN, IN_MODIFY},   {WATCH_CLOSED, IN_CLOSE_WRITE},
    {WATCH_MOVED, IN_MOVE_SELF}, {WATCH_GONE, IN_DELETE_SELF}, {WATCH_GONE, IN_IGNORED},
};

int watch_open(void)
{
    return inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
}

int watch_add(int watch, int dir, unsigned what)
{
    char path[PATH_FD_TEXT];
    uint32_t mask = IN_ONLYDIR;

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if ((what & kinds[i].what) != 0 && kinds[i].kernel != IN_IGNORED)
            mask |= kinds[i].kernel;
    return inotify_add_watch(watch, path_fd(dir, path), mask);
}

static void tell(const struct inotify_event *event, const char *name, watch_each *each, void *arg)
{
    struct watch_change change = {.number = event->wd, .name = event->len > 0 ? name : ""};

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if ((event->mask & kinds[i].kernel) != 0)
            change.what |= kinds[i].what;
    each(&change, arg);
}

bool watch_read(int watch, watch_each *each, void *arg)
{
    char events[4096];
    bool any = false;
    ssize_t n;

    while ((n = read(watch, events, sizeof events)) > 0) {
        struct inotify_event event;
        for (ssize_t at = 0; each != NULL && at + (ssize_t)sizeof event <= n;
             at += (ssize_t)(sizeof event + event.len)) {
            memcpy(&event, events + at, sizeof event);
            tell(&event, events + at + sizeof event, each, arg);
        }
        any = true;
    }
    return any;
}

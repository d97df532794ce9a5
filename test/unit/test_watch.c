#include "place.h"

#include "os/signals.h"
#include "os/watch.h"

struct heard {
    int number;
    struct str text; /* what, and the name */
};

static void note(const struct watch_change *change, void *arg)
{
    struct heard *heard = arg;

    CHECK_INT(change->number, heard->number);
    str_addf(&heard->text, "%u:%s ", change->what, change->name);
}

/* Checks what was told since the last look. */
static bool told(int watch, int number, const char *want)
{
    struct heard heard = {.number = number};

    bool any = watch_read(watch, note, &heard);
    bool same = CHECK_STR(str_text(&heard.text), want) && any == (want[0] != '\0');
    str_free(&heard.text);
    return same;
}

TEST(changes_are_told_by_kind_and_name)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_close_ int watch = watch_open();

    CHECK(mkdirat(place.dir, "d", 0700) == 0);
    int dir = openat(place.dir, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int number = watch_add(watch, dir,
                           WATCH_CREATED | WATCH_CAME | WATCH_LEFT | WATCH_DELETED | WATCH_WRITTEN |
                               WATCH_CLOSED | WATCH_MOVED);
    CHECK(number > 0);
    (void)close(dir);
    CHECK(told(watch, number, ""));
    CHECK(place_put(place.dir, "d/a", "text"));
    CHECK(told(watch, number, "1:a 16:a 32:a "));
    CHECK(renameat(place.dir, "d/a", place.dir, "b") == 0);
    CHECK(renameat(place.dir, "b", place.dir, "d/c") == 0);
    CHECK(told(watch, number, "4:a 2:c "));
    CHECK(unlinkat(place.dir, "d/c", 0) == 0);
    CHECK(renameat(place.dir, "d", place.dir, "e") == 0);
    CHECK(told(watch, number, "8:c 64: "));
    CHECK(unlinkat(place.dir, "e", AT_REMOVEDIR) == 0);
    CHECK(told(watch, number, "128: ")); /* nobody asked for it */
}

TEST(only_what_was_asked_for_is_told_and_only_of_directories)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_close_ int watch = watch_open();
    int number = watch_add(watch, place.dir, WATCH_DELETED);

    CHECK(place_put(place.dir, "a", "text"));
    CHECK(told(watch, number, ""));
    CHECK(unlinkat(place.dir, "a", 0) == 0);
    CHECK(watch_read(watch, NULL, NULL));
    CHECK(!watch_read(watch, NULL, NULL));
    CHECK(place_put(place.dir, "a", "text"));
    _cleanup_close_ int file = openat(place.dir, "a", O_RDONLY | O_CLOEXEC);
    CHECK_INT(watch_add(watch, file, WATCH_WRITTEN), -1);
    CHECK_INT(errno, ENOTDIR);
}

TEST(signals_come_through_the_descriptor_one_by_one)
{
    sigset_t before;

    (void)sigprocmask(SIG_BLOCK, NULL, &before);
    _cleanup_close_ int signals = signals_open((const int[]){SIGUSR1, SIGTERM, 0});
    CHECK(signals != -1);
    CHECK_INT(signals_next(signals), 0);
    CHECK_INT(raise(SIGTERM), 0);
    CHECK_INT(signals_next(signals), SIGTERM);
    CHECK_INT(signals_next(signals), 0);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
}

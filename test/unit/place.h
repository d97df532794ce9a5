/*
 * What tests share that work on files: a directory of their own, calls that are to succeed.
 */
#pragma once

#include "unit.h"

#include "os/file.h"
#include "os/path.h"
#include "os/tree.h"

struct place {
    char path[32]; /* below /dev/shm if that is there: fsync(2) takes no time there */
    int dir;
};

UNIT_MAYBE static void place_free(struct place *place)
{
    char *name = strrchr(place->path, '/');
    struct err err = ERR_INIT;

    fd_closep(&place->dir);
    *name = '\0';
    _cleanup_close_ int above = path_open_dir(AT_FDCWD, place->path);
    CHECK_INT(tree_remove(above, name + 1, &err), 0);
}
#define _cleanup_place_ __attribute__((cleanup(place_free)))

UNIT_MAYBE static struct place place_make(void)
{
    struct place place = {.path = "/dev/shm/mas-unit-XXXXXX"};

    if (mkdtemp(place.path) == NULL) {
        place = (struct place){.path = "/tmp/mas-unit-XXXXXX"};
        CHECK(mkdtemp(place.path) != NULL);
    }
    place.dir = path_open_dir(AT_FDCWD, place.path);
    return place;
}

/* Prints the error of a call that was to succeed. */
UNIT_MAYBE static bool went_well(int rc, const struct err *err)
{
    if (rc == -1)
        unit_print_str("error", err->text);
    return rc == 0;
}
#define WELL(call) CHECK(went_well((call), &err))
#define MUST(call) REQUIRE(went_well((call), &err))

/* Writes a file anew. */
UNIT_MAYBE static bool place_write(int dir, const char *name, const char *bytes, size_t len)
{
    struct err err = ERR_INIT;

    (void)unlinkat(dir, name, 0);
    return WELL(file_create(dir, name, bytes, len, 0600, &err));
}

UNIT_MAYBE static bool place_put(int dir, const char *name, const char *text)
{
    return place_write(dir, name, text, strlen(text));
}

#include "gap.h"
#include "place.h"

#include "memory/db_internal.h"

#define NAME "memory.db"

/* Another database takes the name, with a log of its own; the one before is set aside. */
static void replace_it(void *arg)
{
    int dir = *(const int *)arg;
    static const char *const parts[][2] = {
        {NAME, "old.db"}, {NAME "-wal", "old.db-wal"}, {NAME "-shm", "old.db-shm"}};

    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        (void)renameat(dir, parts[i][0], dir, parts[i][1]);
    CHECK(place_put(dir, NAME, "another"));
    CHECK(place_put(dir, NAME "-wal", "its log"));
}

TEST(does_not_open_what_is_replaced_meanwhile)
{
    _cleanup_place_ struct place place = place_make();
    struct db *db = NULL;
    struct err err = ERR_INIT;

    gap_before_nth("fsync", 2, replace_it, &place.dir); /* the first is that of the directory */
    CHECK_INT(db_open(place.dir, NAME, DB_CREATE, &db, &err), -1);
    CHECK_INT(err.code, MAS_CONFLICT);
    CHECK(gap_call == NULL);
    CHECK_INT(faccessat(place.dir, NAME "-wal", F_OK, 0), 0);
}

TEST(leaves_the_log_of_another_when_it_is_closed)
{
    _cleanup_place_ struct place place = place_make();

    for (int replaced = 0; replaced < 2; replaced++) {
        struct db *db = NULL;
        struct err err = ERR_INIT;
        MUST(db_open(place.dir, NAME, DB_CREATE, &db, &err));
        WELL(db_exec(db, "CREATE TABLE a (b)", &err));
        CHECK_INT(faccessat(place.dir, NAME "-wal", F_OK, 0), 0);
        if (replaced)
            replace_it(&place.dir);
        db_close(db);
        CHECK_INT(faccessat(place.dir, NAME "-wal", F_OK, 0), replaced ? 0 : -1);
        (void)unlinkat(place.dir, NAME, 0);
    }
}

TEST(opens_no_file_with_a_second_name)
{
    static const char *const parts[] = {NAME, NAME "-wal", NAME "-shm", NAME "-journal"};

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        _cleanup_place_ struct place place = place_make();
        struct db *db = NULL;
        struct err err = ERR_INIT;
        CHECK(place_put(place.dir, NAME, ""));
        if (i > 0)
            CHECK(place_put(place.dir, parts[i], ""));
        CHECK_INT(linkat(place.dir, parts[i], place.dir, "second", 0), 0);
        CHECK_INT(db_open(place.dir, NAME, DB_WRITE, &db, &err), -1);
        CHECK_INT(err.code, MAS_FAILED);
        CHECK(strstr(err.text, parts[i]) != NULL && strstr(err.text, "hard links") != NULL);
        (void)unlinkat(place.dir, "second", 0);
        err = (struct err)ERR_INIT;
        WELL(db_open(place.dir, NAME, DB_WRITE, &db, &err));
        db_close(db);
    }
}

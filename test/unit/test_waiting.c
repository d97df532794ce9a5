#include "unit.h"

#include "root.h"

#include "os/file.h"
#include "store/came_from.h"
#include "store/limits/waiting.h"

static bool entry_is(const struct waiting_list *list, size_t i, const char *session,
                     const char *agent, int64_t since)
{
    return i < list->count && strcmp(list->entries[i].session, session) == 0 &&
           strcmp(list->entries[i].agent, agent) == 0 && list->entries[i].since_ms == since;
}

static bool set(const struct root *root, const char *session, const char *agent, int64_t since)
{
    struct err err = ERR_INIT;
    return WELL(waiting_set(root, session, agent, since, LOCK_TRY, &err));
}

TEST(who_has_waited_longest_comes_first)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_root_ struct root root = ROOT_INIT;
    _cleanup_waiting_ struct waiting_list list = {.count = 0};

    REQUIRE(root_make(&place, &root));
    REQUIRE(set(&root, ID(1), "11", 30) && set(&root, ID(2), "11", 10) &&
            set(&root, ID(1), "12", 20));
    waiting_read(&root, &list);
    CHECK_INT(list.count, 3);
    CHECK(entry_is(&list, 0, ID(2), "11", 10));
    CHECK(entry_is(&list, 1, ID(1), "12", 20));
    CHECK(entry_is(&list, 2, ID(1), "11", 30));
    CHECK(!list.complete); /* nobody has asked all hosts yet */
}

TEST(an_entry_is_changed_and_removed)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_root_ struct root root = ROOT_INIT;
    _cleanup_waiting_ struct waiting_list list = {.count = 0};

    REQUIRE(root_make(&place, &root));
    REQUIRE(set(&root, ID(1), "11", 30) && set(&root, ID(1), "12", 20) &&
            set(&root, ID(1), "11", 5));
    REQUIRE(set(&root, ID(1), "12", 0) && set(&root, ID(3), "12", 0));
    waiting_read(&root, &list);
    CHECK_INT(list.count, 1);
    CHECK(entry_is(&list, 0, ID(1), "11", 5));
}

TEST(an_update_removes_only_what_has_not_changed)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_root_ struct root root = ROOT_INIT;
    _cleanup_waiting_ struct waiting_list gone = {.count = 0}, found = {.count = 0};
    _cleanup_waiting_ struct waiting_list list = {.count = 0};
    struct err err = ERR_INIT;

    REQUIRE(root_make(&place, &root));
    REQUIRE(set(&root, ID(1), "11", 30) && set(&root, ID(1), "12", 20));
    waiting_add(&gone, ID(1), "11", 29); /* it has begun to wait again since */
    waiting_add(&gone, ID(1), "12", 20);
    waiting_add(&found, ID(1), "11", 7); /* and its own entry is newer */
    waiting_add(&found, ID(2), "00", 8);
    REQUIRE(WELL(waiting_update(&root, &gone, &found, true, &err)));
    waiting_read(&root, &list);
    CHECK_INT(list.count, 2);
    CHECK(entry_is(&list, 0, ID(2), "00", 8));
    CHECK(entry_is(&list, 1, ID(1), "11", 30));
    CHECK(list.complete);
    REQUIRE(set(&root, ID(1), "11", 0));
    waiting_free(&list);
    waiting_read(&root, &list);
    CHECK(list.complete);
}

TEST(a_damaged_register_is_empty_and_incomplete)
{
    static const char *const texts[] = {
        "",
        "\n",
        "MASWAITING1 all",
        "MASWAITING1 every\n",
        "MASWAITING2 all\n",
        "MASWAITING1 all\nx\n",
        "MASWAITING1 all\n" ID(1) " 11 0\n",
        "MASWAITING1 all\n" ID(1) " 11 -5\n",
        "MASWAITING1 all\n" ID(1) " 11 5 6\n",
        "MASWAITING1 all\n" ID(1) " 11 05\n",
        "MASWAITING1 all\n" ID(1) " 11 9999999999999999\n",
        "MASWAITING1 all\n" ID(1) " ../11 5\n",
        "MASWAITING1 all\n" ID(1) " 11\n",
        "MASWAITING1 all\nG" ID(1) " 11 5\n",
        "MASWAITING1 all\n" ID(1) " 11 5\n" ID(1) " 12 5",
    };
    _cleanup_place_ struct place place = place_make();
    _cleanup_root_ struct root root = ROOT_INIT;

    REQUIRE(root_make(&place, &root));
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct waiting_list list;
        REQUIRE(place_put(root.sessions, WAITING_FILE, texts[i]));
        waiting_read(&root, &list);
        CHECK_INT(list.count, 0);
        CHECK(!list.complete);
        waiting_free(&list);
        REQUIRE(set(&root, ID(1), "11", 5)); /* it is written anew */
        waiting_read(&root, &list);
        CHECK_INT(list.count, 1);
        waiting_free(&list);
    }
}

TEST(the_register_is_bounded)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_root_ struct root root = ROOT_INIT;
    _cleanup_waiting_ struct waiting_list many = {.count = 0}, none = {.count = 0};
    _cleanup_waiting_ struct waiting_list list = {.count = 0};
    struct err err = ERR_INIT;
    char agent[16];

    REQUIRE(root_make(&place, &root));
    for (int i = 0; i < WAITING_MAX; i++) {
        (void)snprintf(agent, sizeof agent, "a%d", i);
        waiting_add(&many, ID(1), agent, i + 1);
    }
    REQUIRE(WELL(waiting_update(&root, &none, &many, true, &err)));
    waiting_read(&root, &list);
    CHECK(list.count == WAITING_MAX && list.complete); /* just as many as there is room for */
    waiting_free(&list);
    waiting_add(&many, ID(1), "more", WAITING_MAX + 1);
    REQUIRE(WELL(waiting_update(&root, &none, &many, true, &err)));
    waiting_read(&root, &list);
    CHECK_INT(list.count, WAITING_MAX);
    CHECK(!list.complete);
    CHECK(entry_is(&list, 0, ID(1), "a0", 1));
    (void)snprintf(agent, sizeof agent, "a%d", WAITING_MAX - 1);
    CHECK(entry_is(&list, WAITING_MAX - 1, ID(1), agent, WAITING_MAX));
}

TEST(the_rest_of_a_killed_writer_is_in_nobodys_way)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_root_ struct root root = ROOT_INIT;
    _cleanup_waiting_ struct waiting_list list = {.count = 0};

    REQUIRE(root_make(&place, &root));
    REQUIRE(place_put(root.sessions, WAITING_FILE ".new", "MASWAIT"));
    REQUIRE(set(&root, ID(1), "11", 5));
    waiting_read(&root, &list);
    CHECK_INT(list.count, 1);
}

TEST(a_writer_does_not_wait_for_another)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_root_ struct root root = ROOT_INIT;
    _cleanup_close_ int lock = -1;
    struct err err = ERR_INIT;

    REQUIRE(root_make(&place, &root));
    REQUIRE(WELL(file_lock(root.sessions, WAITING_LOCK, LOCK_TRY, "test", &lock, &err)));
    CHECK_INT(waiting_set(&root, ID(1), "11", 5, LOCK_TRY, &err), -1);
    CHECK_INT(err.code, MAS_CONFLICT);
}

static struct came_from at(const char *terminal, const char *pane)
{
    struct came_from place = {.session = "$1", .window = "@1", .socket = "/tmp/a b"};

    (void)snprintf(place.terminal, sizeof place.terminal, "%s", terminal);
    (void)snprintf(place.pane, sizeof place.pane, "%s", pane);
    return place;
}

TEST(each_terminal_has_its_own_way_back)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_root_ struct root root = ROOT_INIT;
    struct came_from one = at("/dev/pts/1", "%1"), two = at("/dev/pts/2", "%2");
    struct came_from three = at("/dev/pts/1", "%3"), got;
    struct err err = ERR_INIT;

    REQUIRE(root_make(&place, &root));
    REQUIRE(WELL(came_from_push(&root, &one, &err)) && WELL(came_from_push(&root, &two, &err)) &&
            WELL(came_from_push(&root, &three, &err)) && WELL(came_from_push(&root, &three, &err)));
    CHECK_INT(came_from_pop(&root, "/dev/pts/1", &got, &err), 1);
    CHECK_STR(got.pane, "%3");
    CHECK_STR(got.socket, "/tmp/a b");
    CHECK_INT(came_from_pop(&root, "/dev/pts/1", &got, &err), 1);
    CHECK_STR(got.pane, "%1");
    CHECK_INT(came_from_pop(&root, "/dev/pts/1", &got, &err), 0);
    CHECK_INT(came_from_pop(&root, "/dev/pts/2", &got, &err), 1);
}

TEST(the_way_back_is_bounded_and_its_damage_is_skipped)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_root_ struct root root = ROOT_INIT;
    struct came_from got;
    struct err err = ERR_INIT;
    char pane[16];
    int count = 0;

    REQUIRE(root_make(&place, &root));
    REQUIRE(place_put(root.sessions, CAME_FROM_FILE,
                      "\n/dev/pts/1\n/dev/pts/1 $1 @1 %1 relative\n/dev/pts/1 $1 @1 %1 /s\n"
                      "/dev/pts/1 $1 @1 %11111111111111111111111111111111 /s\nx"));
    CHECK_INT(came_from_pop(&root, "/dev/pts/1", &got, &err), 1);
    CHECK_STR(got.pane, "%1");
    CHECK_INT(came_from_pop(&root, "/dev/pts/1", &got, &err), 0);
    for (int i = 0; i < CAME_FROM_MAX + 20; i++) {
        (void)snprintf(pane, sizeof pane, "%%%d", i);
        struct came_from one = at("/dev/pts/1", pane);
        REQUIRE(WELL(came_from_push(&root, &one, &err)));
    }
    while (came_from_pop(&root, "/dev/pts/1", &got, &err) == 1)
        count++;
    CHECK_INT(count, CAME_FROM_MAX);
}

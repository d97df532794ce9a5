/* Who is first in the queue for a turn, and who has one. */
#include "place.h"

#include "store/limits/turn_slots.h"

enum { NOW = 2 * TURN_AGED_MS };

struct ask {
    bool person;
    int64_t ms; /* before NOW */
};

TEST(tickets_go_by_class_time_and_age)
{
    static const struct {
        struct ask one, other;
        bool first; /* `one` goes before `other` */
    } cases[] = {
        {{true, 1}, {false, TURN_AGED_MS}, true}, /* persons first */
        {{false, TURN_AGED_MS}, {true, 1}, false},
        {{false, TURN_AGED_MS + 1}, {true, 1}, true}, /* one that has waited for so long, too */
        {{true, 1}, {false, TURN_AGED_MS + 1}, false},
        {{true, TURN_AGED_MS + 2}, {false, TURN_AGED_MS + 1}, true},
        {{false, 2}, {false, 1}, true},
        {{true, 1}, {true, 2}, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct ask *one = &cases[i].one, *other = &cases[i].other;
        _cleanup_place_ struct place place = place_make();
        char *names[2] = {NULL, NULL};
        int fds[2] = {turn_ticket_take(place.dir, one->person, NOW - one->ms, "1", &names[0]),
                      turn_ticket_take(place.dir, other->person, NOW - other->ms, "2", &names[1])};
        REQUIRE(fds[0] != -1 && fds[1] != -1);
        CHECK_INT(turn_ticket_is_first(place.dir, names[0], NOW), cases[i].first);
        CHECK_INT(turn_ticket_is_first(place.dir, names[1], NOW), !cases[i].first);
        CHECK(!turn_ticket_is_first(place.dir, NULL, NOW));
        _cleanup_free_ char *left = mem_dup(names[0]);
        turn_ticket_drop(place.dir, &fds[0], &names[0]);
        CHECK(names[0] == NULL && fds[0] == -1);
        CHECK_INT(faccessat(place.dir, left, F_OK, 0), -1);
        CHECK(turn_ticket_is_first(place.dir, names[1], NOW));
        turn_ticket_drop(place.dir, &fds[1], &names[1]);
        CHECK(turn_ticket_is_first(place.dir, NULL, NOW));
    }
}

/* Only its lock makes a ticket: who was killed keeps nobody waiting. */
TEST(what_is_no_ticket_keeps_nobody_waiting)
{
    static const char *const left[] = {"wait-0-000000000000001-1-9", "wait-1-000000000000001-1-9",
                                       "new-1-9", "wait-x", "slot-1"};
    _cleanup_place_ struct place place = place_make();
    char *name = NULL;
    struct stat st;

    for (size_t i = 0; i < ARRAY_LEN(left); i++)
        REQUIRE(place_put(place.dir, left[i], ""));
    int fd = turn_ticket_take(place.dir, false, NOW, "1", &name);
    REQUIRE(fd != -1);
    CHECK(turn_ticket_is_first(place.dir, name, NOW));
    for (size_t i = 0; i < ARRAY_LEN(left); i++)
        CHECK_INT(fstatat(place.dir, left[i], &st, AT_SYMLINK_NOFOLLOW), i < 2 ? -1 : 0);
    CHECK_INT(fstatat(place.dir, name, &st, AT_SYMLINK_NOFOLLOW), 0);
    turn_ticket_drop(place.dir, &fd, &name);
}

TEST(there_are_as_many_slots_as_the_count_says)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_close_ int one = turn_slot_take(place.dir, 2);
    _cleanup_close_ int two = turn_slot_take(place.dir, 2);

    CHECK(one != -1 && two != -1);
    CHECK(!turn_slot_is_free(place.dir, 2));
    CHECK_INT(turn_slot_take(place.dir, 2), -1);
    CHECK(turn_slot_is_free(place.dir, 3));
    fd_closep(&one);
    CHECK(turn_slot_is_free(place.dir, 2));
    CHECK(turn_slot_is_free(place.dir, 1));
    one = turn_slot_take(place.dir, 1);
    CHECK(one != -1);
    CHECK(!turn_slot_is_free(place.dir, 2));
}

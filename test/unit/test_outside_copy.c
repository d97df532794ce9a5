#include "place.h"

#include "session/outside/outside_copy.h"

/* Copies a session with the id "a" whose text is `count` times that, and `plain` other bytes. */
static int copy_of(int home, size_t count, size_t plain, struct outside_copied *ret,
                   struct err *err)
{
    char *kept[] = {(char[]){"kept/{id}.jsonl"}, NULL};
    const struct preset_told told = {.kept = kept};
    const struct outside_home to = {.own = home};
    const struct path_found found = {.id = "a", .whole = true};
    _cleanup_free_ char *text = mem_alloc(count + plain);

    memset(text, 'a', count);
    memset(text + count, '\n', plain);
    return outside_copy(&to, &told, &found, "a", text, count + plain, ret, err);
}

TEST(an_id_that_is_everywhere_lets_no_copy_grow_past_its_limit)
{
    enum { GROWN = ID_TEXT - 1, MOST = OUTSIDE_COPIED_MAX / GROWN };
    static const struct {
        size_t count, plain;
        bool fits;
    } rows[] = {
        {1, 1, true},
        {MOST, OUTSIDE_COPIED_MAX % GROWN, true},
        {MOST, OUTSIDE_COPIED_MAX % GROWN + 1, false},
        {MOST + 1, 0, false},
        {OUTSIDE_COPIED_MAX, 0, false},
    };
    _cleanup_place_ struct place place = place_make();

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_copied_ struct outside_copied copied = OUTSIDE_COPIED_INIT;
        struct err err = ERR_INIT;
        struct stat st;
        int rc = copy_of(place.dir, rows[i].count, rows[i].plain, &copied, &err);
        CHECK_INT(rc, rows[i].fits ? 0 : -1);
        if (rows[i].fits) {
            REQUIRE(fstatat(copied.place, copied.name, &st, 0) == 0);
            CHECK_INT(st.st_size, (int64_t)(rows[i].count * GROWN + rows[i].plain));
            outside_uncopy(&copied);
        } else {
            CHECK(strstr(err.text, "its copy would have more than 67108864 bytes") != NULL);
            CHECK_INT(faccessat(copied.place, copied.name, F_OK, 0), -1);
        }
    }
}

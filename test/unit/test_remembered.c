/* What mas remembers of this user: roots whose programs it believes, and what other machines had.
 */
#include "place.h"

#include "gap.h"

#include "base/time.h"
#include "fleet/last_known.h"
#include "store/known_roots.h"
#include "store/root.h"

enum { SOMEBODY = 4711 };

/* A place that is the user's directory for states, with `mas` in it. */
static int state_of(const struct place *place)
{
    CHECK_INT(setenv("XDG_STATE_HOME", place->path, 1), 0);
    CHECK_INT(setenv("HOME", place->path, 1), 0);
    return path_make_dir(place->dir, "mas", 0700);
}

/* Makes a root, and returns its path, which the caller frees. */
static char *root_in(const struct place *place, const char *name)
{
    _cleanup_close_ int dir = path_make_dir(place->dir, name, 0700);
    CHECK(dir != -1 && place_put(dir, ROOT_SETTINGS, ""));
    return mem_printf("%s/%s", place->path, name);
}

/* The names of the roots in the list, in its order; the caller frees. */
static char *listed(const char *except)
{
    _cleanup_strv_ char **list = known_roots_list(except);
    _cleanup_str_ struct str text = STR_INIT;

    for (char **one = list; one != NULL && *one != NULL; one++)
        str_addf(&text, "%s%s", text.len > 0 ? " " : "", strrchr(*one, '/') + 1);
    return mem_dup(str_text(&text));
}

static void check_listed(const char *except, const char *want)
{
    _cleanup_free_ char *got = listed(except);
    CHECK_STR(got, want);
}

TEST(a_root_is_remembered_once_and_those_that_are_gone_are_not)
{
    _cleanup_place_ struct place place = place_make();
    static const char *const names[] = {"a", "b", "c"};
    char *roots[ARRAY_LEN(names)];
    struct err err = ERR_INIT;

    CHECK_INT(close(state_of(&place)), 0);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        roots[i] = root_in(&place, names[i]);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        WELL(known_roots_add(roots[i], &err));
    check_listed(NULL, "a b c");
    check_listed(roots[1], "a c");
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        CHECK(known_roots_has(roots[i]));
    CHECK(!known_roots_has(place.path));
    WELL(known_roots_add(roots[0], &err));
    check_listed(NULL, "b c a");
    CHECK_INT(unlinkat(place.dir, "c/" ROOT_SETTINGS, 0), 0);
    check_listed(NULL, "b a");
    WELL(known_roots_add(roots[1], &err));
    CHECK(!known_roots_has(roots[2])); /* also if there is one again */
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        free(roots[i]);
}

/* It counts also where nobody has accepted it, and once. */
TEST(the_default_root_is_known_without_a_line)
{
    _cleanup_place_ struct place place = place_make();
    struct err err = ERR_INIT;

    CHECK_INT(close(state_of(&place)), 0);
    _cleanup_free_ char *other = root_in(&place, "other");
    WELL(known_roots_add(other, &err));
    CHECK_INT(setenv("XDG_DATA_HOME", place.path, 1), 0);
    _cleanup_free_ char *own = root_default_path();
    CHECK(known_roots_has(own));
    check_listed(NULL, "other"); /* it is not there */
    CHECK(place_put(place.dir, "mas/" ROOT_SETTINGS, ""));
    check_listed(NULL, "other mas");
    check_listed(own, "other");
    WELL(known_roots_add(own, &err));
    check_listed(NULL, "other mas");
    CHECK_INT(unsetenv("XDG_DATA_HOME"), 0);
}

/* One line that mas would not write, wherever it stands, makes neither itself nor others count. */
TEST(lines_that_mas_does_not_write_accept_nothing)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_close_ int state = state_of(&place);
    _cleanup_free_ char *good = root_in(&place, "good");
    _cleanup_free_ char *bad = root_in(&place, "bad");
    const unsigned me = (unsigned)geteuid();
    char *lines[] = {mem_printf("%u %s", me + 1, bad),
                     mem_printf("%u%s", me, bad),
                     mem_printf("-%u %s", me, bad),
                     mem_printf(" %u %s", me, bad),
                     mem_printf("%u  %s", me, bad),
                     mem_printf("%u %s\t", me, bad),
                     mem_printf("%s", bad),
                     mem_printf("%u bad", me)};

    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        for (int before = 0; before < 2; before++) {
            _cleanup_free_ char *text = before ? mem_printf("%s\n%u %s\n", lines[i], me, good)
                                               : mem_printf("%u %s\n%s\n", me, good, lines[i]);
            CHECK(place_put(state, "roots", text));
            CHECK(known_roots_has(good) && !known_roots_has(bad));
        }
        free(lines[i]);
    }
}

/* Lists print the names of roots. */
TEST(a_root_with_control_characters_is_none)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_free_ char *root = root_in(&place, "a\x1b[2Jb");
    struct err err = ERR_INIT;

    CHECK_INT(close(state_of(&place)), 0);
    WELL(known_roots_add(root, &err));
    CHECK(!known_roots_has(root));
    check_listed(NULL, "");
}

/* Whoever can write the list can have programs run. */
TEST(a_list_that_others_can_write_accepts_nothing)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_close_ int state = state_of(&place);
    _cleanup_free_ char *root = root_in(&place, "a");
    static const mode_t modes[] = {0720, 0702};
    struct err err = ERR_INIT;

    WELL(known_roots_add(root, &err));
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        CHECK_INT(fchmod(state, modes[i]), 0);
        CHECK(!known_roots_has(root));
        CHECK_INT(known_roots_add(root, &err), -1);
    }
    CHECK_INT(fchmod(state, 0755), 0);
    CHECK(known_roots_has(root));
    if (geteuid() != 0)
        return; /* only root can give something away */
    CHECK_INT(fchown(state, SOMEBODY, (gid_t)-1), 0);
    CHECK(!known_roots_has(root));
    CHECK_INT(known_roots_add(root, &err), -1);
}

TEST(the_oldest_of_too_many_roots_is_forgotten)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_close_ int state = state_of(&place);
    _cleanup_str_ struct str text = STR_INIT;
    struct err err = ERR_INIT;
    char name[16];

    for (int i = 0; i < KNOWN_ROOTS_MAX - 1; i++) {
        (void)snprintf(name, sizeof name, "r%d", i);
        _cleanup_free_ char *root = root_in(&place, name);
        str_addf(&text, "%u %s\n", (unsigned)geteuid(), root);
    }
    CHECK(place_put(state, "roots", text.data));
    _cleanup_free_ char *first = mem_printf("%s/r0", place.path);
    _cleanup_free_ char *second = mem_printf("%s/r1", place.path);
    _cleanup_free_ char *last = root_in(&place, "last");
    _cleanup_free_ char *more = root_in(&place, "more");
    WELL(known_roots_add(last, &err));
    CHECK(known_roots_has(first) && known_roots_has(last));
    WELL(known_roots_add(more, &err));
    CHECK(!known_roots_has(first) && known_roots_has(second));
    CHECK(known_roots_has(last) && known_roots_has(more));
}

static char *other_root; /* which another process adds in the gap */

static void add_other(void *arg)
{
    struct err err = ERR_INIT;

    (void)arg;
    WELL(known_roots_add(other_root, &err));
}

TEST(two_who_add_a_root_at_once_both_have_it)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_close_ int state = state_of(&place);
    _cleanup_free_ char *root = root_in(&place, "a");
    struct err err = ERR_INIT;

    other_root = root_in(&place, "b");
    gap_before("flock", add_other, NULL);
    WELL(known_roots_add(root, &err));
    check_listed(NULL, "b a");
    /* and after the lock nobody else gets in before the new list is there */
    CHECK_INT(unlinkat(state, "roots", 0), 0);
    trace_begin();
    WELL(known_roots_add(root, &err));
    CHECK_STR(trace_end(), "fsync roots.new, rename roots, fsync DIR");
    free(other_root);
}

/* ---- what other machines had */

static struct remote remote_of(const char *name, const char *place)
{
    return (struct remote){.name = (char *)(uintptr_t)name, .place = (char *)(uintptr_t)place};
}

TEST(what_hosts_had_is_kept_apart_by_name_and_place)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_close_ int state = state_of(&place);
    const struct remote of[] = {remote_of("a", "there"), remote_of("ab", "there"),
                                remote_of("a", "there2"), remote_of("b", "there")};
    const struct remote *const all[] = {&of[0], &of[1], &of[2], &of[3]};
    struct last_known known[ARRAY_LEN(of)], got[ARRAY_LEN(of)];

    for (size_t i = 0; i < ARRAY_LEN(of); i++)
        known[i] = (struct last_known){1766044800 + (time_t)i, (int64_t)i + 10, (int64_t)i};
    last_known_write(all, ARRAY_LEN(of), known);
    last_known_read(all, ARRAY_LEN(of), got);
    for (size_t i = 0; i < ARRAY_LEN(of); i++)
        CHECK(got[i].when == known[i].when && got[i].sessions == known[i].sessions &&
              got[i].active == known[i].active);
    /* one is news, whichever it is; the others stay, and one without a time says nothing */
    for (size_t i = 0; i < ARRAY_LEN(of); i++) {
        struct last_known news[] = {{1766050000, 99, 9}, {0, 7, 7}};
        const struct remote *const two[] = {&of[i], &of[(i + 1) % ARRAY_LEN(of)]};
        last_known_write(all, ARRAY_LEN(of), known);
        last_known_write(two, 2, news);
        last_known_read(all, ARRAY_LEN(of), got);
        for (size_t j = 0; j < ARRAY_LEN(of); j++)
            CHECK_INT(got[j].sessions, i == j ? 99 : known[j].sessions);
    }
    CHECK_INT(faccessat(state, "hosts", R_OK, 0), 0);
}

TEST(a_damaged_line_of_hosts_hides_no_other)
{
    static const char *const bad[] = {"b@there", "b@there 2025-12-18T08:00:00Z 5",
                                      "b@there yesterday 5 5", "b@there 2025-12-18T08:00:00Z 5 5 5",
                                      "\x01\x02"};
    _cleanup_place_ struct place place = place_make();
    _cleanup_close_ int state = state_of(&place);
    const struct remote of[] = {remote_of("a", "there"), remote_of("b", "there"),
                                remote_of("c", "there")};
    const struct remote *const all[] = {&of[0], &of[1], &of[2]};
    struct last_known got[ARRAY_LEN(of)];

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        for (size_t at = 0; at < 3; at++) {
            static const char *const good[] = {"a@there 2025-12-18T08:00:00Z 1 1\n",
                                               "c@there 2025-12-18T08:00:00Z 3 3\n"};
            _cleanup_free_ char *text =
                mem_printf("%s%s%s%s%s", at == 0 ? bad[i] : "", at == 0 ? "\n" : "", good[0],
                           at == 1 ? bad[i] : "", at == 1 ? "\n" : "");
            _cleanup_free_ char *whole = mem_printf("%s%s%s", text, good[1], at == 2 ? bad[i] : "");
            CHECK(place_put(state, "hosts", whole));
            last_known_read(all, ARRAY_LEN(of), got);
            CHECK(got[0].sessions == 1 && got[1].when == 0 && got[2].sessions == 3);
        }
}

static void write_other(void *arg)
{
    const struct remote b = remote_of("b", "there");
    const struct remote *const one[] = {&b};
    const struct last_known known = {1766044800, 2, 2};

    (void)arg;
    last_known_write(one, 1, &known);
}

TEST(two_who_note_hosts_at_once_lose_nothing)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_close_ int state = state_of(&place);
    const struct remote of[] = {remote_of("a", "there"), remote_of("b", "there")};
    const struct remote *const all[] = {&of[0], &of[1]};
    const struct last_known known = {1766044800, 1, 1};
    struct last_known got[ARRAY_LEN(of)];
    _cleanup_close_ int lock = -1;
    struct err err = ERR_INIT;

    gap_before("flock", write_other, NULL);
    last_known_write(all, 1, &known);
    last_known_read(all, 2, got);
    CHECK(got[0].sessions == 1 && got[1].sessions == 2);
    /* who cannot have the lock leaves the file as it is */
    CHECK_INT(unlinkat(state, "hosts", 0), 0);
    WELL(file_lock(state, "hosts.lock", LOCK_TRY, "test", &lock, &err));
    last_known_write(all, 1, &known);
    CHECK_INT(faccessat(state, "hosts", F_OK, 0), -1);
}

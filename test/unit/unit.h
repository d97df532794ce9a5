/*
 * Unit tests that speak TAP. One program a file:
 *
 *     TEST(adds_a_byte)
 *     {
 *         CHECK(1 + 1 == 2);
 *         CHECK_INT(f(), 0);
 *         CHECK_STR(g(), "text");
 *     }
 *
 * The tests of a file run in their order there. A file that defines UNIT_OWN_MAIN first has a
 * main() of its own, which calls unit_run().
 *
 * A failed check prints where and what and lets the test go on. REQUIRE() leaves the test function,
 * for what makes no sense to go on after. UNIT_SKIP("why") leaves it as skipped.
 */
#pragma once

struct unit_test {
    const char *name;
    void (*run)(void);
    int line;
    struct unit_test *next;
};

static struct unit_test *unit_tests; /* by their lines */
static int unit_failures; /* of the test that runs */
static const char *unit_skipped; /* why, where it was */

/* Begins a test; the body follows. Compilers may run constructors of one file in any order. */
#define TEST(name_)                                                                                \
    static void name_(void);                                                                       \
    __attribute__((constructor)) static void unit_add_##name_(void)                                \
    {                                                                                              \
        static struct unit_test test = {.name = #name_, .run = (name_), .line = __LINE__};         \
                                                                                                   \
        unit_add(&test);                                                                           \
    }                                                                                              \
    static void name_(void)

#define CHECK(cond) unit_check((cond), #cond, __FILE__, __LINE__)
#define CHECK_STR(a, b) unit_check_str((a), (b), #a, __FILE__, __LINE__)
#define CHECK_INT(a, b) unit_check_int((intmax_t)(a), (intmax_t)(b), #a, __FILE__, __LINE__)

#define REQUIRE(cond)                                                                              \
    do {                                                                                           \
        if (!unit_check((cond), #cond, __FILE__, __LINE__))                                        \
            return;                                                                                \
    } while (0)

#define UNIT_SKIP(why)                                                                             \
    do {                                                                                           \
        unit_skipped = (why);                                                                      \
        return;                                                                                    \
    } while (0)

/* A file need not use every kind of check. */
#define UNIT_MAYBE __attribute__((unused))

static void unit_add(struct unit_test *test)
{
    struct unit_test **at = &unit_tests;

    while (*at != NULL && (*at)->line < test->line)
        at = &(*at)->next;
    test->next = *at;
    *at = test;
}

UNIT_MAYBE static bool unit_check(bool ok, const char *what, const char *file, int line)
{
    if (!ok) {
        unit_failures++;
        printf("# %s:%d: %s\n", file, line, what);
    }
    return ok;
}

/* Prints text as one comment line: what is not printable ASCII becomes \xNN. */
UNIT_MAYBE static void unit_print_str(const char *label, const char *text)
{
    printf("#   %s: ", label);
    if (text == NULL) {
        printf("NULL\n");
        return;
    }
    putchar('"');
    for (; *text != '\0'; text++) {
        if (*text >= ' ' && *text <= '~')
            putchar(*text);
        else
            printf("\\x%02x", (unsigned)(unsigned char)*text);
    }
    printf("\"\n");
}

/* NULL equals NULL only. */
UNIT_MAYBE static bool unit_check_str(const char *got, const char *want, const char *what,
                                      const char *file, int line)
{
    bool ok = got == NULL || want == NULL ? got == want : strcmp(got, want) == 0;

    if (!unit_check(ok, what, file, line)) {
        unit_print_str("got ", got);
        unit_print_str("want", want);
    }
    return ok;
}

UNIT_MAYBE static bool unit_check_int(intmax_t got, intmax_t want, const char *what,
                                      const char *file, int line)
{
    bool ok = unit_check(got == want, what, file, line);

    if (!ok)
        printf("#   got  %" PRIdMAX "\n#   want %" PRIdMAX "\n", got, want);
    return ok;
}

/* Runs all tests, prints the plan and a line for each. Returns main()'s exit code. */
static int unit_run(void)
{
    int count = 0;
    int number = 0;
    int failed = 0;

    for (const struct unit_test *test = unit_tests; test != NULL; test = test->next)
        count++;
    printf("1..%d\n", count);
    for (const struct unit_test *test = unit_tests; test != NULL; test = test->next) {
        unit_failures = 0;
        unit_skipped = NULL;
        (void)fflush(stdout); /* so that a test that forks does not print it twice */
        test->run();
        failed += unit_failures > 0;
        printf("%s %d - %s", unit_failures > 0 ? "not ok" : "ok", ++number, test->name);
        if (unit_skipped != NULL)
            printf(" # SKIP %s", unit_skipped);
        putchar('\n');
    }
    return failed > 0 || fflush(stdout) != 0 ? 1 : 0;
}

#ifndef UNIT_OWN_MAIN
int main(void)
{
    return unit_run();
}
#endif

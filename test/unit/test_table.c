/* Tables as they are printed: in full, or fitted to a terminal. */
#include "unit.h"

#include "cli/table.h"
#include "os/pty.h"

#include <sys/ioctl.h>
#include <sys/mman.h>

/* The output of table_print() on a terminal of so many columns; 0: into a file. */
static char *printed(const struct table *table, unsigned short columns)
{
    const struct winsize size = {.ws_row = 20, .ws_col = columns};
    _cleanup_close_ int shown = dup(STDOUT_FILENO);
    _cleanup_close_ int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    _cleanup_close_ int file = memfd_create("table", MFD_CLOEXEC);
    char text[4096] = "";
    struct termios was;
    int slave = -1;

    CHECK(master != -1 && grantpt(master) == 0 && unlockpt(master) == 0);
    slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    CHECK(slave != -1 && ioctl(master, TIOCSWINSZ, &size) == 0 && pty_make_raw(slave, &was) == 0);
    (void)fflush(stdout);
    (void)dup2(columns > 0 ? slave : file, STDOUT_FILENO);
    table_print(table);
    (void)fflush(stdout);
    (void)dup2(shown, STDOUT_FILENO);
    ssize_t n = columns > 0 ? read(master, text, sizeof text - 1) : pread(file, text, 4095, 0);
    CHECK(n >= 0);
    fd_closep(&slave);
    return mem_dup(text);
}

static void check(struct table *table, const char *const *cells, unsigned short columns,
                  const char *want)
{
    for (size_t i = 0; cells[i] != NULL; i++)
        table_add(table, cells[i], NULL);
    _cleanup_free_ char *got = printed(table, columns);
    if (!CHECK_STR(got, want))
        printf("# %u columns\n%s", columns, got);
    table_free(table);
}

TEST(columns_are_as_wide_as_their_widest_cell)
{
    static const char *const cells[] = {"A",          "LONGER",   "C", "1", "2",
                                        "3",          "wide one", "",  "x", "\xc3\xa9\xe6\xbc\xa2",
                                        "b\n\x1b[2J", "",         NULL};
    struct table table = {.columns = 3};

    check(&table, cells, 0,
          "A         LONGER        C\n"
          "1         2             3\n"
          "wide one                x\n"
          "\xc3\xa9\xe6\xbc\xa2       b\\x0a\\x1b[2J\n");
    CHECK(table.count == 0 && table.columns == 3);
    check(&table, (const char *const[]){NULL}, 0, "");
}

/* First the spare columns go, in their order, then the widest is cut, again and again. */
TEST(a_terminal_shows_what_has_room)
{
    static const char *const cells[] = {"NAME",     "MODE", "AGE",     "STATUS", "first-session",
                                        "isolated", "12d",  "stopped", NULL};
    static const char *const spare[] = {"MODE", "AGE", NULL};
    static const struct {
        unsigned short columns;
        const char *want;
    } cases[] = {
        {0, "NAME           MODE      AGE  STATUS\nfirst-session  isolated  12d  stopped\n"},
        {37, "NAME           MODE      AGE  STATUS\nfirst-session  isolated  12d  stopped\n"},
        {36, "NAME           AGE  STATUS\nfirst-session  12d  stopped\n"},
        {27, "NAME           AGE  STATUS\nfirst-session  12d  stopped\n"},
        {26, "NAME           STATUS\nfirst-session  stopped\n"},
        {22, "NAME           STATUS\nfirst-session  stopped\n"},
        {21, "NAME          STATUS\nfirst-ses...  stopped\n"},
        {16, "NAME     STATUS\nfirs...  stopped\n"},
        {15, "NAME     STATUS\nfirs...  sto...\n"},
        {14, "NAME    STATUS\nfir...  sto...\n"},
        {5, "NAME    STATUS\nfir...  sto...\n"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct table table = {.columns = 4, .spare = spare};
        check(&table, cells, cases[i].columns, cases[i].want);
    }
    struct table whole = {.columns = 4};
    check(&whole, cells, 20, cases[0].want); /* is never fitted */
}

TEST(a_last_column_is_cut_or_wrapped)
{
    static const char *const cells[] = {
        "NAME", "AGE", "NOTE", "one", "5s", "a text of fifty columns, which is more than forty",
        NULL};
    static const char *const spare[] = {"AGE", NULL};
    static const struct {
        unsigned short columns;
        bool whole;
        const char *want;
    } cases[] = {
        {51, false, "NAME  AGE  NOTE\none   5s   a text of fifty columns, which is mor...\n"},
        {50, false, "NAME  NOTE\none   a text of fifty columns, which is more th...\n"},
        {46, false, "NAME  NOTE\none   a text of fifty columns, which is mor...\n"},
        {51, true,
         "NAME  AGE  NOTE\none   5s   a text of fifty columns, which is more than forty\n"},
        {50, true, "NAME  NOTE\none   a text of fifty columns, which is more than forty\n"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct table table = {.columns = 3, .spare = spare, .whole_last = cases[i].whole};
        check(&table, cells, cases[i].columns, cases[i].want);
    }
}

TEST(a_spare_last_column_goes_too)
{
    static const char *const cells[] = {"A", "B", "LAST", "one", "two", "a text of some length",
                                        NULL};
    static const char *const spare[] = {"LAST", NULL};
    struct table table = {.columns = 3, .spare = spare};

    check(&table, cells, 20, "A    B\none  two\n");
    /* the one before it is gone already */
    static const char *const both[] = {"B", "LAST", NULL};
    struct table one = {.columns = 3, .spare = both};
    check(&one, cells, 5, "A\none\n");
}

TEST(colours_end_with_their_cell)
{
    struct table table = {.columns = 2};

    table_add(&table, "A", "\033[1m");
    table_add(&table, "B", NULL);
    table_add(&table, "longer", NULL);
    table_add(&table, "", "\033[2m");
    _cleanup_free_ char *got = printed(&table, 0);
    CHECK_STR(got, "\033[1mA\033[0m       B\nlonger  \033[2m\033[0m\n");
    table_free(&table);
}

TEST(a_screen_has_a_size)
{
    struct screen screen = screen_size();

    if (isatty(STDOUT_FILENO) == 0)
        CHECK(screen.columns == 0 && screen.rows == 0);
    else
        CHECK(screen.columns > 0 || screen.rows == 0);
}

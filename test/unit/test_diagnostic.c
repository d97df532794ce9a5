#include "unit.h"

#include "model/diagnostic.h"

static void add_many(struct diagnostics *all, enum diagnostic_kind kind, int from, int count)
{
    for (int i = from; i < from + count; i++)
        diagnostics_add(all, kind, "file", i, "text %d", i);
}

TEST(a_list_keeps_what_fits_and_counts_the_rest)
{
    _cleanup_diagnostics_ struct diagnostics all = DIAGNOSTICS_INIT;

    add_many(&all, DIAGNOSTIC_ERROR, 0, DIAGNOSTICS_MAX - 1);
    CHECK_INT(all.count, DIAGNOSTICS_MAX - 1);
    add_many(&all, DIAGNOSTIC_ERROR, DIAGNOSTICS_MAX - 1, 1);
    CHECK_INT(all.count, DIAGNOSTICS_MAX);
    add_many(&all, DIAGNOSTIC_ERROR, DIAGNOSTICS_MAX, 2);
    add_many(&all, DIAGNOSTIC_WARNING, DIAGNOSTICS_MAX, 3);
    CHECK_INT(all.count, DIAGNOSTICS_MAX);
    CHECK_INT(all.errors, DIAGNOSTICS_MAX + 2);
    CHECK_INT(all.warnings, 3);
    for (size_t i = 0; i < all.count; i++)
        CHECK_INT(all.list[i].line, i);
}

/* Wherever the warnings stand, an error that comes later is not lost for them. */
TEST(errors_take_the_place_of_warnings)
{
    static const int places[] = {0, DIAGNOSTICS_MAX / 2, DIAGNOSTICS_MAX - 1};

    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        _cleanup_diagnostics_ struct diagnostics all = DIAGNOSTICS_INIT;
        add_many(&all, DIAGNOSTIC_ERROR, 0, places[i]);
        add_many(&all, DIAGNOSTIC_WARNING, places[i], 1);
        add_many(&all, DIAGNOSTIC_ERROR, places[i] + 1, DIAGNOSTICS_MAX - places[i] - 1);
        diagnostics_add(&all, DIAGNOSTIC_WARNING, "late", 998, "no place");
        CHECK_INT(all.list[places[i]].line, places[i]);
        diagnostics_add(&all, DIAGNOSTIC_ERROR, "late", 999, "text");
        CHECK_INT(all.count, DIAGNOSTICS_MAX);
        CHECK_INT(all.list[places[i]].line, 999);
        CHECK_STR(all.list[places[i]].file, "late");
        CHECK(!all.list[places[i]].warning);
        diagnostics_add(&all, DIAGNOSTIC_ERROR, "late", 1000, "text"); /* no warning is left */
        CHECK_INT(all.list[places[i]].line, 999);
        CHECK_INT(all.errors, DIAGNOSTICS_MAX + 1);
        CHECK_INT(all.warnings, 2);
    }
}

TEST(they_stand_by_file_and_line_in_the_order_in_which_they_came)
{
    static const struct {
        const char *file;
        int line;
        const char *text;
    } lines[] = {{"b", 2, "5"}, {"a", 9, "3"}, {"b", 0, "4"}, {"a", 1, "1"},
                 {"a", 9, "3"}, {"c", 1, "7"}, {"a", 2, "2"}, {"b", 10, "6"}};
    static const char *const firsts[] = {"a:1: 1", "a:2: 2", "a:9: 3",  "a:9: 3",
                                         "b: 4",   "b:2: 5", "b:10: 6", "c:1: 7"};
    _cleanup_diagnostics_ struct diagnostics all = DIAGNOSTICS_INIT;

    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        diagnostics_add(&all, i == 1 ? DIAGNOSTIC_WARNING : DIAGNOSTIC_ERROR, lines[i].file,
                        lines[i].line, "%s", lines[i].text);
    diagnostics_sort(&all);
    REQUIRE(all.count == ARRAY_LEN(lines));
    for (size_t i = 0; i < all.count; i++) {
        struct err err = ERR_INIT;
        CHECK_INT(diagnostic_fail(&all.list[i], MAS_USAGE, &err), -1);
        CHECK_STR(err.text, firsts[i]);
        CHECK_INT(err.code, MAS_USAGE);
    }
    CHECK(all.list[2].warning && !all.list[3].warning);
}

TEST(the_first_error_is_the_error)
{
    _cleanup_diagnostics_ struct diagnostics all = DIAGNOSTICS_INIT;
    struct err err = ERR_INIT;

    CHECK_INT(diagnostics_fail(&all, MAS_DAMAGED, &err), 0);
    add_many(&all, DIAGNOSTIC_WARNING, 1, 2);
    CHECK_INT(diagnostics_fail(&all, MAS_DAMAGED, &err), 0);
    add_many(&all, DIAGNOSTIC_ERROR, 3, 2);
    CHECK_INT(diagnostics_fail(&all, MAS_DAMAGED, &err), -1);
    CHECK_STR(err.text, "file:3: text 3");
    CHECK_INT(err.code, MAS_DAMAGED);
    diagnostics_free(&all);
    CHECK(all.count == 0 && all.errors == 0 && all.warnings == 0);
}

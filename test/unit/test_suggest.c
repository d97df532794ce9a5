#include "unit.h"

#include "base/suggest.h"

TEST(the_nearest_word_is_meant)
{
    static const char long_word[] =
        "a234567890123456789012345678901234567890123456789012345678901234",
                      longer[] =
                          "a2345678901234567890123456789012345678901234567890123456789012345";
    static const struct {
        const char *typed, *words[4], *want;
    } cases[] = {
        {"statu", {"stats", "status", NULL}, "status"}, /* what it begins counts as near */
        {"stat", {"show", "status", "stats", NULL}, "status"}, /* the first of two */
        {"sta", {"status", NULL}, "status"},
        {"st", {"status", NULL}, NULL}, /* too short */
        {"hwo", {"two", "how", NULL}, "two"}, /* changed, swapped: both are one */
        {"how", {"hwo", NULL}, "hwo"},
        {"lits", {"lost", "list", NULL}, "list"},
        {"ls", {"l", "s", NULL}, NULL},
        {"new", {"nw", NULL}, "nw"}, /* deleted */
        {"new", {"neew", NULL}, "neew"}, /* inserted */
        {"new", {"nxx", NULL}, NULL}, /* two in a short word */
        {"abcde", {"abxye", NULL}, NULL},
        {"abcdef", {"abxyef", NULL}, "abxyef"}, /* two in a longer one */
        {"abcdef", {"axxyef", NULL}, NULL},
        {"abcdef", {"axcdyf", "axcdef", "abxyef", NULL}, "axcdef"}, /* the nearest, in the middle */
        {"abcdef", {"axcdyf", "abxyef", "axcdef", NULL}, "axcdef"}, /* and last */
        {"STATUS", {"status", NULL}, "status"},
        {"sTTaus", {"status", NULL}, "status"},
        {"", {"", "a", "abc", NULL}, NULL},
        {"abc", {"", NULL}, NULL},
        {"abc", {NULL}, NULL},
        {long_word, {long_word, NULL}, long_word},
        {long_word, {longer, NULL}, NULL},
        {longer, {long_word, longer, NULL}, NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (!CHECK_STR(suggest_of(cases[i].typed, cases[i].words), cases[i].want))
            unit_print_str("typed", cases[i].typed);
}

#include "root.h"

#include "gap.h"

#include "store/token.h"

#define SUM "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define MADE "2025-12-18T08:00:00Z"
#define LATER "2999-12-18T08:00:00Z"
#define HERE "11111111-1111-4111-8111-111111111111"
#define ELSEWHERE "22222222-2222-4222-8222-222222222222"

TEST(rights_are_words)
{
    enum right right = RIGHT_NONE;

    for (enum right each = RIGHT_READ; each < RIGHT_COUNT; each++) {
        CHECK(right_parse(right_name(each), &right));
        CHECK_INT(right, each);
    }
    CHECK(!right_parse("none", &right) && !right_parse("", &right) && !right_parse("Full", &right));
    CHECK_INT(right, RIGHT_FULL); /* left alone */
}

TEST(without_a_file_there_are_no_tokens)
{
    _cleanup_tokens_ struct tokens tokens = TOKENS_INIT;
    A_ROOT;

    WELL(tokens_read(&root, &tokens, &err));
    CHECK_INT(tokens.count, 0);
    CHECK(tokens_find(&tokens, SUM, 0) == NULL);
}

TEST(what_is_added_is_found_by_its_sum_alone)
{
    _cleanup_tokens_ struct tokens tokens = TOKENS_INIT;
    char text[TOKEN_TEXT] = "";
    char sum[SHA256_TEXT];
    A_ROOT;

    MUST(token_add(&root, "phone", RIGHT_ANSWER, 0, text, &err));
    CHECK_INT(strspn(text, "0123456789abcdef"), TOKEN_TEXT - 1);
    sha256_of(text, strlen(text), sum);
    MUST(tokens_read(&root, &tokens, &err));
    const struct token *found = tokens_find(&tokens, sum, time(NULL));
    REQUIRE(found != NULL);
    CHECK_STR(found->name, "phone");
    CHECK_INT(found->right, RIGHT_ANSWER);
    CHECK(tokens_find(&tokens, text, time(NULL)) == NULL); /* the token is no sum */
    sum[SHA256_HEX - 1] = sum[SHA256_HEX - 1] == '0' ? '1' : '0';
    CHECK(tokens_find(&tokens, sum, time(NULL)) == NULL);
}

TEST(a_token_ends_at_its_time)
{
    struct token one = {.hash = SUM, .right = RIGHT_FULL, .expires = 1000};
    const struct tokens tokens = {.at = &one, .count = 1};

    CHECK(tokens_find(&tokens, SUM, 999) == &one);
    CHECK(tokens_find(&tokens, SUM, 1000) == NULL);
    one.expires = 0;
    CHECK(tokens_find(&tokens, SUM, 1000) == &one);
    one.right = RIGHT_NONE;
    CHECK(tokens_find(&tokens, SUM, 1000) == NULL);
}

TEST(lines_that_are_none_give_nobody_a_right)
{
    static const char *const lines[] = {
        "x\n",
        SUM "\n",
        SUM " a full " MADE "\n",
        SUM " a full " MADE " - more\n",
        SUM "  a full " MADE " -\n",
        SUM " a full " MADE " - \n",
        " " SUM " a full " MADE " -\n",
        SUM " a full " MADE " never\n",
        SUM " a full yesterday -\n",
        SUM " a none " MADE " -\n",
        SUM " a FULL " MADE " -\n",
        SUM " a/b full " MADE " -\n",
        SUM "  full " MADE " -\n",
        SUM " a23456789012345678901234567890123 full " MADE " -\n",
        SUM "0 a full " MADE " -\n",
        "0123 a full " MADE " -\n",
        "G" SUM " a full " MADE " -\n",
        SUM "\ta\tfull\t" MADE "\t-\n",
        SUM " a full " MADE " -\r\n",
        SUM " good full " MADE " -\nx\n",
        SUM " a full " MADE " - " HERE "\n",
        SUM " a full " MADE " - " HERE " lead more\n",
        SUM " a full " MADE " - " HERE " \n",
        SUM " a full " MADE " - " HERE " lead,\n",
        SUM " a full " MADE " - " HERE " ,lead\n",
        SUM " a full " MADE " - " HERE " lead,,11\n",
        SUM " a full " MADE " - " HERE " lead/11\n",
        SUM " a full " MADE " - " HERE " a23456789012345678901234567890123\n",
        SUM " a full " MADE " - 11111111-1111-4111-8111-11111111111A -\n",
        SUM " a full " MADE " -  -\n",
        SUM " a full " MADE " - - -\n",
    };
    A_ROOT;

    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        struct tokens tokens = TOKENS_INIT;
        err = (struct err)ERR_INIT;
        place_put(root.sessions, TOKENS_FILE, lines[i]);
        if (!CHECK_INT(tokens_read(&root, &tokens, &err), -1))
            unit_print_str("line", lines[i]);
        CHECK_INT(err.code, MAS_DAMAGED);
        CHECK_INT(tokens.count, 0);
    }
}

TEST(a_guest_sees_one_session_or_some_of_its_agents)
{
    static const char text[] = SUM " owner full " MADE " -\n" SUM " ann read " MADE " - " HERE
                                   " -\n" SUM " bob read " MADE " - " HERE " 11,lead\n";
    static const struct {
        const char *session, *agent;
        bool owner, ann, bob;
    } cases[] = {
        {NULL, NULL, true, false, false},      {NULL, "", true, false, false},
        {"", "lead", true, false, false},      {ELSEWHERE, "lead", true, false, false},
        {ELSEWHERE, NULL, true, false, false}, {HERE, NULL, true, true, true},
        {HERE, "lead", true, true, true},      {HERE, "11", true, true, true},
        {HERE, "1", true, true, false},        {HERE, "lea", true, true, false},
        {HERE, "11,lead", true, true, false},  {HERE, "", true, true, false},
    };
    _cleanup_tokens_ struct tokens tokens = TOKENS_INIT;
    A_ROOT;

    place_put(root.sessions, TOKENS_FILE, text);
    MUST(tokens_read(&root, &tokens, &err));
    REQUIRE(tokens.count == 3);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const bool sees[] = {cases[i].owner, cases[i].ann, cases[i].bob};
        for (size_t j = 0; j < ARRAY_LEN(sees); j++)
            if (!CHECK_INT(guest_sees(&tokens.at[j].guest, cases[i].session, cases[i].agent),
                           sees[j]))
                unit_print_str(tokens.at[j].name, cases[i].agent);
    }
    CHECK(guest_is_in(&root, HERE));
    CHECK(!guest_is_in(&root, ELSEWHERE));
}

TEST(guests_end_by_session_or_name_and_others_stay)
{
    static const char text[] = SUM " phone full " MADE " -\n" SUM " ann read " MADE " - " HERE
                                   " -\n" SUM " bob read " MADE " - " ELSEWHERE " lead\n";
    _cleanup_tokens_ struct tokens tokens = TOKENS_INIT;
    size_t count = 0;
    A_ROOT;

    place_put(root.sessions, TOKENS_FILE, text);
    WELL(token_remove_guests(&root, NULL, "phone", &count, &err));
    CHECK_INT(count, 0);
    WELL(token_remove_guests(&root, ELSEWHERE, NULL, &count, &err));
    WELL(token_remove_guests(&root, HERE, "bob", &count, &err));
    CHECK_INT(count, 1);
    MUST(tokens_read(&root, &tokens, &err));
    CHECK_INT(tokens.count, 2);
    CHECK(guest_is_in(&root, HERE));
    place_put(root.sessions, TOKENS_FILE, "x\n");
    CHECK(!guest_is_in(&root, HERE)); /* nobody has a token */
    CHECK_INT(token_remove_guests(&root, HERE, NULL, &count, &err), -1);
    CHECK_INT(err.code, MAS_DAMAGED);
}

TEST(a_guest_of_a_session_that_is_gone_gets_no_token)
{
    struct token wanted = {.name = "ann", .right = RIGHT_READ, .guest = {.session = HERE}};
    char text[TOKEN_TEXT] = "";
    A_ROOT;

    CHECK_INT(token_give(&root, &wanted, text, &err), -1);
    CHECK_INT(err.code, MAS_NOT_FOUND);
    CHECK_INT(mkdirat(root.sessions, HERE, 0700), 0);
    WELL(token_give(&root, &wanted, text, &err));
    CHECK(guest_is_in(&root, HERE));
}

TEST(a_file_with_a_nul_byte_is_damaged)
{
    static const char text[] = SUM " a full " MADE " -\n\0" OTHER " b full " MADE " -\n";
    struct tokens tokens = TOKENS_INIT;
    A_ROOT;

    place_write(root.sessions, TOKENS_FILE, text, sizeof text - 1);
    CHECK_INT(tokens_read(&root, &tokens, &err), -1);
    CHECK_INT(err.code, MAS_DAMAGED);
    CHECK_INT(token_remove(&root, "a", &err), -1); /* which would lose b */
}

TEST(a_file_that_others_can_read_or_that_is_none_is_damaged)
{
    struct tokens tokens = TOKENS_INIT;
    A_ROOT;

    place_put(root.sessions, TOKENS_FILE, SUM " a full " MADE " -\n");
    CHECK_INT(fchmodat(root.sessions, TOKENS_FILE, 0640, 0), 0);
    CHECK_INT(tokens_read(&root, &tokens, &err), -1);
    CHECK_INT(err.code, MAS_DAMAGED);
    CHECK_INT(fchmodat(root.sessions, TOKENS_FILE, 0604, 0), 0);
    CHECK_INT(tokens_read(&root, &tokens, &err), -1);
    CHECK_INT(fchmodat(root.sessions, TOKENS_FILE, 0600, 0), 0);
    WELL(tokens_read(&root, &tokens, &err));
    tokens_free(&tokens);
    if (geteuid() == 0) { /* only root can give something away */
        CHECK_INT(fchownat(root.sessions, TOKENS_FILE, 4711, (gid_t)-1, 0), 0);
        CHECK_INT(tokens_read(&root, &tokens, &err), -1);
        CHECK_INT(err.code, MAS_DAMAGED);
        CHECK_INT(fchownat(root.sessions, TOKENS_FILE, 0, (gid_t)-1, 0), 0);
    }
    CHECK_INT(renameat(root.sessions, TOKENS_FILE, root.sessions, "other"), 0);
    CHECK_INT(symlinkat("other", root.sessions, TOKENS_FILE), 0);
    CHECK_INT(tokens_read(&root, &tokens, &err), -1);
    CHECK_INT(unlinkat(root.sessions, TOKENS_FILE, 0), 0);
    CHECK_INT(mkdirat(root.sessions, TOKENS_FILE, 0700), 0);
    CHECK_INT(tokens_read(&root, &tokens, &err), -1);
    CHECK_INT(unlinkat(root.sessions, TOKENS_FILE, AT_REMOVEDIR), 0);
}

TEST(names_are_checked_and_taken_once)
{
    static const char *const bad[] = {"",     "a b",      "a\n",
                                      "../a", "\303\274", "a23456789012345678901234567890123"};
    char text[TOKEN_TEXT];
    A_ROOT;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        err = (struct err)ERR_INIT;
        CHECK_INT(token_add(&root, bad[i], RIGHT_READ, 0, text, &err), -1);
        CHECK_INT(err.code, MAS_USAGE);
    }
    err = (struct err)ERR_INIT;
    CHECK_INT(token_add(&root, TOKEN_OF_FILE, RIGHT_READ, 0, text, &err), -1);
    CHECK_INT(err.code, MAS_CONFLICT);
    err = (struct err)ERR_INIT;
    MUST(token_add(&root, "a", RIGHT_READ, 0, text, &err));
    CHECK_INT(token_add(&root, "a", RIGHT_READ, 0, text, &err), -1);
    CHECK_INT(err.code, MAS_CONFLICT);
    err = (struct err)ERR_INIT;
    MUST(token_remove(&root, "a", &err));
    CHECK_INT(token_remove(&root, "a", &err), -1);
    CHECK_INT(err.code, MAS_NOT_FOUND);
    err = (struct err)ERR_INIT;
    WELL(token_add(&root, "a", RIGHT_READ, 0, text, &err));
}

TEST(a_change_keeps_the_others_and_drops_what_has_expired)
{
    _cleanup_tokens_ struct tokens tokens = TOKENS_INIT;
    char text[TOKEN_TEXT];
    A_ROOT;

    place_put(root.sessions, TOKENS_FILE,
              SUM " old full " MADE " " MADE "\n" OTHER " kept read " MADE " " LATER "\n");
    MUST(token_add(&root, "old", RIGHT_FULL, 0, text, &err));
    MUST(tokens_read(&root, &tokens, &err));
    REQUIRE(tokens.count == 2);
    CHECK_STR(tokens.at[0].hash, OTHER);
    CHECK_STR(tokens.at[0].name, "kept");
    CHECK_INT(tokens.at[0].right, RIGHT_READ);
    CHECK_INT(tokens.at[0].made, 1766044800);
    CHECK(tokens.at[0].expires > time(NULL));
    CHECK_STR(tokens.at[1].name, "old");
    CHECK(tokens_find(&tokens, SUM, time(NULL)) == NULL);
}

TEST(a_damaged_file_is_left_as_it_is)
{
    static const char damaged[] = SUM " a full " MADE " -\nx\n";
    _cleanup_free_ char *after = NULL;
    char text[TOKEN_TEXT];
    size_t len = 0;
    A_ROOT;

    place_put(root.sessions, TOKENS_FILE, damaged);
    CHECK_INT(token_add(&root, "b", RIGHT_READ, 0, text, &err), -1);
    CHECK_INT(err.code, MAS_DAMAGED);
    CHECK_INT(token_remove(&root, "a", &err), -1);
    MUST(file_read(root.sessions, TOKENS_FILE, 4096, &after, &len, &err));
    CHECK_STR(after, damaged);
}

TEST(a_change_waits_for_that_of_another)
{
    _cleanup_tokens_ struct tokens tokens = TOKENS_INIT;
    _cleanup_close_ int lock = -1;
    char text[TOKEN_TEXT];
    A_ROOT;

    MUST(token_add(&root, "a", RIGHT_READ, 0, text, &err));
    MUST(root_lock(&root, &lock, &err));
    gap_clock(true);
    CHECK_INT(token_add(&root, "b", RIGHT_READ, 0, text, &err), -1);
    CHECK_INT(err.code, MAS_TIMEOUT);
    CHECK_INT(token_remove(&root, "a", &err), -1);
    CHECK_INT(err.code, MAS_TIMEOUT);
    gap_clock(false);
    MUST(tokens_read(&root, &tokens, &err));
    CHECK_INT(tokens.count, 1);
}

/* The first, one in the middle and the last of several; and as many as there may be. */
TEST(each_of_several_tokens_counts)
{
    _cleanup_tokens_ struct tokens tokens = TOKENS_INIT;
    _cleanup_tokens_ struct tokens fewer = TOKENS_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    char sum[SHA256_TEXT] = OTHER;
    char made[TOKEN_TEXT];
    A_ROOT;

    str_add(&text, SUM " old full " MADE " " MADE "\n"); /* has expired, and does not count */
    for (int i = 0; i < TOKEN_COUNT_MAX - 1; i++)
        str_addf(&text, "%062x%02x t%d full " MADE " -\n", 1, i, i);
    place_put(root.sessions, TOKENS_FILE, str_text(&text));
    MUST(token_check_new(&root, "last", &err));
    MUST(token_add(&root, "last", RIGHT_READ, 0, made, &err));
    CHECK_INT(token_check_new(&root, "more", &err), -1);
    CHECK_INT(err.code, MAS_CONFLICT);
    CHECK_INT(token_add(&root, "more", RIGHT_READ, 0, made, &err), -1);
    err = (struct err)ERR_INIT;
    MUST(tokens_read(&root, &tokens, &err));
    CHECK_INT(tokens.count, TOKEN_COUNT_MAX);
    for (int i = 0; i < TOKEN_COUNT_MAX - 1; i++) {
        (void)snprintf(sum, sizeof sum, "%062x%02x", 1, (unsigned)i);
        CHECK(tokens_find(&tokens, sum, time(NULL)) == &tokens.at[i]);
    }

    CHECK_INT(token_remove(&root, "none", &err), -1);
    CHECK_INT(err.code, MAS_NOT_FOUND);
    err = (struct err)ERR_INIT;
    MUST(token_remove(&root, "t100", &err));
    MUST(tokens_read(&root, &fewer, &err));
    CHECK_INT(fewer.count, TOKEN_COUNT_MAX - 1);
    CHECK_STR(fewer.at[99].name, "t99");
    CHECK_STR(fewer.at[100].name, "t101");
}

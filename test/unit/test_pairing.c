#include "root.h"

#include "store/pairing.h"

#define SUM "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define MADE "2025-12-18T08:00:00Z"
#define LATER "2999-12-18T08:00:00Z"
#define HERE "11111111-1111-4111-8111-111111111111"

static const struct pairing phone = {.name = "phone", .right = RIGHT_ANSWER, .expires = 0};

static bool is_offered(const struct root *root)
{
    return faccessat(root->sessions, PAIRING_FILE, F_OK, 0) == 0;
}

/* Returns true if the code is refused, without saying why. */
static bool refuses(const struct root *root, const char *code)
{
    struct pairing taken = {.right = RIGHT_NONE};
    struct err err = ERR_INIT;

    return pairing_take(root, code, &taken, &err) == -1 && err.code == MAS_NOT_FOUND &&
           strcmp(err.text, "the code is wrong, or no longer valid") == 0 &&
           taken.right == RIGHT_NONE;
}

TEST(a_code_is_good_once)
{
    struct pairing taken = {.right = RIGHT_NONE};
    char code[PAIRING_TEXT] = "";
    struct stat st;
    A_ROOT;

    MUST(pairing_offer(&root, &phone, code, &err));
    CHECK_INT(strlen(code), PAIRING_TEXT - 1);
    CHECK(code[PAIRING_CODE / 2] == '-');
    CHECK_INT(fstatat(root.sessions, PAIRING_FILE, &st, 0), 0);
    CHECK_INT(st.st_mode & 0777, 0600);
    MUST(pairing_take(&root, code, &taken, &err));
    CHECK_STR(taken.name, "phone");
    CHECK_INT(taken.right, RIGHT_ANSWER);
    CHECK_INT(taken.expires, 0);
    CHECK(!is_offered(&root));
    CHECK(refuses(&root, code));
}

/* Zero for O, one for I and L, small letters, blanks and hyphens anywhere or nowhere. */
TEST(a_code_is_taken_as_people_type_it)
{
    for (int way = 0; way < 4; way++) {
        struct pairing taken = {.right = RIGHT_NONE};
        char code[PAIRING_TEXT] = "";
        _cleanup_str_ struct str typed = STR_INIT;
        A_ROOT;

        MUST(pairing_offer(&root, &phone, code, &err));
        for (const char *at = code; *at != '\0'; at++) {
            if (*at == '-')
                continue;
            char c = way == 1 ? (char)tolower((unsigned char)*at) : *at;
            if (way >= 2)
                c = c == '0' ? 'O' : c == '1' ? (way == 2 ? 'I' : 'l') : c;
            str_addf(&typed, way == 3 ? " %c-" : "%c", c);
        }
        WELL(pairing_take(&root, str_text(&typed), &taken, &err));
    }
}

TEST(wrong_codes_end_the_offer)
{
    static const char *const wrong[PAIRING_TRIES] = {
        "", "-", "AAAA-AAAA",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "\377\n%s"};
    char code[PAIRING_TEXT] = "";
    A_ROOT;

    MUST(pairing_offer(&root, &phone, code, &err));
    for (size_t i = 0; i < PAIRING_TRIES; i++) {
        CHECK(is_offered(&root));
        CHECK(refuses(&root, wrong[i]));
    }
    CHECK(!is_offered(&root));
    CHECK(refuses(&root, code));
}

/* A code that is right but longer than what is looked at must not be cut to the right one. */
TEST(nothing_behind_a_code_is_ignored)
{
    char code[PAIRING_TEXT] = "";
    A_ROOT;

    MUST(pairing_offer(&root, &phone, code, &err));
    _cleanup_free_ char *more = mem_printf("%sA", code);
    CHECK(refuses(&root, more));
}

TEST(a_new_offer_ends_the_one_before)
{
    struct pairing taken;
    char first[PAIRING_TEXT] = "";
    char second[PAIRING_TEXT] = "";
    A_ROOT;

    MUST(pairing_offer(&root, &phone, first, &err));
    MUST(pairing_offer(&root, &phone, second, &err));
    CHECK(strcmp(first, second) != 0);
    CHECK(refuses(&root, first));
    WELL(pairing_take(&root, second, &taken, &err));
}

TEST(offers_to_guests_stand_beside_each_other_and_wrong_codes_count_for_all)
{
    const struct pairing ann = {.name = "ann", .right = RIGHT_READ, .guest = {.session = HERE}};
    const struct pairing bob = {
        .name = "bob", .right = RIGHT_ANSWER, .guest = {.session = HERE, .agents = "11,lead"}};
    struct pairing found[PAIRING_OFFERS];
    char codes[3][PAIRING_TEXT];
    struct pairing taken;
    size_t count = 0;
    A_ROOT;

    MUST(pairing_offer(&root, &ann, codes[0], &err));
    MUST(pairing_offer(&root, &bob, codes[1], &err));
    MUST(pairing_offer(&root, &phone, codes[2], &err));
    CHECK_INT(pairing_offer(&root, &bob, codes[2], &err), -1);
    CHECK_INT(err.code, MAS_CONFLICT);
    MUST(pairing_offer(&root, &phone, codes[2], &err));
    CHECK_INT(pairing_guests(&root, found), 2);
    for (int i = 1; i < PAIRING_TRIES; i++)
        CHECK(refuses(&root, "AAAA-AAAA"));
    WELL(pairing_take(&root, codes[1], &taken, &err));
    CHECK_STR(taken.name, "bob");
    CHECK_STR(taken.guest.session, HERE);
    CHECK_STR(taken.guest.agents, "11,lead");
    CHECK(refuses(&root, codes[1]));
    CHECK(refuses(&root, codes[0])); /* that was the fifth */
    CHECK(!is_offered(&root));
    MUST(pairing_offer(&root, &ann, codes[0], &err));
    MUST(pairing_offer(&root, &phone, codes[2], &err));
    WELL(pairing_end_guests(&root, HERE, NULL, &count, &err));
    CHECK_INT(count, 1);
    CHECK(refuses(&root, codes[0]));
    WELL(pairing_take(&root, codes[2], &taken, &err));
    CHECK_STR(taken.guest.session, "");
    for (int i = 0; i < PAIRING_OFFERS; i++) {
        struct pairing more = ann;
        (void)snprintf(more.name, sizeof more.name, "g%d", i);
        MUST(pairing_offer(&root, &more, codes[0], &err));
    }
    CHECK_INT(pairing_offer(&root, &ann, codes[1], &err), -1);
    CHECK_INT(err.code, MAS_CONFLICT);
}

/* Each has the sum of the code that is asked with: only what else is in it makes it none. */
TEST(files_that_are_no_offer_are_refused)
{
    static const char *const files[] = {
        "",
        "\n",
        SUM " a full " LATER " -\n",
        SUM " a full " LATER " - 0\n",
        SUM " a full " LATER " - 6\n",
        SUM " a full " LATER " - 55\n",
        SUM " a full " LATER " - \n",
        SUM " a full " LATER " - 5 5\n",
        SUM " a none " LATER " - 5\n",
        SUM " a/ full " LATER " - 5\n",
        SUM "  full " LATER " - 5\n",
        SUM " a full later - 5\n",
        SUM " a full " LATER " never 5\n",
        SUM "0 a full " LATER " - 5\n",
        "0123 a full " LATER " - 5\n",
        SUM " a full " LATER " - 5 " HERE "\n",
        SUM " a full " LATER " - 5 " HERE " lead,\n",
        SUM " a full " LATER " - 5 " HERE " - -\n",
        SUM " a full " LATER " - 5\nx\n",
    };
    const struct pairing pairing = {.name = "a", .right = RIGHT_FULL};
    _cleanup_free_ char *made = NULL;
    char code[PAIRING_TEXT];
    struct pairing got;
    size_t len = 0;
    A_ROOT;

    MUST(pairing_offer(&root, &pairing, code, &err));
    MUST(file_read(root.sessions, PAIRING_FILE, 1000, &made, &len, &err));
    REQUIRE(len > strlen(SUM));
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        _cleanup_free_ char *text = mem_dup(files[i]);
        if (str_starts(text, SUM))
            memcpy(text, made, strlen(SUM));
        place_put(root.sessions, PAIRING_FILE, text);
        if (!CHECK(refuses(&root, code)))
            unit_print_str("file", files[i]);
    }
    static const char *const good[] = {SUM " a full " LATER " - 1\n",
                                       SUM " a full " LATER " " LATER " 5\n"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        _cleanup_free_ char *text = mem_dup(good[i]);
        memcpy(text, made, strlen(SUM));
        place_put(root.sessions, PAIRING_FILE, text);
        WELL(pairing_take(&root, code, &got, &err));
    }
    (void)unlinkat(root.sessions, PAIRING_FILE, 0);
    CHECK_INT(mkdirat(root.sessions, PAIRING_FILE, 0700), 0);
    CHECK(refuses(&root, "AAAA-AAAA"));
    CHECK_INT(unlinkat(root.sessions, PAIRING_FILE, AT_REMOVEDIR), 0);
    CHECK_INT(symlinkat("/dev/zero", root.sessions, PAIRING_FILE), 0);
    CHECK(refuses(&root, "AAAA-AAAA"));
}

TEST(an_offer_whose_time_is_over_is_refused_and_removed)
{
    char code[PAIRING_TEXT] = "";
    char sum[SHA256_TEXT];
    A_ROOT;

    MUST(pairing_offer(&root, &phone, code, &err));
    memmove(code + PAIRING_CODE / 2, code + PAIRING_CODE / 2 + 1, PAIRING_CODE / 2 + 1);
    sha256_of(code, PAIRING_CODE, sum);
    _cleanup_free_ char *late = mem_printf("%s phone full " MADE " - 5\n", sum);
    _cleanup_free_ char *good = mem_printf("%s phone full " LATER " - 5\n", sum);
    place_put(root.sessions, PAIRING_FILE, late);
    CHECK(refuses(&root, code));
    CHECK(!is_offered(&root));
    place_put(root.sessions, PAIRING_FILE, good); /* so it was the time */
    struct pairing taken;
    WELL(pairing_take(&root, code, &taken, &err));
}

TEST(a_name_that_is_taken_is_not_offered)
{
    char code[PAIRING_TEXT];
    char text[TOKEN_TEXT];
    A_ROOT;

    MUST(token_add(&root, "phone", RIGHT_READ, 0, text, &err));
    CHECK_INT(pairing_offer(&root, &phone, code, &err), -1);
    CHECK_INT(err.code, MAS_CONFLICT);
    CHECK(!is_offered(&root));
}

/* What inih does by itself: the reasons for the checks and the limits in src/model/ini.c. This
 * program does not contain ini.c, which sets inih's limits before main(). */
#include "unit.h"

#include <ini.h>

#define TIMES_10(text) text text text text text text text text text text
#define BYTES_60 TIMES_10("123456")
#define BYTES_240 BYTES_60 BYTES_60 BYTES_60 BYTES_60

struct notes {
    char text[1024]; /* [<section>]<key>=<value>; for each key */
    int rc;
};

static int note(void *arg, const char *section, const char *key, const char *value)
{
    struct notes *notes = arg;
    size_t len = strlen(notes->text);

    (void)snprintf(notes->text + len, sizeof notes->text - len, "[%s]%s=%s;", section, key, value);
    return 1;
}

static const char *parse(struct notes *notes, const char *text)
{
    *notes = (struct notes){.rc = 0};
    notes->rc = ini_parse_string(text, note, notes);
    return notes->text;
}

TEST(splits_and_trims_a_line)
{
    struct notes notes;

    CHECK_STR(parse(&notes, "[a]\n# c\n; c\n\n  ;c\n k \t=  v w = x \t\nl=\n"),
              "[a]k=v w = x;[a]l=;");
    CHECK_INT(notes.rc, 0);
    CHECK_STR(parse(&notes, "[a]\nk\n"), ""); /* a missing '=' is an error */
    CHECK_INT(notes.rc, 2);
}

/* Why set_limits() sets each of them. */
TEST(cuts_a_line_by_default)
{
    struct notes notes;

    CHECK_INT(strlen(parse(&notes, "[a]\nk=" BYTES_240 "\n")), strlen("[a]k=;") + 197);
    CHECK_INT(notes.rc, 3); /* the rest is another line */
    CHECK_INT(strlen(parse(&notes, "[a]\n#" BYTES_240 "=v\n")), strlen("[a]=v;") + 42);
    CHECK_INT(notes.rc, 0); /* even of a comment */
    ini_max_line = 8195;
    CHECK_STR(parse(&notes, "[a]\nk=" BYTES_240 "\n"), "[a]k=" BYTES_240 ";");
    CHECK_INT(notes.rc, 0);
    ini_max_line = 200;
}

TEST(cuts_a_value_at_a_semicolon_by_default)
{
    struct notes notes;

    CHECK_STR(parse(&notes, "[a]\nk=sh -c 'a ; b'\n"), "[a]k=sh -c 'a;");
    CHECK_INT(notes.rc, 0);
    ini_allow_inline_comments = false;
    CHECK_STR(parse(&notes, "[a]\nk=sh -c 'a ; b'\n"), "[a]k=sh -c 'a ; b';");
    CHECK_STR(parse(&notes, "[a]\nk ;l=v\n"), "[a]k ;l=v;"); /* programs differ here: refused */
    ini_allow_inline_comments = true;
}

TEST(ignores_a_byte_order_mark_by_default)
{
    struct notes notes;

    CHECK_STR(parse(&notes, "\xEF\xBB\xBFk=v\n"), "[]k=v;");
    CHECK_INT(notes.rc, 0);
    ini_allow_bom = false; /* a key may begin with it in any other line */
    CHECK_STR(parse(&notes, "\xEF\xBB\xBFk=v\n"), "[]\xEF\xBB\xBFk=v;");
    ini_allow_bom = true;
}

/* Why ini.c reads the headers. */
TEST(cuts_the_name_of_a_section)
{
    struct notes notes;

    CHECK_INT(strlen(parse(&notes, "[" BYTES_60 "]\nk=v\n")), strlen("[]k=v;") + 49);
    CHECK_INT(notes.rc, 0);
}

TEST(does_not_report_a_section_without_keys)
{
    struct notes notes;

    CHECK_STR(parse(&notes, "[a]\n[b]\nk=v\n[c]\n"), "[b]k=v;");
    CHECK_INT(notes.rc, 0);
}

TEST(does_not_check_a_header)
{
    struct notes notes;

    CHECK_STR(parse(&notes, "[a] x\nk=v\n[]\nl=w\n[ b ]\nm=x\n"), "[a]k=v;[]l=w;[ b ]m=x;");
    CHECK_INT(notes.rc, 0);
    CHECK_STR(parse(&notes, "[a]\n[b\nk=v\n"), "[a]k=v;"); /* an error; the key goes to another */
    CHECK_INT(notes.rc, 2);
}

/* Why ini.c checks lines and keys. */
TEST(joins_indented_lines)
{
    struct notes notes;

    CHECK_STR(parse(&notes, "[a]\nk=v\n l=w\n"), "[a]k=v;[a]k=l=w;");
    CHECK_STR(parse(&notes, "[a]\n l=w\n [b]\nk=v\n"), "[a]l=w;[a]l=[b];[a]k=v;");
    CHECK_INT(notes.rc, 0);
}

TEST(takes_a_colon_for_an_equals_sign)
{
    struct notes notes;

    CHECK_STR(parse(&notes, "[a]\nk: v = w\nl: x\n"), "[a]k=v = w;[a]l=x;");
    CHECK_INT(notes.rc, 0);
}

TEST(takes_keys_without_a_name_or_a_section)
{
    struct notes notes;

    CHECK_STR(parse(&notes, "k=v\n[a]\n=w\n"), "[]k=v;[a]=w;");
    CHECK_INT(notes.rc, 0);
}

TEST(takes_a_key_twice)
{
    struct notes notes;

    CHECK_STR(parse(&notes, "[a]\nk=v\nk=w\n"), "[a]k=v;[a]k=w;");
    CHECK_INT(notes.rc, 0);
}

TEST(takes_control_characters)
{
    struct notes notes;

    CHECK_STR(parse(&notes, "[a]\r\nk=\x1b[31m\n\fl=\x7fw\n"), "[a]k=\x1b[31m;[a]k=l=\x7fw;");
    CHECK_INT(notes.rc, 0);
}

static char *line_with_nul(char *to, int max, void *arg)
{
    int *count = arg;

    (void)max;
    memcpy(to, "k=a\0b\n", 7);
    return (*count)++ == 0 ? to : NULL;
}

static int note_value(void *arg, const char *section, const char *key, const char *value)
{
    (void)arg;
    (void)section;
    CHECK_STR(key, "k");
    CHECK_STR(value, "a");
    return 1;
}

TEST(cuts_a_value_at_a_nul)
{
    int count = 0;

    CHECK_INT(ini_parse_stream(line_with_nul, &count, note_value, NULL), 0);
    CHECK_INT(count, 2);
}

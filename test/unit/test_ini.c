#include "unit.h"

#include "model/ini.h"

#include <sys/mman.h>

/* A descriptor to read the bytes from, at its beginning; -1 on failure. */
static int open_bytes(const char *bytes, size_t len)
{
    int fd = memfd_create("ini", MFD_CLOEXEC);

    for (size_t done = 0; fd != -1 && done < len;) {
        ssize_t n = write(fd, bytes + done, len - done);

        if (n <= 0) {
            (void)close(fd);
            return -1;
        }
        done += (size_t)n;
    }
    if (fd != -1)
        (void)lseek(fd, 0, SEEK_SET);
    return fd;
}

/* What ini_read() gave. */
struct notes {
    struct str lines; /* <line>[<section>]<key>=<value>; for each header and key */
    struct str errors; /* <line>: <text>; for each error */
};

static int note(const struct ini_line *line, void *arg, struct err *err)
{
    struct notes *notes = arg;

    CHECK_STR(line->file, "f.ini");
    if (line->key != NULL && strcmp(line->key, "refuse") == 0)
        return ini_fail(line, err, "refused '%s'", line->value);
    if (line->key == NULL && strcmp(line->section, "refuse") == 0)
        return ini_fail_unknown(line, "unknown section", "[reuse]", err);
    str_addf(&notes->lines, "%d[%s]", line->line, line->section);
    if (line->key != NULL)
        str_addf(&notes->lines, "%s=%s", line->key, line->value);
    else
        CHECK(line->value == NULL);
    str_add(&notes->lines, ";");
    return 0;
}

static void note_wrong(int line, const char *section, const char *text, void *arg)
{
    struct notes *notes = arg;

    (void)section;
    if (line > 0)
        str_addf(&notes->errors, "%d: ", line);
    str_addf(&notes->errors, "%s;", text);
}

/* Returns the lines without an error, else "error: " and the errors, or one for the whole file. */
static const char *read_bytes(struct str *s, const char *bytes, size_t len)
{
    _cleanup_close_ int fd = open_bytes(bytes, len);
    struct notes notes = {.lines = STR_INIT};
    struct err err = ERR_INIT;

    str_clear(s);
    if (ini_read(fd, "f.ini", note, note_wrong, &notes, &err) == -1) {
        CHECK_INT(err.code, MAS_DAMAGED);
        CHECK_STR(str_text(&notes.lines), "");
        CHECK_STR(str_text(&notes.errors), "");
        str_addf(s, "error: %s", err.text);
    } else {
        CHECK_STR(err.text, "");
        str_addf(s, "%s", str_text(&notes.lines));
        if (notes.errors.len > 0) {
            str_clear(s);
            str_addf(s, "error: f.ini:%.*s", (int)notes.errors.len - 1, notes.errors.data);
        }
    }
    str_free(&notes.lines);
    str_free(&notes.errors);
    return str_text(s);
}

static const char *read_ini(struct str *s, const char *text)
{
    return read_bytes(s, text, strlen(text));
}

TEST(reads_sections_and_keys)
{
    _cleanup_str_ struct str s = STR_INIT;

    CHECK_STR(read_ini(&s, ""), "");
    CHECK_STR(read_ini(&s, "\n\n"), "");
    CHECK_STR(read_ini(&s, "# one\n; two\n  ; three\n\t#four\n   \n"), "");
    CHECK_STR(read_ini(&s, "[a]"), "1[a];");
    CHECK_STR(read_ini(&s, "[a]\n[b c]  \n\n[ d\t]\n"), "1[a];2[b c];4[d];");
    CHECK_STR(read_ini(&s, "[a]\nk=v\n\n# c\nl = w x \t\n[b]\nk=\nm= =\n"),
              "1[a];2[a]k=v;5[a]l=w x;6[b];7[b]k=;8[b]m==;");
    CHECK_STR(read_ini(&s, "[a]\nno newline = end"), "1[a];2[a]no newline=end;");
    CHECK_STR(read_ini(&s, "[a]\nk=1\n[b]\n[a]\nl=2\n"), "1[a];2[a]k=1;3[b];4[a];5[a]l=2;");
}

TEST(values_are_as_written)
{
    _cleanup_str_ struct str s = STR_INIT;

    CHECK_STR(read_ini(&s, "[a]\nk = sh -c 'a ; b' ;c #d\n"), "1[a];2[a]k=sh -c 'a ; b' ;c #d;");
    CHECK_STR(read_ini(&s, "[a]\nk = ; x\n"), "1[a];2[a]k=; x;");
    CHECK_STR(read_ini(&s, "[a]\nk = [x]\n"), "1[a];2[a]k=[x];");
    CHECK_STR(read_ini(&s, "[a]\nk = a=b:c\n"), "1[a];2[a]k=a=b:c;");
    CHECK_STR(read_ini(&s, "[a]\nk = \"q\" \\ \xC3\xBC\xFF\n"),
              "1[a];2[a]k=\"q\" \\ \xC3\xBC\xFF;");
    CHECK_STR(read_ini(&s, "[a]\nk = x\ty\n"), "1[a];2[a]k=x\ty;");
    CHECK_STR(read_ini(&s, "[a]\nenv.K;x = 1\n"), "1[a];2[a]env.K;x=1;");
    CHECK_STR(read_ini(&s, "[ ;a;b #c]\nk=1\n"), "1[;a;b #c];2[;a;b #c]k=1;");
}

static void add_many(struct str *s, char c, size_t count)
{
    for (size_t i = 0; i < count; i++)
        str_addc(s, c);
}

TEST(long_ones_are_whole)
{
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_str_ struct str want = STR_INIT;
    _cleanup_str_ struct str s = STR_INIT;

    str_add(&text, "[");
    add_many(&text, 's', INI_SECTION_MAX);
    str_add(&text, "]\n");
    add_many(&text, 'k', INI_KEY_MAX);
    str_add(&text, "=");
    add_many(&text, 'v', INI_LINE_MAX - INI_KEY_MAX - 1);
    str_add(&want, "1[");
    add_many(&want, 's', INI_SECTION_MAX);
    str_add(&want, "];2[");
    add_many(&want, 's', INI_SECTION_MAX);
    str_add(&want, "]");
    add_many(&want, 'k', INI_KEY_MAX);
    str_add(&want, "=");
    add_many(&want, 'v', INI_LINE_MAX - INI_KEY_MAX - 1);
    str_add(&want, ";");
    CHECK_STR(read_ini(&s, str_text(&text)), str_text(&want));
}

TEST(refuses_what_is_too_long)
{
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_str_ struct str s = STR_INIT;

    str_add(&text, "[a]\nk=");
    add_many(&text, 'v', INI_LINE_MAX - 1);
    CHECK_STR(read_ini(&s, str_text(&text)), "error: f.ini:2: the line is longer than 8192 bytes");
    str_clear(&text);
    str_add(&text, "#");
    add_many(&text, 'v', INI_LINE_MAX);
    CHECK_STR(read_ini(&s, str_text(&text)), "error: f.ini:1: the line is longer than 8192 bytes");
    str_clear(&text);
    add_many(&text, '\n', INI_FILE_MAX);
    CHECK_STR(read_ini(&s, str_text(&text)), "");
    str_add(&text, "\n");
    CHECK_STR(read_ini(&s, str_text(&text)), "error: f.ini: the file is larger than 1048576 bytes");
    str_clear(&text);
    str_add(&text, "[");
    add_many(&text, 's', INI_SECTION_MAX + 1);
    str_add(&text, "]\n");
    CHECK_STR(read_ini(&s, str_text(&text)),
              "error: f.ini:1: the section's name is longer than 128 bytes");
    str_clear(&text);
    str_add(&text, "[a]\n");
    add_many(&text, 'k', INI_KEY_MAX + 1);
    str_add(&text, "=\n");
    CHECK_STR(read_ini(&s, str_text(&text)), "error: f.ini:2: the key is longer than 128 bytes");
}

TEST(refuses_bad_lines)
{
    static const struct {
        const char *text;
        const char *why;
    } cases[] = {
        {"\xEF\xBB\xBF[a]\n", "error: f.ini:1: the file begins with a byte order mark"},
        {"[a]\r\n", "error: f.ini:1: the line ends in a carriage return; use a newline alone"},
        {"[a]\nk=a\rb\n", "error: f.ini:2: the line contains a control character"},
        {"[a]\nk=\x1b[31m\n", "error: f.ini:2: the line contains a control character"},
        {"# \x7f\n", "error: f.ini:1: the line contains a control character"},
        {"# \xC2\x9B\n", "error: f.ini:1: the line contains a control character"},
        {"[a]\nk=1\n\fl=2\n", "error: f.ini:3: the line contains a control character"},
        {"k=1\n", "error: f.ini:1: key 'k' comes before the first [section]"},
        {"[a\n", "error: f.ini:1: missing ']'"},
        {"[]\n", "error: f.ini:1: missing section name"},
        {"[  ]\n", "error: f.ini:1: missing section name"},
        {"[a] x\n", "error: f.ini:1: unexpected text after ']'"},
        {"[a] ; x\n", "error: f.ini:1: unexpected text after ']'"},
        {"[a]b]\n", "error: f.ini:1: unexpected text after ']'"},
        {"[a ;b]\n", "error: f.ini:1: a section name must not contain ' ;'"},
        {"[a]\nk\n", "error: f.ini:2: missing '='"},
        {"[a]\nk: v\n", "error: f.ini:2: missing '='"},
        {"[a]\nk: v = w\n",
         "error: f.ini:2: a key must not contain ':' or ' ;'; separate key and value with '='"},
        {"[a]\nk ;v = w\n",
         "error: f.ini:2: a key must not contain ':' or ' ;'; separate key and value with '='"},
        {"[a]\n=v\n", "error: f.ini:2: missing key before '='"},
        {"[a]\n = v\n",
         "error: f.ini:2: the line begins with a blank; a value must be on one line"},
        {"[a]\nk=v\n more\n",
         "error: f.ini:3: the line begins with a blank; a value must be on one line"},
        {" [a]\n", "error: f.ini:1: the line begins with a blank; a value must be on one line"},
        {"[a]\nk=1\n\nk = 2\n", "error: f.ini:4: [a] k: duplicate key: first used in line 2"},
        {"[a]\nk=1\n[b]\nk=1\n[a]\nk=1\n",
         "error: f.ini:6: [a] k: duplicate key: first used in line 2"},
        {"[a]\nz=1\nb=1\nb=2\nz=2\n", "error: f.ini:4: [a] b: duplicate key: first used in line 3;"
                                      "5: [a] z: duplicate key: first used in line 2"},
    };
    _cleanup_str_ struct str s = STR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_STR(read_ini(&s, cases[i].text), cases[i].why);
    CHECK_STR(read_bytes(&s, "[a]\nk=a\0b\n", 10), "error: f.ini:2: the line contains a NUL byte");
    CHECK_STR(read_bytes(&s, "\0", 1), "error: f.ini:1: the line contains a NUL byte");
    /* other case is another key */
    CHECK_STR(read_ini(&s, "[a]\nk=1\nK=2\n"), "1[a];2[a]k=1;3[a]K=2;");
}

/* Checks the lines and the errors that a file gives. */
static void check_both(const char *text, const char *lines, const char *errors)
{
    _cleanup_close_ int fd = open_bytes(text, strlen(text));
    struct notes notes = {.lines = STR_INIT};
    struct err err = ERR_INIT;

    CHECK_INT(ini_read(fd, "f.ini", note, note_wrong, &notes, &err), 0);
    CHECK_STR(str_text(&notes.lines), lines);
    CHECK_STR(str_text(&notes.errors), errors);
    str_free(&notes.lines);
    str_free(&notes.errors);
}

TEST(goes_on_after_bad_lines)
{
    check_both("[a]\nk=1\nbad\nl=2\n\rm=3\n", "1[a];2[a]k=1;4[a]l=2;",
               "3: missing '=';5: the line contains a control character;");
    check_both("[a]\nk=1\nk=2\nbad\n", "1[a];2[a]k=1;3[a]k=2;",
               "4: missing '=';3: [a] k: duplicate key: first used in line 2;");
}

TEST(skips_the_keys_of_a_bad_header)
{
    check_both("[a]\n[b\nk=1\nbad\n k=1\n[c]\nl=2\n", "1[a];6[c];7[c]l=2;",
               "2: missing ']';"
               "5: the line begins with a blank; a value must be on one line;");
    check_both("[a\x01]\nk=1\n", "", "1: the line contains a control character;");
}

TEST(goes_on_after_a_refused_key)
{
    check_both("[a]\nk=1\nrefuse=x y\nl=2\n", "1[a];2[a]k=1;4[a]l=2;",
               "3: [a] refuse: refused 'x y';");
}

TEST(skips_the_keys_of_a_refused_header)
{
    check_both("[refuse]\nk=1\nrefuse=2\n[a]\nl=2\n", "4[a];5[a]l=2;",
               "1: [refuse]: unknown section; did you mean '[reuse]'?;");
}

TEST(reads_from_the_offset)
{
    _cleanup_close_ int fd = open_bytes("junk\n[a]\n", 9);
    struct notes notes = {.lines = STR_INIT};
    struct err err = ERR_INIT;

    CHECK_INT(lseek(fd, 5, SEEK_SET), 5);
    CHECK_INT(ini_read(fd, "f.ini", note, note_wrong, &notes, &err), 0);
    CHECK_STR(str_text(&notes.lines), "1[a];");
    str_free(&notes.lines);
}

TEST(read_errors_are_told)
{
    _cleanup_close_ int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct err err = ERR_INIT;

    CHECK_INT(ini_read(fd, "f.ini", note, note_wrong, NULL, &err), -1);
    CHECK_INT(err.code, MAS_FAILED);
    CHECK_STR(err.text, "cannot read 'f.ini': Is a directory");
}

TEST(many_keys_take_little_time)
{
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_str_ struct str s = STR_INIT;

    str_add(&text, "[a]\n");
    for (unsigned i = 0; text.len < INI_FILE_MAX - 16; i++)
        str_addf(&text, "%x=\n", i);
    CHECK(str_starts(read_ini(&s, str_text(&text)), "1[a];2[a]0=;"));
}

static void note_section(int line, const char *section, const char *text, void *arg)
{
    struct notes *notes = arg;

    (void)text;
    str_addf(&notes->errors, "%d%s;", line, section != NULL ? section : "-");
}

/* An error belongs to the section in which it stands: to none before the first one, and below a
 * header that cannot be read. */
TEST(errors_have_their_section)
{
    static const char text[] = "k=0\n[a]\nbad\nrefuse=x\n[b\nbad\n k=1\n[c]\nk=1\nk=2\n bad\n"
                               "[refuse]\nbad\n";
    _cleanup_close_ int fd = open_bytes(text, strlen(text));
    struct notes notes = {.lines = STR_INIT};
    struct err err = ERR_INIT;

    CHECK_INT(ini_read(fd, "f.ini", note, note_section, &notes, &err), 0);
    CHECK_STR(str_text(&notes.errors), "1-;3a;5-;7-;11c;13refuse;10c;4a;12refuse;");
    str_free(&notes.lines);
    str_free(&notes.errors);
}

/* Wherever in a line they stand: eight bytes are looked at together. */
TEST(control_characters_are_found_at_any_place)
{
    static const struct {
        const char *text;
        bool good;
    } cases[] = {{"\x01", false},     {"\x08", false},     {"\x1f", false},    {"\x7f", false},
                 {"\xc2\x80", false}, {"\xc2\x9f", false}, {"\t", true},       {"!", true},
                 {"~", true},         {"\xc2\xa0", true},  {"\xc3\x80", true}, {"\x80", true},
                 {"\xff", true},      {"\xc2", true}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (size_t at = 0; at < 20; at++) {
            _cleanup_str_ struct str text = STR_INIT;
            _cleanup_str_ struct str got = STR_INIT;
            str_add(&text, "[a]\nk=");
            for (size_t j = 0; j < 20; j++)
                str_add(&text, j == at ? cases[i].text : "x");
            str_addc(&text, '\n');
            bool good = !str_starts(read_ini(&got, text.data), "error: ");
            if (!CHECK_INT(good, cases[i].good))
                printf("# case %zu at %zu\n", i, at);
        }
}

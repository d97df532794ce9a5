#include "unit.h"

#include "base/ini.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

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

/* Puts down a line as <line>[<section>]<key>=<value>; / */
static int note(const struct ini_line *line, void *arg, struct err *err)
{
    struct str *s = arg;

    CHECK_STR(line->file, "f.ini");
    if (line->key != NULL && strcmp(line->key, "stop") == 0)
        return ini_fail(line, err, "stopped at '%s'", line->value);
    str_addf(s, "%d[%s]", line->line, line->section);
    if (line->key != NULL)
        str_addf(s, "%s=%s", line->key, line->value);
    else
        CHECK(line->value == NULL);
    str_add(s, ";");
    return 0;
}

/* What note() put down, or "error: <text>". */
static const char *read_bytes(struct str *s, const char *bytes, size_t len)
{
    _cleanup_close_ int fd = open_bytes(bytes, len);
    struct err err = ERR_INIT;

    str_clear(s);
    if (ini_read(fd, "f.ini", note, s, &err) == -1) {
        CHECK_INT(err.code, MAS_DAMAGED);
        str_clear(s);
        str_addf(s, "error: %s", err.text);
    } else {
        CHECK_STR(err.text, "");
    }
    return str_text(s);
}

static const char *read_ini(struct str *s, const char *text)
{
    return read_bytes(s, text, strlen(text));
}

static void reads_sections_and_keys(void)
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

static void values_are_as_written(void)
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

static void long_ones_are_whole(void)
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

static void refuses_what_is_too_long(void)
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

static void refuses_bad_lines(void)
{
    static const struct {
        const char *text;
        const char *why;
    } cases[] = {
        {"\xEF\xBB\xBF[a]\n", "error: f.ini:1: the file begins with a byte order mark"},
        {"[a]\r\n", "error: f.ini:1: carriage return; a line ends in a newline alone"},
        {"[a]\nk=a\rb\n", "error: f.ini:2: control character"},
        {"[a]\nk=\x1b[31m\n", "error: f.ini:2: control character"},
        {"# \x7f\n", "error: f.ini:1: control character"},
        {"# \xC2\x9B\n", "error: f.ini:1: control character"},
        {"[a]\nk=1\n\fl=2\n", "error: f.ini:3: control character"},
        {"k=1\n", "error: f.ini:1: key 'k' stands before any [section]"},
        {"[a\n", "error: f.ini:1: ']' is missing"},
        {"[]\n", "error: f.ini:1: the section has no name"},
        {"[  ]\n", "error: f.ini:1: the section has no name"},
        {"[a] x\n", "error: f.ini:1: something stands behind ']'"},
        {"[a] ; x\n", "error: f.ini:1: something stands behind ']'"},
        {"[a]b]\n", "error: f.ini:1: something stands behind ']'"},
        {"[a ;b]\n", "error: f.ini:1: ' ;' in the name of a section"},
        {"[a]\nk\n", "error: f.ini:2: '=' is missing"},
        {"[a]\nk: v\n", "error: f.ini:2: '=' is missing"},
        {"[a]\nk: v = w\n",
         "error: f.ini:2: ':' or ' ;' in a key; '=' stands between key and value"},
        {"[a]\nk ;v = w\n",
         "error: f.ini:2: ':' or ' ;' in a key; '=' stands between key and value"},
        {"[a]\n=v\n", "error: f.ini:2: nothing stands before '='"},
        {"[a]\n = v\n", "error: f.ini:2: the line begins with a blank; values do not go on here"},
        {"[a]\nk=v\n more\n",
         "error: f.ini:3: the line begins with a blank; values do not go on here"},
        {" [a]\n", "error: f.ini:1: the line begins with a blank; values do not go on here"},
        {"[a]\nk=1\n\nk = 2\n", "error: f.ini:4: [a] k: the key stands in line 2 already"},
        {"[a]\nk=1\n[b]\nk=1\n[a]\nk=1\n",
         "error: f.ini:6: [a] k: the key stands in line 2 already"},
        {"[a]\nz=1\nb=1\nb=2\nz=2\n", "error: f.ini:4: [a] b: the key stands in line 3 already"},
    };
    _cleanup_str_ struct str s = STR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_STR(read_ini(&s, cases[i].text), cases[i].why);
    CHECK_STR(read_bytes(&s, "[a]\nk=a\0b\n", 10), "error: f.ini:2: NUL byte");
    CHECK_STR(read_bytes(&s, "\0", 1), "error: f.ini:1: NUL byte");
    /* other case is another key */
    CHECK_STR(read_ini(&s, "[a]\nk=1\nK=2\n"), "1[a];2[a]k=1;3[a]K=2;");
}

static void nothing_is_told_of_a_bad_file(void)
{
    _cleanup_close_ int fd = open_bytes("[a]\nk=1\nbad\n", 12);
    _cleanup_str_ struct str s = STR_INIT;
    struct err err = ERR_INIT;

    CHECK_INT(ini_read(fd, "f.ini", note, &s, &err), -1);
    CHECK_STR(str_text(&s), "");
}

static void callback_stops(void)
{
    _cleanup_close_ int fd = open_bytes("[a]\nk=1\nstop=x y\nl=2\n", 21);
    _cleanup_str_ struct str s = STR_INIT;
    struct err err = ERR_INIT;

    CHECK_INT(ini_read(fd, "f.ini", note, &s, &err), -1);
    CHECK_STR(err.text, "f.ini:3: [a] stop: stopped at 'x y'");
    CHECK_INT(err.code, MAS_DAMAGED);
    CHECK_STR(str_text(&s), "1[a];2[a]k=1;");
}

static int refuse(const struct ini_line *line, void *arg, struct err *err)
{
    int *calls = arg;

    ++*calls;
    return ini_fail(line, err, "unknown section");
}

static void callback_stops_at_a_header(void)
{
    _cleanup_close_ int fd = open_bytes("[a]\nk=1\n", 8);
    struct err err = ERR_INIT;
    int calls = 0;

    CHECK_INT(ini_read(fd, "f.ini", refuse, &calls, &err), -1);
    CHECK_STR(err.text, "f.ini:1: [a]: unknown section");
    CHECK_INT(calls, 1);
}

static void reads_from_the_offset(void)
{
    _cleanup_close_ int fd = open_bytes("junk\n[a]\n", 9);
    _cleanup_str_ struct str s = STR_INIT;
    struct err err = ERR_INIT;

    CHECK_INT(lseek(fd, 5, SEEK_SET), 5);
    CHECK_INT(ini_read(fd, "f.ini", note, &s, &err), 0);
    CHECK_STR(str_text(&s), "1[a];");
}

static void read_errors_are_told(void)
{
    _cleanup_close_ int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct err err = ERR_INIT;

    CHECK_INT(ini_read(fd, "f.ini", note, NULL, &err), -1);
    CHECK_INT(err.code, MAS_FAILED);
    CHECK_STR(err.text, "cannot read 'f.ini': Is a directory");
}

static void many_keys_take_little_time(void)
{
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_str_ struct str s = STR_INIT;

    str_add(&text, "[a]\n");
    for (unsigned i = 0; text.len < INI_FILE_MAX - 16; i++)
        str_addf(&text, "%x=\n", i);
    CHECK(str_starts(read_ini(&s, str_text(&text)), "1[a];2[a]0=;"));
}

static const struct unit_test tests[] = {
    TEST(reads_sections_and_keys),
    TEST(values_are_as_written),
    TEST(long_ones_are_whole),
    TEST(refuses_what_is_too_long),
    TEST(refuses_bad_lines),
    TEST(nothing_is_told_of_a_bad_file),
    TEST(callback_stops),
    TEST(callback_stops_at_a_header),
    TEST(reads_from_the_offset),
    TEST(read_errors_are_told),
    TEST(many_keys_take_little_time),
};

int main(void)
{
    return UNIT_RUN(tests);
}

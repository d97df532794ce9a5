#include "base/ini.h"

#include "base/str.h"

#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * The text is first checked and split into lines, sections, keys and values, so that each error can
 * be reported precisely. Then inih gets lines that it cannot misread: `[section]`, and `key =`
 * without the value, which inih might cut or strip a comment from. The caller gets the keys that
 * inih finds, and each is compared with the key found by the check. inih's run-time options are
 * process-wide variables that some builds lack, so mas sets none.
 */

/* A section header or a key; the strings point into struct ini.text. */
struct entry {
    const char *section;
    const char *key; /* NULL: a section header */
    const char *value;
    int line;
};

struct ini {
    const char *file;
    struct str text; /* a NUL is written after each name and value */
    struct entry *entries; /* in file order */
    size_t count;
    size_t room;

    /* while inih reads */
    size_t next; /* the first entry that inih has not received */
    bool at_header; /* the previous entry is a header that is not reported yet */
    bool failed;
    ini_each *each;
    void *arg;

    ini_wrong *wrong; /* NULL: stop at the first error */
    bool lost; /* the header of the current section is unreadable */
    bool refused; /* by `each`: skip the keys of this section */
    struct err *err;
};

int ini_fail(const struct ini_line *line, struct err *err, const char *fmt, ...)
{
    _cleanup_str_ struct str why = STR_INIT;
    char *text;
    va_list args;

    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) == -1)
        text = mem_dup("out of memory");
    va_end(args);
    str_addf(&why, "%s:%d: [%s]", line->file, line->line, line->section);
    if (line->key != NULL)
        str_addf(&why, " %s", line->key);
    (void)err_set(err, MAS_DAMAGED, "%s: %s", str_text(&why), text);
    free(text);
    return -1;
}

int ini_fail_unknown(const struct ini_line *line, const char *why, const char *nearest,
                     struct err *err)
{
    return nearest == NULL ? ini_fail(line, err, "%s", why)
                           : ini_fail(line, err, "%s; did you mean '%s'?", why, nearest);
}

/* Reports an error in a line whose section and key are not known yet. */
static int fail_at(const struct ini *ini, int line, const char *why)
{
    return err_set(ini->err, MAS_DAMAGED, "%s:%d: %s", ini->file, line, why);
}

/* Reports an error if reading continues after errors; otherwise returns -1. */
static int tell(struct ini *ini, int line)
{
    _cleanup_free_ char *where = mem_printf("%s:%d: ", ini->file, line);
    const char *text = ini->err->text;

    if (ini->wrong == NULL)
        return -1;
    ini->wrong(line, str_starts(text, where) ? text + strlen(where) : text, ini->arg);
    return 0;
}

static struct ini_line to_line(const struct ini *ini, const struct entry *entry)
{
    return (struct ini_line){
        .file = ini->file,
        .line = entry->line,
        .section = entry->section,
        .key = entry->key,
        .value = entry->value,
    };
}

/* Checking the text. */

static int read_text(struct ini *ini, int fd)
{
    char chunk[16384];

    for (;;) {
        ssize_t n = read(fd, chunk, sizeof(chunk));

        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1)
            return err_errno(ini->err, "cannot read '%s'", ini->file);
        if (n == 0)
            return 0;
        str_addn(&ini->text, chunk, (size_t)n);
        if (ini->text.len > INI_FILE_MAX)
            return err_set(ini->err, MAS_DAMAGED, "%s: the file is larger than %d bytes", ini->file,
                           INI_FILE_MAX);
    }
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Returns true if text[i] begins a control character other than tab, including C1. */
static bool is_control(const char *text, size_t len, size_t i)
{
    unsigned char c = (unsigned char)text[i];

    if (c == 0xC2 && i + 1 < len)
        return (unsigned char)text[i + 1] >= 0x80 && (unsigned char)text[i + 1] <= 0x9F;
    return (c < 0x20 && c != '\t') || c == 0x7F;
}

/* Checks that apply to every line, including comments. */
static int check_bytes(const struct ini *ini, const char *text, size_t len, int line)
{
    if (line == 1 && len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
        return fail_at(ini, line, "the file begins with a byte order mark");
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\0')
            return fail_at(ini, line, "NUL byte");
        if (text[i] == '\r' && i + 1 == len)
            return fail_at(ini, line, "carriage return; a line ends in a newline alone");
        if (is_control(text, len, i))
            return fail_at(ini, line, "control character");
    }
    if (len > INI_LINE_MAX)
        return err_set(ini->err, MAS_DAMAGED, "%s:%d: the line is longer than %d bytes", ini->file,
                       line, INI_LINE_MAX);
    return 0;
}

/* Cuts the text [start, end) after its last non-blank character and returns its first non-blank
 * one. text[end] must be writable. */
static char *trim(char *text, size_t start, size_t end)
{
    while (start < end && is_blank(text[start]))
        start++;
    while (end > start && is_blank(text[end - 1]))
        end--;
    text[end] = '\0';
    return text + start;
}

static void add_entry(struct ini *ini, const struct entry *entry)
{
    if (ini->count == ini->room) {
        ini->room = ini->room > 0 ? ini->room * 2 : 64;
        ini->entries = mem_grow(ini->entries, ini->room, sizeof(*ini->entries));
    }
    ini->entries[ini->count++] = *entry;
}

/* Returns true if inih would find a comment in this name. */
static bool holds_comment(const char *name)
{
    for (const char *p = name; *p != '\0'; p++) {
        if (*p == ';' && p > name && is_blank(p[-1]))
            return true;
    }
    return false;
}

static int add_section(struct ini *ini, char *text, size_t len, int line)
{
    const char *bracket = memchr(text, ']', len);
    struct entry entry = {.line = line};
    size_t end;

    if (bracket == NULL)
        return fail_at(ini, line, "']' is missing");
    end = (size_t)(bracket - text);
    for (size_t i = end + 1; i < len; i++) {
        if (!is_blank(text[i]))
            return fail_at(ini, line, "something stands behind ']'");
    }
    entry.section = trim(text, 1, end);
    if (entry.section[0] == '\0')
        return fail_at(ini, line, "the section has no name");
    if (strlen(entry.section) > INI_SECTION_MAX)
        return err_set(ini->err, MAS_DAMAGED, "%s:%d: the section's name is longer than %d bytes",
                       ini->file, line, INI_SECTION_MAX);
    if (holds_comment(entry.section))
        return fail_at(ini, line, "' ;' in the name of a section");
    add_entry(ini, &entry);
    ini->lost = false;
    return 0;
}

static int add_key(struct ini *ini, char *text, size_t len, int line)
{
    const char *equals = memchr(text, '=', len);
    struct entry entry = {.line = line};
    size_t end;

    if (equals == NULL)
        return fail_at(ini, line, "'=' is missing");
    end = (size_t)(equals - text);
    entry.value = trim(text, end + 1, len);
    entry.key = trim(text, 0, end);
    if (entry.key[0] == '\0')
        return fail_at(ini, line, "nothing stands before '='");
    if (strlen(entry.key) > INI_KEY_MAX)
        return err_set(ini->err, MAS_DAMAGED, "%s:%d: the key is longer than %d bytes", ini->file,
                       line, INI_KEY_MAX);
    if (strchr(entry.key, ':') != NULL || holds_comment(entry.key))
        return fail_at(ini, line, "':' or ' ;' in a key; '=' stands between key and value");
    if (ini->count == 0)
        return err_set(ini->err, MAS_DAMAGED, "%s:%d: key '%s' stands before any [section]",
                       ini->file, line, entry.key);
    entry.section = ini->entries[ini->count - 1].section;
    add_entry(ini, &entry);
    return 0;
}

static int add_line(struct ini *ini, char *text, size_t len, int line)
{
    size_t start = 0;

    if (check_bytes(ini, text, len, line) == -1) {
        ini->lost = ini->lost || (len > 0 && text[0] == '['); /* the section is unknown */
        return -1;
    }
    while (start < len && is_blank(text[start]))
        start++;
    if (start == len || text[start] == ';' || text[start] == '#')
        return 0;
    if (start > 0)
        return fail_at(ini, line, "the line begins with a blank; values do not go on here");
    if (text[0] != '[')
        return ini->lost ? 0 : add_key(ini, text, len, line);
    ini->lost = true;
    return add_section(ini, text, len, line);
}

static int add_lines(struct ini *ini)
{
    char *text = ini->text.data;
    size_t left = ini->text.len;

    for (int line = 1; left > 0; line++) {
        const char *newline = memchr(text, '\n', left);
        size_t len = newline != NULL ? (size_t)(newline - text) : left;

        if (add_line(ini, text, len, line) == -1 && tell(ini, line) == -1)
            return -1;
        len += newline != NULL;
        text += len;
        left -= len;
    }
    return 0;
}

static int entry_cmp(const void *a, const void *b)
{
    const struct entry *x = *(const struct entry *const *)a;
    const struct entry *y = *(const struct entry *const *)b;
    int order = strcmp(x->section, y->section);

    if (order == 0)
        order = strcmp(x->key, y->key);
    return order != 0 ? order : x->line - y->line;
}

/* Finds duplicate keys. A section may appear in several places and still is one section. */
static int check_twice(struct ini *ini)
{
    _cleanup_free_ const struct entry **sorted = mem_grow(NULL, ini->count, sizeof(void *));
    const struct entry *twice = NULL;
    const struct entry *first = NULL;
    struct ini_line line;
    size_t keys = 0;

    for (size_t i = 0; i < ini->count; i++) {
        if (ini->entries[i].key != NULL)
            sorted[keys++] = &ini->entries[i];
    }
    qsort(sorted, keys, sizeof(void *), entry_cmp);
    for (size_t i = 1; i < keys; i++) {
        const struct entry *a = sorted[i - 1];
        const struct entry *b = sorted[i];

        if (strcmp(a->key, b->key) != 0 || strcmp(a->section, b->section) != 0)
            continue;
        if (ini->wrong != NULL) {
            line = to_line(ini, b);
            (void)ini_fail(&line, ini->err, "the key stands in line %d already", a->line);
            (void)tell(ini, b->line);
        } else if (twice == NULL || b->line < twice->line) {
            first = a;
            twice = b;
        }
    }
    if (twice == NULL)
        return 0;
    line = to_line(ini, twice);
    return ini_fail(&line, ini->err, "the key stands in line %d already", first->line);
}

/* Reading with inih. */

/* Gives inih its next line. inih reports keys only, so each header is followed by a dummy line, a
 * key without a name, for which the header is reported. */
static char *give_line(char *to, int max, void *arg)
{
    struct ini *ini = arg;
    const struct entry *entry;
    int n;

    if (ini->at_header) {
        ini->at_header = false;
        n = snprintf(to, (size_t)max, "=\n");
    } else if (ini->failed || ini->next == ini->count) {
        return NULL;
    } else {
        entry = &ini->entries[ini->next++];
        ini->at_header = entry->key == NULL;
        n = entry->key == NULL ? snprintf(to, (size_t)max, "[%s]\n", entry->section)
                               : snprintf(to, (size_t)max, "%s =\n", entry->key);
    }
    if (n >= 0 && n < max)
        return to;
    ini->failed = true;
    (void)fail_at(ini, ini->entries[ini->next - 1].line, "the line is too long");
    return NULL;
}

/* Called by inih for each key. Returns 1 on success. */
static int parse_key(void *arg, const char *section, const char *key, const char *value)
{
    struct ini *ini = arg;
    const struct entry *entry = &ini->entries[ini->next - 1];
    const char *expected = entry->key != NULL ? entry->key : "";
    struct ini_line line = to_line(ini, entry);
    int rc;

    (void)section; /* may be cut at 49 bytes */
    (void)value; /* not passed to inih */
    if (entry->key == NULL)
        ini->refused = false;
    if (key == NULL || strcmp(key, expected) != 0) {
        rc = ini_fail(&line, ini->err, "the line cannot be read");
    } else if (ini->refused) {
        rc = 0;
    } else {
        rc = ini->each(&line, ini->arg, ini->err);
        ini->refused = rc == -1 && entry->key == NULL;
        rc = rc == -1 ? tell(ini, entry->line) : 0;
    }
    ini->failed = rc != 0;
    return rc == 0;
}

static int read_entries(struct ini *ini)
{
    int rc = ini_parse_stream(give_line, ini, parse_key, ini);

    if (ini->failed)
        return -1;
    if (rc != 0 || ini->next != ini->count)
        return err_set(ini->err, MAS_DAMAGED, "%s: the file cannot be read", ini->file);
    return 0;
}

static int read_file(struct ini *ini, int fd)
{
    int rc = read_text(ini, fd);

    if (rc == 0)
        rc = add_lines(ini);
    if (rc == 0)
        rc = check_twice(ini);
    if (rc == 0)
        rc = read_entries(ini);
    free(ini->entries);
    str_free(&ini->text);
    return rc;
}

int ini_read(int fd, const char *file, ini_each *each, void *arg, struct err *err)
{
    struct ini ini = {.file = file, .each = each, .arg = arg, .err = err};
    return read_file(&ini, fd);
}

int ini_read_on(int fd, const char *file, ini_each *each, ini_wrong *wrong, void *arg,
                struct err *err)
{
    struct err told = ERR_INIT;
    struct ini ini = {.file = file, .each = each, .arg = arg, .wrong = wrong, .err = &told};

    if (read_file(&ini, fd) == 0)
        return 0;
    *err = told;
    return -1;
}

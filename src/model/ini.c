/*
 * inih parses the file. next_line() gives it one line after another and checks each first for what
 * inih leaves undone or does in silence; test/unit/test_inih.c has a test for each case. A line
 * with an error is empty for inih, and so is a header: inih cuts the name of a section at 49 bytes,
 * ignores what stands behind `]`, and reports no section without keys, so headers are read here. It
 * takes `:` for `=`, a NUL for the end of the text, and no notice of control characters, missing
 * sections and duplicate keys.
 */

#include "model/ini.h"

#include "os/file.h"

#include <ini.h>

/* inih's limits are variables of the process, in the builds of Debian and its like. They are set
 * before main(), so no thread sees them change. */
__attribute__((constructor)) static void set_limits(void)
{
    ini_max_line = INI_LINE_MAX + 3; /* with "\r\n" and a NUL */
    ini_use_stack = true; /* the heap's buffer begins smaller */
    ini_allow_bom = false;
    ini_allow_inline_comments = false;
}

/* A section header or a key. */
struct entry {
    char *section; /* a header owns it; its keys point to it */
    char *key; /* NULL: a section header */
    char *value;
    int line;
};

struct ini {
    const char *file;
    struct entry *entries; /* in file order */
    size_t count;
    const char *rest; /* of the text */
    size_t left;
    int line; /* the number of the line being read */
    bool open; /* inih has it, and has found no key in it yet */
    bool lost; /* the header of the current section is unreadable */
    ini_each *each;
    ini_wrong *wrong;
    void *arg;
};

int ini_fail(const struct ini_line *line, struct err *err, const char *fmt, ...)
{
    char *text;
    va_list args;

    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) == -1)
        text = mem_dup("out of memory");
    va_end(args);
    if (line->key != NULL)
        (void)err_set(err, MAS_DAMAGED, "[%s] %s: %s", line->section, line->key, text);
    else
        (void)err_set(err, MAS_DAMAGED, "[%s]: %s", line->section, text);
    free(text);
    return -1;
}

int ini_value(const struct ini_line *line, const struct value_type *type, void *to, size_t size,
              struct err *err)
{
    const char *want = value_parse(type, line->value, to, size);

    if (want == NULL)
        return 0;
    return type->sentence ? ini_fail(line, err, "%s", want)
                          : ini_fail(line, err, "'%s' is not %s", line->value, want);
}

int ini_fail_unknown(const struct ini_line *line, const char *why, const char *nearest,
                     struct err *err)
{
    return nearest == NULL ? ini_fail(line, err, "%s", why)
                           : ini_fail(line, err, "%s; did you mean '%s'?", why, nearest);
}

/* Reports an error in the current line. */
PRINTF_LIKE(2, 3) static void report(const struct ini *ini, const char *fmt, ...)
{
    bool known = !ini->lost && ini->count > 0;
    const char *section = known ? ini->entries[ini->count - 1].section : NULL;
    struct err err = ERR_INIT;
    va_list args;

    va_start(args, fmt);
    (void)err_vset(&err, MAS_DAMAGED, fmt, args);
    va_end(args);
    ini->wrong(ini->line, section, err.text, ini->arg);
}

/* Returns true for a byte that is a control character or begins one. */
static bool is_suspect(unsigned char c)
{
    return c < 0x20 || c == 0x7F || c == 0xC2;
}

/* Returns the index of the first such byte from i on, or len. Every command reads files of some
 * size, so it looks at eight bytes at once: a byte minus one has the top bit, which it had not
 * itself, if it was 0. */
static size_t find_suspect(const char *text, size_t len, size_t i)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);

    for (uint64_t eight; i + sizeof eight <= len; i += sizeof eight) {
        memcpy(&eight, text + i, sizeof eight);
        uint64_t del = eight ^ (ones * 0x7F);
        uint64_t c1 = eight ^ (ones * 0xC2);
        uint64_t any =
            ((eight - ones * 0x20) & ~eight) | ((del - ones) & ~del) | ((c1 - ones) & ~c1);
        if ((any & (ones << 7)) != 0)
            break;
    }
    while (i < len && !is_suspect((unsigned char)text[i]))
        i++;
    return i;
}

/* Returns true if text[i], a suspect, begins a control character other than tab, including C1. */
static bool is_control(const char *text, size_t len, size_t i)
{
    unsigned char c = (unsigned char)text[i];

    if (c == 0xC2)
        return i + 1 < len && (unsigned char)text[i + 1] >= 0x80 &&
               (unsigned char)text[i + 1] <= 0x9F;
    return c != '\t';
}

/* Checks that apply to every line, including comments. Reports the first error and returns false.
 */
static bool check_bytes(const struct ini *ini, const char *text, size_t len)
{
    const char *why = NULL;

    if (ini->line == 1 && len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
        why = "the file begins with a byte order mark";
    for (size_t i = 0; why == NULL && (i = find_suspect(text, len, i)) < len; i++) {
        if (is_control(text, len, i))
            why = text[i] == '\0' ? "the line contains a NUL byte"
                  : text[i] == '\r' && i + 1 == len
                      ? "the line ends in a carriage return; use a newline alone"
                      : "the line contains a control character";
    }
    if (why != NULL)
        report(ini, "%s", why);
    else if (len > INI_LINE_MAX)
        report(ini, "the line is longer than %d bytes", INI_LINE_MAX);
    return why == NULL && len <= INI_LINE_MAX;
}

/* Returns true if other readers of INI files would find a comment in this name. */
static bool holds_comment(const char *name)
{
    return strstr(name, " ;") != NULL || strstr(name, "\t;") != NULL;
}

static void add_entry(struct ini *ini, char *section, char *key, char *value)
{
    ini->entries = mem_room(ini->entries, ini->count, sizeof(*ini->entries));
    ini->entries[ini->count++] =
        (struct entry){.section = section, .key = key, .value = value, .line = ini->line};
}

static void add_section(struct ini *ini, const char *line)
{
    const char *start = line + 1 + strspn(line + 1, " \t");
    const char *bracket = strchr(start, ']');
    _cleanup_free_ char *name = NULL;
    size_t len;

    if (bracket == NULL) {
        report(ini, "missing ']'");
        return;
    }
    len = (size_t)(bracket - start);
    while (len > 0 && strchr(" \t", start[len - 1]) != NULL)
        len--;
    name = mem_dupn(start, len);
    if (bracket[1 + strspn(bracket + 1, " \t")] != '\0') {
        report(ini, "unexpected text after ']'");
    } else if (len == 0) {
        report(ini, "missing section name");
    } else if (len > INI_SECTION_MAX) {
        report(ini, "the section's name is longer than %d bytes", INI_SECTION_MAX);
    } else if (holds_comment(name)) {
        report(ini, "a section name must not contain ' ;'");
    } else {
        add_entry(ini, TAKE_PTR(name), NULL, NULL);
        ini->lost = false;
    }
}

/* Called by inih with the key of a line. */
static int add_key(void *arg, const char *section, const char *key, const char *value)
{
    struct ini *ini = arg;

    (void)section; /* it gets no headers */
    ini->open = false;
    if (key[0] == '\0')
        report(ini, "missing key before '='");
    else if (strlen(key) > INI_KEY_MAX)
        report(ini, "the key is longer than %d bytes", INI_KEY_MAX);
    else if (holds_comment(key))
        report(ini, "a key must not contain ':' or ' ;'; separate key and value with '='");
    else if (ini->count == 0)
        report(ini, "key '%s' comes before the first [section]", key);
    else
        add_entry(ini, ini->entries[ini->count - 1].section, mem_dup(key), mem_dup(value));
    return 1;
}

/* Reads a header or checks another line. Returns true if inih has to parse it. */
static bool check_line(struct ini *ini, const char *line)
{
    const char *text = line + strspn(line, " \t");

    if (*text == '\0' || *text == ';' || *text == '#')
        return false; /* a comment */
    if (text > line)
        report(ini, "the line begins with a blank; a value must be on one line");
    else if (line[0] == '[')
        add_section(ini, line);
    else if (!ini->lost && line[strcspn(line, "=:")] == ':')
        report(ini, "%s",
               strchr(line, '=') != NULL
                   ? "a key must not contain ':' or ' ;'; separate key and value with '='"
                   : "missing '='");
    else
        return !ini->lost;
    return false;
}

/* Called by inih for each line, with room for `max` bytes. */
static char *next_line(char *line, int max, void *arg)
{
    struct ini *ini = arg;
    const char *text = ini->rest;
    const char *newline = memchr(text, '\n', ini->left);
    size_t len = newline != NULL ? (size_t)(newline - text) : ini->left;

    if (ini->open)
        report(ini, "missing '='");
    ini->open = false;
    if (ini->left == 0)
        return NULL;
    ini->line++;
    ini->rest += len + (newline != NULL);
    ini->left -= len + (newline != NULL);
    ini->lost = ini->lost || (len > 0 && text[0] == '['); /* until its name is read */
    if (check_bytes(ini, text, len) && len < (size_t)max) {
        memcpy(line, text, len);
        line[len] = '\0';
        ini->open = check_line(ini, line);
    }
    if (!ini->open)
        line[0] = '\0';
    return line;
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

static int entry_cmp(const void *a, const void *b)
{
    const struct entry *x = *(const struct entry *const *)a;
    const struct entry *y = *(const struct entry *const *)b;
    int order = x->section == y->section ? 0 : strcmp(x->section, y->section);

    if (order == 0)
        order = strcmp(x->key, y->key);
    return order != 0 ? order : x->line - y->line;
}

/* Reports duplicate keys. A section may appear in several places and still is one section. */
static void check_twice(const struct ini *ini)
{
    _cleanup_free_ const struct entry **sorted = mem_grow(NULL, ini->count, sizeof(void *));
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
        struct ini_line line = to_line(ini, b);
        struct err err = ERR_INIT;
        (void)ini_fail(&line, &err, "duplicate key: first used in line %d", a->line);
        ini->wrong(b->line, b->section, err.text, ini->arg);
    }
}

/* Gives the caller each header and key. */
static void tell_entries(const struct ini *ini)
{
    struct err err = ERR_INIT;
    bool refused = false;

    for (size_t i = 0; i < ini->count; i++) {
        const struct entry *entry = &ini->entries[i];
        struct ini_line line = to_line(ini, entry);

        if (refused && entry->key != NULL)
            continue;
        refused = ini->each(&line, ini->arg, &err) == -1;
        if (refused) {
            ini->wrong(entry->line, entry->section, err.text, ini->arg);
            err = (struct err)ERR_INIT;
        }
        refused = refused && entry->key == NULL;
    }
}

static void free_entries(struct ini *ini)
{
    for (size_t i = 0; i < ini->count; i++) {
        if (ini->entries[i].key == NULL)
            free(ini->entries[i].section);
        free(ini->entries[i].key);
        free(ini->entries[i].value);
    }
    free(ini->entries);
}

int ini_read(int fd, const char *file, ini_each *each, ini_wrong *wrong, void *arg, struct err *err)
{
    struct ini ini = {.file = file, .each = each, .wrong = wrong, .arg = arg};
    _cleanup_free_ char *text = NULL;
    size_t len;

    if (file_read_stream(fd, file, INI_FILE_MAX, &text, &len, err) == -1)
        return err->number != EFBIG
                   ? -1
                   : err_set(err, MAS_DAMAGED, "%s: the file is larger than %d bytes", file,
                             INI_FILE_MAX);
    ini.rest = text;
    ini.left = len;
    if (ini_parse_stream(next_line, &ini, add_key, &ini) == -2)
        mem_fail();
    check_twice(&ini);
    tell_entries(&ini);
    free_entries(&ini);
    return 0;
}

/* ini_read() on any bytes. Each line it tells of must stand in the text as it was told. */
#include "fuzz.h"
#include "model/ini.h"

#include <sys/mman.h>

struct text {
    const char *start;
    const char *end;
    const char *at; /* the beginning of line number `line` */
    int line;
    struct str section;
};

static void must_be_trimmed(const char *text)
{
    size_t len = strlen(text);

    must(len == 0 || (text[0] != ' ' && text[0] != '\t'));
    must(len == 0 || (text[len - 1] != ' ' && text[len - 1] != '\t'));
}

static void skip_blanks(const char **p, const char *end)
{
    while (*p < end && (**p == ' ' || **p == '\t'))
        ++*p;
}

static void skip_text(const char **p, const char *end, const char *text)
{
    size_t len = strlen(text);

    must((size_t)(end - *p) >= len && memcmp(*p, text, len) == 0);
    *p += len;
}

/* Is the line in the text just what was told, blanks apart? */
static int check_line(const struct ini_line *line, void *arg, struct err *err)
{
    struct text *text = arg;
    const char *end;
    const char *p;

    (void)err;
    must(line->line > text->line || (line->line == 1 && text->at == text->start));
    for (; text->line < line->line; text->line++)
        text->at = (const char *)memchr(text->at, '\n', (size_t)(text->end - text->at)) + 1;
    p = text->at;
    end = memchr(p, '\n', (size_t)(text->end - p));
    end = end != NULL ? end : text->end;
    must_be_trimmed(line->section);
    must(line->section[0] != '\0');
    if (line->key == NULL) {
        skip_text(&p, end, "[");
        skip_blanks(&p, end);
        skip_text(&p, end, line->section);
        skip_blanks(&p, end);
        skip_text(&p, end, "]");
        str_clear(&text->section);
        str_add(&text->section, line->section);
    } else {
        must_be_trimmed(line->key);
        must_be_trimmed(line->value);
        must(line->key[0] != '\0');
        must(strcmp(line->section, str_text(&text->section)) == 0);
        skip_text(&p, end, line->key);
        skip_blanks(&p, end);
        skip_text(&p, end, "=");
        skip_blanks(&p, end);
        skip_text(&p, end, line->value);
    }
    skip_blanks(&p, end);
    must(p == end);
    return 0;
}

static void check_error(int line, const char *section, const char *text, void *arg)
{
    (void)arg;
    (void)section;
    must(line >= 1 && text[0] != '\0');
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    _cleanup_close_ int fd = memfd_create("ini", MFD_CLOEXEC);
    const char *bytes = (const char *)data;
    struct text text = {.start = bytes, .end = bytes + size, .at = bytes, .line = 1};
    struct err err = ERR_INIT;

    must(fd != -1 && write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
    if (ini_read(fd, "f.ini", check_line, check_error, &text, &err) == -1)
        must(err.code == MAS_DAMAGED && strncmp(err.text, "f.ini:", 6) == 0);
    str_free(&text.section);
    return 0;
}

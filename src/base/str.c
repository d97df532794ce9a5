/*
 * In this order: memory, struct str, what bytes a text may have (UTF-8, visible, words), the
 * quoting of the shell, and vectors. No test of a character depends on the locale. What is to be
 * shown or quoted is looked at a character at a time, but runs of plain ASCII are copied whole.
 */

#include "base/utf8.h"

/* Memory. */

/* Not exit(): this may be a forked child or a thread, which must not flush the stdio buffers. */
_Noreturn void mem_fail(void)
{
    static const char line[] = "mas: out of memory\n";
    ssize_t ignored = write(STDERR_FILENO, line, sizeof(line) - 1);

    (void)ignored;
    _exit(MAS_FAILED);
}

void *mem_alloc(size_t size)
{
    void *p = calloc(1, size > 0 ? size : 1);

    if (p == NULL)
        mem_fail();
    return p;
}

void *mem_grow(void *old, size_t count, size_t size)
{
    bool none = count == 0 || size == 0; /* 0 bytes would free */
    void *p = reallocarray(old, none ? 1 : count, none ? 1 : size);

    if (p == NULL)
        mem_fail();
    return p;
}

char *mem_dupn(const char *text, size_t len)
{
    char *copy;

    copy = len < SIZE_MAX ? malloc(len + 1) : NULL;
    if (copy == NULL)
        mem_fail();
    if (len > 0)
        memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

void *mem_room(void *array, size_t count, size_t size)
{
    if ((count & (count - 1)) != 0)
        return array;
    return mem_grow(array, count == 0 ? 1 : 2 * count, size);
}

char *mem_dup(const char *text)
{
    return text == NULL ? NULL : mem_dupn(text, strlen(text));
}

char *mem_printf(const char *fmt, ...)
{
    char *text = NULL;
    va_list args;
    int n;

    va_start(args, fmt);
    n = vasprintf(&text, fmt, args);
    va_end(args);
    if (n == -1)
        mem_fail();
    return text;
}

void mem_freep(void *p)
{
    void *memory;

    memcpy(&memory, p, sizeof(memory)); /* p points to a pointer of any type */
    free(memory);
}

void fd_closep(int *fd)
{
    int saved = errno;

    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
    errno = saved;
}

/* struct str. */

void str_reserve(struct str *s, size_t more)
{
    size_t need;
    size_t cap;

    if (more >= SIZE_MAX / 2 - s->len)
        mem_fail();
    need = s->len + more + 1;
    if (need <= s->cap)
        return;
    cap = s->cap < 64 ? 64 : s->cap + s->cap / 2;
    if (cap < need)
        cap = need;
    s->data = mem_grow(s->data, cap, 1);
    s->cap = cap;
    s->data[s->len] = '\0';
}

void str_addn(struct str *s, const char *bytes, size_t len)
{
    str_reserve(s, len);
    if (len > 0)
        memcpy(s->data + s->len, bytes, len);
    s->len += len;
    s->data[s->len] = '\0';
}

void str_add(struct str *s, const char *text)
{
    str_addn(s, text, strlen(text));
}

void str_addc(struct str *s, char c)
{
    str_reserve(s, 1);
    s->data[s->len++] = c;
    s->data[s->len] = '\0';
}

void str_vaddf(struct str *s, const char *fmt, va_list args)
{
    va_list again;

    va_copy(again, args);
    str_reserve(s, 64);
    int n = vsnprintf(s->data + s->len, s->cap - s->len, fmt, args);
    if (n >= 0 && (size_t)n >= s->cap - s->len) {
        str_reserve(s, (size_t)n);
        n = vsnprintf(s->data + s->len, s->cap - s->len, fmt, again);
    }
    va_end(again);
    if (n < 0)
        mem_fail(); /* with valid formats and sizes there is no other cause */
    s->len += (size_t)n;
}

void str_addf(struct str *s, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    str_vaddf(s, fmt, args);
    va_end(args);
}

void str_clear(struct str *s)
{
    s->len = 0;
    if (s->data != NULL)
        s->data[0] = '\0';
}

char *str_steal(struct str *s)
{
    char *data = s->data != NULL ? s->data : mem_dup("");

    *s = (struct str)STR_INIT;
    return data;
}

const char *str_text(const struct str *s)
{
    return s->data != NULL ? s->data : "";
}

void str_free(struct str *s)
{
    free(s->data);
    *s = (struct str)STR_INIT;
}

/* Properties of text. */

/* Returns the length of the UTF-8 character at `text`, 0 if there is none (RFC 3629, Unicode table
 * 3-7). */
static size_t utf8_char(const char *text, size_t len)
{
    const unsigned char *u = (const unsigned char *)text;
    unsigned char low = 0x80; /* bounds of the second byte: no overlong forms or surrogates */
    unsigned char high = 0xBF;
    size_t n;

    if (len == 0)
        return 0;
    if (u[0] < 0x80)
        return 1;
    if (u[0] < 0xC2 || u[0] > 0xF4)
        return 0;
    n = u[0] < 0xE0 ? 2 : u[0] < 0xF0 ? 3 : 4;
    if (n > len)
        return 0;
    if (u[0] == 0xE0)
        low = 0xA0;
    else if (u[0] == 0xED)
        high = 0x9F;
    else if (u[0] == 0xF0)
        low = 0x90;
    else if (u[0] == 0xF4)
        high = 0x8F;
    if (u[1] < low || u[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++) {
        if (!utf8_is_inside(text[i]))
            return 0;
    }
    return n;
}

bool str_is_utf8(const char *text, size_t len)
{
    while (len > 0) {
        size_t n = utf8_char(text, len);

        if (n == 0)
            return false;
        text += n;
        len -= n;
    }
    return true;
}

/* Returns true if this UTF-8 character of n bytes is safe on a terminal: not C0, DEL or C1, not a
 * line or paragraph separator, and not a control of text direction. */
static bool is_visible(const char *text, size_t n)
{
    const unsigned char *u = (const unsigned char *)text;

    if (n == 1)
        return u[0] >= 0x20 && u[0] != 0x7F;
    if (n == 2)
        return (u[0] != 0xC2 || u[1] >= 0xA0) && (u[0] != 0xD8 || u[1] != 0x9C); /* U+061C */
    if (n == 3 && u[0] == 0xE2 && u[1] == 0x80) /* U+200E, U+200F; U+2028 - U+202E */
        return u[2] != 0x8E && u[2] != 0x8F && (u[2] < 0xA8 || u[2] > 0xAE);
    if (n == 3 && u[0] == 0xE2 && u[1] == 0x81)
        return u[2] < 0xA6 || u[2] > 0xA9; /* U+2066 - U+2069 */
    return true;
}

void str_add_without_nul(struct str *s, const char *text, size_t len)
{
    for (size_t n; len > 0; text += n, len -= n) {
        n = strnlen(text, len);
        str_addn(s, text, n);
        if (n == len)
            return;
        str_add(s, "\ufffd");
        n++;
    }
}

void str_add_visible(struct str *s, const char *text, size_t len)
{
    str_reserve(s, len);
    while (len > 0) {
        size_t ascii = 0; /* the common case; listings contain much of it */
        while (ascii < len && text[ascii] >= 0x20 && text[ascii] < 0x7f)
            ascii++;
        str_addn(s, text, ascii);
        text += ascii;
        len -= ascii;
        if (len == 0)
            return;
        size_t n = utf8_char(text, len);

        if (n > 0 && is_visible(text, n)) {
            str_addn(s, text, n);
        } else {
            n = n > 0 ? n : 1;
            for (size_t i = 0; i < n; i++)
                str_addf(s, "\\x%02x", (unsigned)(unsigned char)text[i]);
        }
        text += n;
        len -= n;
    }
}

void str_add_line(struct str *s, const char *line, size_t len)
{
    for (const char *tab; (tab = memchr(line, '\t', len)) != NULL;) {
        size_t before = (size_t)(tab - line);
        str_add_visible(s, line, before);
        str_addc(s, '\t');
        line += before + 1;
        len -= before + 1;
    }
    str_add_visible(s, line, len);
}

/* Not isalnum(): the result must not depend on the locale. */
static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool str_is_word(const char *text, size_t max)
{
    size_t n = 0;

    for (; text[n] != '\0'; n++) {
        if (n == max || !(is_alnum(text[n]) || text[n] == '_' || text[n] == '-'))
            return false;
    }
    return n > 0;
}

bool str_has_control(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7F)
            return true;
    }
    return false;
}

size_t str_cut(const char *text, size_t len, size_t max)
{
    return len <= max ? len : utf8_start(text, max);
}

size_t str_fit(const char *text, size_t max)
{
    return str_cut(text, strnlen(text, max + 1), max);
}

bool str_ends(const char *text, const char *suffix)
{
    size_t len = strlen(text);
    size_t end = strlen(suffix);

    return len >= end && strcmp(text + len - end, suffix) == 0;
}

bool str_starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Shell quoting. */

static bool is_shell_word(const char *text)
{
    for (; *text != '\0'; text++) {
        if (!is_alnum(*text) && strchr("_./:@%+,-", *text) == NULL)
            return false;
    }
    return true;
}

void str_add_shell(struct str *s, const char *text, bool always)
{
    if (!always && is_shell_word(text)) {
        str_add(s, text);
        return;
    }
    str_addc(s, '\'');
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            str_add(s, "'\\''");
        else
            str_addc(s, *text);
    }
    str_addc(s, '\'');
}

void str_add_name(struct str *s, const char *text)
{
    _cleanup_str_ struct str shown = STR_INIT;

    str_add_visible(&shown, text, strlen(text));
    str_add_shell(s, str_text(&shown), shown.len == 0);
}

char *mem_name(const char *text)
{
    struct str name = STR_INIT;

    str_add_name(&name, text);
    return str_steal(&name);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* Appends the character that the backslash at *text escapes; moves *text to the last character
 * read. */
static int add_escaped(struct str *word, const char **text, bool in_quotes, struct err *err)
{
    char c = *++*text;

    if (c == '\0')
        return err_set(err, MAS_FAILED, "a backslash at the end");
    if (in_quotes && strchr("$`\"\\\n", c) == NULL)
        str_addc(word, '\\');
    if (c != '\n') /* a line continuation */
        str_addc(word, c);
    return 0;
}

/* Appends the contents of the quotes that open at *text; moves *text to the closing one. */
static int add_quoted(struct str *word, const char **text, struct err *err)
{
    char quote = **text;

    for (++*text; **text != quote; ++*text) {
        if (**text == '\0')
            return err_set(err, MAS_FAILED, "unterminated %s quote",
                           quote == '"' ? "double" : "single");
        if (quote == '"' && **text == '\\') {
            if (add_escaped(word, text, true, err) == -1)
                return -1;
        } else {
            str_addc(word, **text);
        }
    }
    return 0;
}

/* Reads the word at *text, which does not begin with a blank, and moves *text past it. *ret_any
 * stays false if there was only an escaped newline, which is not a word. */
static int split_word(struct str *word, const char **text, bool *ret_any, struct err *err)
{
    bool any = false;

    for (; **text != '\0' && !is_blank(**text); ++*text) {
        size_t len = word->len;

        if (**text == '\'' || **text == '"') {
            if (add_quoted(word, text, err) == -1)
                return -1;
            any = true;
        } else if (**text == '\\') {
            if (add_escaped(word, text, false, err) == -1)
                return -1;
        } else {
            str_addc(word, **text);
        }
        any = any || word->len > len;
    }
    *ret_any = any;
    return 0;
}

/* Appends the words of text to *words, which is empty. */
static int split_text(const char *text, char ***words, struct err *err)
{
    size_t count = 0;

    for (;;) {
        _cleanup_str_ struct str word = STR_INIT;
        bool any;

        while (is_blank(*text))
            text++;
        if (*text == '\0')
            return 0;
        if (split_word(&word, &text, &any, err) == -1)
            return -1;
        if (!any)
            continue;
        *words = mem_grow(*words, count + 2, sizeof(**words));
        (*words)[count++] = str_steal(&word);
        (*words)[count] = NULL;
    }
}

int str_split_words(const char *text, char ***ret_words, struct err *err)
{
    char **words = mem_alloc(sizeof(*words));

    if (split_text(text, &words, err) == -1) {
        strv_free(words);
        return -1;
    }
    *ret_words = words;
    return 0;
}

char **str_split_list(const char *text)
{
    static const char blanks[] = ", \t";
    char **words = NULL;
    size_t count = 0;

    for (text += strspn(text, blanks); *text != '\0'; text += strspn(text, blanks)) {
        size_t len = strcspn(text, blanks);
        words = mem_room(words, count, sizeof *words);
        words[count++] = mem_dupn(text, len);
        text += len;
    }
    if (count > 0) {
        words = mem_grow(words, count + 1, sizeof *words);
        words[count] = NULL;
    }
    return words;
}

bool str_fields(char *line, char separator, char **ret, size_t count)
{
    const char at[] = {separator, '\0'};

    for (size_t i = 0; i + 1 < count; i++) {
        ret[i] = strsep(&line, at);
        if (line == NULL)
            return false;
    }
    ret[count - 1] = line;
    return true;
}

/* Vectors. */

size_t strv_len(char *const *v)
{
    size_t n = 0;

    while (v != NULL && v[n] != NULL)
        n++;
    return n;
}

bool strv_has(char *const *v, const char *text)
{
    for (; v != NULL && *v != NULL; v++)
        if (strcmp(*v, text) == 0)
            return true;
    return false;
}

void strv_push(char ***v, const char *text)
{
    size_t n = strv_len(*v);
    char *copy = mem_dup(text);

    *v = mem_grow(*v, n + 2, sizeof(**v));
    (*v)[n] = copy;
    (*v)[n + 1] = NULL;
}

void strv_push_all(char ***v, char *const *more)
{
    for (; more != NULL && *more != NULL; more++)
        strv_push(v, *more);
}

void strv_free(char **v)
{
    for (size_t i = 0; v != NULL && v[i] != NULL; i++)
        free(v[i]);
    free(v);
}

void strv_freep(char ***v)
{
    strv_free(*v);
}

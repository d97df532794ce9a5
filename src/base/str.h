/*
 * Strings and memory.
 *
 * struct str is a growing byte buffer that is always NUL-terminated. Its owner releases it with
 * str_free() (or declares it `_cleanup_str_`), or takes the bytes with str_steal().
 *
 *     _cleanup_str_ struct str s = STR_INIT;
 *     str_addf(&s, "%s/%s", dir, name);
 *     char *path = str_steal(&s);
 *
 * If memory runs out, the process ends at once (exit 1, one line on stderr). Every size that a user
 * controls has a far lower limit, and everything on disk survives a kill.
 */
#pragma once

struct str {
    char *data; /* NULL or NUL-terminated; use str_text() if NULL would hurt */
    size_t len; /* bytes, without the NUL */
    size_t cap;
};

#define STR_INIT                                                                                   \
    {                                                                                              \
        .data = NULL                                                                               \
    }

/* Append text, bytes, a character or formatted text. */
void str_add(struct str *s, const char *text);
void str_addn(struct str *s, const char *bytes, size_t len);
void str_addc(struct str *s, char c);
void str_addf(struct str *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
void str_vaddf(struct str *s, const char *fmt, va_list args) PRINTF_LIKE(2, 0);
/* Makes space for `more` bytes and the NUL. */
void str_reserve(struct str *s, size_t more);
void str_clear(struct str *s); /* length 0; keeps the memory */
char *str_steal(struct str *s); /* never NULL; the caller frees it; s is empty afterwards */
/* Returns the text, "" if the buffer is empty; valid until s changes. */
const char *str_text(const struct str *s);
void str_free(struct str *s);
#define _cleanup_str_ __attribute__((cleanup(str_free)))

/* Appends a text with U+FFFD in the place of each NUL. */
void str_add_without_nul(struct str *s, const char *text, size_t len);
/* Appends text so that no byte of it affects a terminal: control characters (C0, DEL, C1) and bytes
 * that are not UTF-8 become \xNN. A backslash stays as it is. */
void str_add_visible(struct str *s, const char *text, size_t len);
/* Appends a line of a text or of code in the same way, but leaves its tabs. */
void str_add_line(struct str *s, const char *line, size_t len);

/* Appends text so that a POSIX shell reads it back unchanged: bare if it matches
 * [A-Za-z0-9_./:@%+,-]*, otherwise in single quotes. With `always`, quotes it in any case. */
void str_add_shell(struct str *s, const char *text, bool always);

/* Appends a name from outside (of a file, a branch, a person) so that it remains one name in a
 * sentence, in a command line and on a terminal: as str_add_visible() shows it, quoted if a shell
 * would take it for more. mem_name() returns the same, which the caller frees. */
void str_add_name(struct str *s, const char *text);
char *mem_name(const char *text);

/* Splits text into words by the quoting rules of the shell ('..', "..", \) without expanding
 * anything. An unclosed quote is an error. *ret_words is NULL-terminated; the caller releases it
 * with strv_free(). */
int str_split_words(const char *text, char ***ret_words, struct err *err);

/* Splits a list at commas, spaces and tabs. Returns NULL if it has no words. The caller releases
 * the result with strv_free(). */
char **str_split_list(const char *text);
/* Cuts a line at its first count - 1 separators; the last field is the rest of it. Returns false if
 * it has fewer. */
bool str_fields(char *line, char separator, char **ret, size_t count);

/* NULL-terminated vectors of strings; a vector owns its strings. */
size_t strv_len(char *const *v);
bool strv_has(char *const *v, const char *text);
void strv_push(char ***v, const char *text); /* copies text; *v may be NULL */
void strv_push_all(char ***v, char *const *more); /* likewise; `more` may be NULL */
void strv_free(char **v);
void strv_freep(char ***v);
#define _cleanup_strv_ __attribute__((cleanup(strv_freep)))

/* How messages name the characters of a word, behind "1 to <max> ". */
#define STR_WORD_CHARS "characters of A-Z a-z 0-9 _ -"
/* Returns true if text matches ^[A-Za-z0-9_-]{1,max}$ */
bool str_is_word(const char *text, size_t max);
bool str_has_control(const char *text); /* C0 or DEL */
bool str_is_utf8(const char *text, size_t len);
/* Return how many bytes of a text fit into `max`, cut at a character boundary. str_fit() takes a
 * NUL-terminated text. */
size_t str_cut(const char *text, size_t len, size_t max);
size_t str_fit(const char *text, size_t max);
/* Returns true if `text` begins with `prefix`. */
bool str_starts(const char *text, const char *prefix);
bool str_ends(const char *text, const char *suffix);

/* Allocation functions that never return NULL. */
_Noreturn void mem_fail(void); /* says that there is no memory, and ends the process */
void *mem_alloc(size_t size); /* zeroed */
/* checks that count * size does not overflow */
void *mem_grow(void *old, size_t count, size_t size);
/* Makes space for one more element in an array of `count` elements; the array grows at 0, 1, 2, 4,
 * ... elements. Returns the array. */
void *mem_room(void *array, size_t count, size_t size);
char *mem_dup(const char *text); /* NULL stays NULL */
char *mem_dupn(const char *text, size_t len);
/* Returns formatted text. */
char *mem_printf(const char *fmt, ...) PRINTF_LIKE(1, 2);

void mem_freep(void *p); /* for _cleanup_free_: p points to a pointer */
void fd_closep(int *fd);
#define _cleanup_free_ __attribute__((cleanup(mem_freep)))
#define _cleanup_close_ __attribute__((cleanup(fd_closep)))

/* Return the value of a variable and reset the variable, so that its cleanup releases nothing. */
#define TAKE_PTR(pointer) TAKE(pointer, NULL)
#define TAKE_FD(fd) TAKE(fd, -1)
#define TAKE(variable, none)                                                                       \
    ({                                                                                             \
        __typeof__(variable) taken_ = (variable);                                                  \
        (variable) = (none);                                                                       \
        taken_;                                                                                    \
    })

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

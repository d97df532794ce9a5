/*
 * Strings and memory.
 *
 * struct str is a growing byte buffer that is always NUL-terminated. Its owner releases it with
 * str_free() (or declares it `_cleanup_str_`), or takes the bytes out with str_steal().
 *
 *     _cleanup_str_ struct str s = STR_INIT;
 *     str_addf(&s, "%s/%s", dir, name);
 *     char *path = str_steal(&s);
 *
 * Memory that is not there ends the process at once (exit 1, one line on stderr): every size that a
 * user controls has a limit long before that, and everything on disk is safe against a kill.
 */
#ifndef MAS_BASE_STR_H
#define MAS_BASE_STR_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct str {
    char *data; /* NULL or NUL-terminated; use str_text() where NULL would hurt */
    size_t len; /* bytes, without the NUL */
    size_t cap;
};

#define STR_INIT                                                                                   \
    {                                                                                              \
        .data = NULL                                                                               \
    }

void str_add(struct str *s, const char *text);
void str_addn(struct str *s, const char *bytes, size_t len);
void str_addc(struct str *s, char c);
void str_addf(struct str *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
void str_reserve(struct str *s, size_t more);
void str_clear(struct str *s); /* length 0, memory kept */
char *str_steal(struct str *s); /* never NULL; the caller frees; s is empty after */
const char *str_text(const struct str *s);
void str_free(struct str *s);
#define _cleanup_str_ __attribute__((cleanup(str_free)))

/* Appends text so that no byte of it can move a terminal: control characters (C0, DEL, C1) and
 * bytes that are not UTF-8 become \xNN, a backslash stays as it is. */
void str_add_visible(struct str *s, const char *text, size_t len);

/* Appends text as a POSIX shell reads it back: plain where it is [A-Za-z0-9_./:@%+,-]*, else in
 * single quotes. With `always` also plain text is quoted. */
void str_add_shell(struct str *s, const char *text, bool always);

/* Splits text into words by the shell's quoting rules ('..', "..", \), expanding nothing. An
 * unclosed quote is an error. ret_words is NULL-terminated; release it with strv_free(). */
int str_split_words(const char *text, char ***ret_words, struct err *err);

/* The words of a list, between commas and blanks; NULL where there are none. Released with
 * strv_free(). */
char **str_split_list(const char *text);

/* NULL-terminated vectors of strings, all of them owned. */
size_t strv_len(char *const *v);
void strv_push(char ***v, const char *text); /* copies text; *v may be NULL */
void strv_free(char **v);
void strv_freep(char ***v);
#define _cleanup_strv_ __attribute__((cleanup(strv_freep)))

/* true if text matches ^[A-Za-z0-9_-]{1,max}$ */
bool str_is_word(const char *text, size_t max);
bool str_has_control(const char *text); /* C0 or DEL */
bool str_is_utf8(const char *text, size_t len);
/* Bytes of a text that fit into `max`, cut at a character; str_fit(): of one that ends with a NUL.
 */
size_t str_cut(const char *text, size_t len, size_t max);
size_t str_fit(const char *text, size_t max);
bool str_starts(const char *text, const char *prefix);

/* Allocation that does not return NULL. */
_Noreturn void mem_fail(void); /* says that there is no memory, and ends the process */
void *mem_alloc(size_t size); /* zeroed */
void *mem_grow(void *old, size_t count, size_t size); /* checks count * size */
/* Room in an array of `count` elements for one more; it doubles at 0, 1, 2, 4, ... */
void *mem_room(void *array, size_t count, size_t size);
char *mem_dup(const char *text); /* NULL stays NULL */
char *mem_dupn(const char *text, size_t len);
char *mem_printf(const char *fmt, ...) PRINTF_LIKE(1, 2);

void mem_freep(void *p); /* for _cleanup_free_: p points at a pointer */
void fd_closep(int *fd);
#define _cleanup_free_ __attribute__((cleanup(mem_freep)))
#define _cleanup_close_ __attribute__((cleanup(fd_closep)))

/* Hands over what a variable owns, and leaves nothing in it that its clean-up would end. */
#define TAKE_PTR(pointer) TAKE(pointer, NULL)
#define TAKE_FD(fd) TAKE(fd, -1)
#define TAKE(variable, none)                                                                       \
    ({                                                                                             \
        __typeof__(variable) taken_ = (variable);                                                  \
        (variable) = (none);                                                                       \
        taken_;                                                                                    \
    })

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif

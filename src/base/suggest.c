#include "base/suggest.h"

#include <strings.h>

enum { WORD_MAX = 64, PREFIX_MIN = 3 }; /* the longest is the name of a session */

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Returns how many letters are inserted, deleted, changed or swapped with the next one between two
 * words of at most WORD_MAX bytes. */
static unsigned distance(const char *a, const char *b)
{
    unsigned rows[3][WORD_MAX + 1];
    unsigned *before = rows[0], *above = rows[1], *row = rows[2];
    size_t a_len = strlen(a), b_len = strlen(b);

    for (size_t j = 0; j <= b_len; j++)
        above[j] = (unsigned)j;
    memset(rows[0], 0, sizeof rows[0]);
    for (size_t i = 1; i <= a_len; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_len; j++) {
            int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);
            row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
                y == tolower((unsigned char)a[i - 2]))
                row[j] = least(row[j], before[j - 2] + 1);
        }
        unsigned *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[b_len];
}

/* Returns the maximum distance for a word of that length: in a short word every letter counts. */
static unsigned allowed(size_t len)
{
    return len < 3 ? 0 : len < 6 ? 1 : 2;
}

void suggest_try(struct suggest *suggest, const char *word)
{
    size_t len = strlen(suggest->typed);

    if (len == 0 || len > WORD_MAX || strlen(word) > WORD_MAX)
        return;
    unsigned far = len >= PREFIX_MIN && strncasecmp(word, suggest->typed, len) == 0
                       ? 0
                       : distance(suggest->typed, word);
    if (far <= allowed(len) && (suggest->nearest == NULL || far < suggest->distance)) {
        suggest->nearest = word;
        suggest->distance = far;
    }
}

const char *suggest_of(const char *typed, const char *const *words)
{
    struct suggest suggest = SUGGEST_INIT(typed);

    for (; *words != NULL; words++)
        suggest_try(&suggest, *words);
    return suggest.nearest;
}

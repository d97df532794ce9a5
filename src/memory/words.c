/*
 * A text is cut at blanks, stop words and duplicates go, and then the shortest pieces until few
 * enough are left; the others keep their order. What a word is follows the tokenizer of the index.
 * A term holds no quote, so that no text can end its phrase and become a part of the FTS5
 * expression.
 */

#include "memory/words.h"

#include <strings.h>

enum { WORD_MAX = 64, TAKEN_MAX = 512 /* words that are examined */ };

/* Words that occur in every second message; sorted. */
static const char *const stops[] = {
    "a",      "about", "after",  "again",   "all",   "also",   "am",      "an",     "and",
    "any",    "are",   "aren",   "as",      "at",    "be",     "because", "been",   "before",
    "being",  "both",  "but",    "by",      "can",   "could",  "couldn",  "d",      "did",
    "didn",   "do",    "does",   "doesn",   "doing", "don",    "down",    "during", "each",
    "few",    "for",   "from",   "had",     "hadn",  "has",    "hasn",    "have",   "haven",
    "having", "he",    "her",    "here",    "hers",  "him",    "his",     "how",    "i",
    "if",     "in",    "into",   "is",      "isn",   "it",     "its",     "just",   "ll",
    "m",      "me",    "might",  "more",    "most",  "must",   "my",      "no",     "nor",
    "not",    "now",   "of",     "off",     "on",    "once",   "only",    "or",     "other",
    "our",    "ours",  "out",    "over",    "own",   "please", "re",      "s",      "same",
    "shall",  "she",   "should", "shouldn", "so",    "some",   "such",    "t",      "than",
    "that",   "the",   "their",  "theirs",  "them",  "then",   "there",   "these",  "they",
    "this",   "those", "to",     "too",     "under", "until",  "up",      "us",     "ve",
    "very",   "was",   "wasn",   "we",      "were",  "weren",  "what",    "when",   "where",
    "which",  "while", "who",    "whom",    "why",   "will",   "with",    "won",    "would",
    "wouldn", "you",   "your",   "yours",
};

static int compare_stop(const void *a, const void *b)
{
    return strcmp(a, *(const char *const *)b);
}

bool words_is_stop(const char *word, size_t len)
{
    char lower[16];

    if (len >= sizeof lower)
        return false;
    for (size_t i = 0; i < len; i++)
        lower[i] = (char)tolower((unsigned char)word[i]);
    lower[len] = '\0';
    return bsearch(lower, stops, ARRAY_LEN(stops), sizeof *stops, compare_stop) != NULL;
}

/* Returns true for a byte of a word, as the index's tokenizer sees it; any non-ASCII byte may be
 * one. */
static bool is_part(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

size_t words_dense(const char *text, size_t len, size_t at)
{
    /* Thai to Lao, Burmese, Khmer, kana, ideographs, Hangul, compatibility, ideographs */
    static const uint32_t ranges[][2] = {{0x0E01, 0x0EDF}, {0x1000, 0x109F}, {0x1780, 0x17D3},
                                         {0x3005, 0x3007}, {0x3041, 0x309F}, {0x30A1, 0x30FA},
                                         {0x30FC, 0x30FF}, {0x3400, 0x4DBF}, {0x4E00, 0x9FFF},
                                         {0xAC00, 0xD7A3}, {0xF900, 0xFAFF}, {0x20000, 0x323AF}};
    const unsigned char *c = (const unsigned char *)text + at;
    uint32_t code;
    size_t bytes;

    if (at >= len || *c < 0xE0)
        return 0;
    bytes = *c < 0xF0 ? 3 : 4;
    if (len - at < bytes)
        return 0;
    code = bytes == 3 ? *c & 0x0FU : *c & 0x07U;
    for (size_t i = 1; i < bytes; i++) {
        if ((c[i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (c[i] & 0x3FU);
    }
    for (size_t i = 0; i < ARRAY_LEN(ranges); i++)
        if (code >= ranges[i][0] && code <= ranges[i][1])
            return bytes;
    return 0;
}

size_t words_count(const char *text, size_t len)
{
    size_t count = 0;

    for (size_t i = 0; i < len; i++)
        count += is_part(text[i]) && (i == 0 || !is_part(text[i - 1]));
    return count;
}

/* A piece of the search text. */
struct cut {
    const char *text;
    size_t len;
    bool prefix, quoted, stop, out;
};

/* Text between blanks may be several words ("fix-login", "store_open()"): they form a phrase. What
 * follows an apostrophe is a stop word ("doesn't", "Ann's"). */
static const char *next_cut(const char *at, struct cut *ret)
{
    const char *end;

    while (*at != '\0' && !is_part(*at) && *at != '"')
        at++;
    *ret = (struct cut){.text = at, .quoted = *at == '"'};
    size_t one = words_dense(at, strnlen(at, 12), 0);
    if (one > 0) { /* each two characters; one alone begins two */
        size_t two = words_dense(at, strnlen(at, 12), one);
        ret->len = one + two;
        ret->prefix = two == 0;
        return at + (two > 0 && words_dense(at, strnlen(at, 12), one + two) > 0 ? one : one + two);
    }
    if (ret->quoted) {
        ret->text = ++at;
        end = strchr(at, '"');
        if (end == NULL)
            end = at + strlen(at);
        at = *end == '"' ? end + 1 : end;
    } else {
        while (*at != '\0' && !isspace((unsigned char)*at) && *at != '"' && *at != '\'' &&
               *at != ',' && *at != '*' && words_dense(at, strnlen(at, 4), 0) == 0)
            at++;
        end = at;
        while (end > ret->text && !is_part(end[-1]))
            end--;
        if (*at == '\'' && strncmp(at, "'s", 2) == 0 && !is_part(at[2]))
            at += 2;
    }
    ret->prefix = *at == '*';
    ret->len = (size_t)(end - ret->text);
    ret->stop = !ret->quoted && !ret->prefix && words_is_stop(ret->text, ret->len);
    return at;
}

static bool is_twice(const struct cut *cuts, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (cuts[k].len == cuts[i].len && cuts[k].prefix == cuts[i].prefix &&
            strncasecmp(cuts[k].text, cuts[i].text, cuts[i].len) == 0)
            return true;
    }
    return false;
}

/* Drops the shortest pieces until few enough remain; of two equal ones the later. */
static void thin(struct cut *cuts, size_t count, size_t left)
{
    for (; left > WORDS_MAX; left--) {
        size_t shortest = count;
        for (size_t i = 0; i < count; i++) {
            if (!cuts[i].out && !cuts[i].quoted &&
                (shortest == count || cuts[i].len <= cuts[shortest].len))
                shortest = i;
        }
        for (size_t i = count; shortest == count && i-- > 0;) {
            if (!cuts[i].out)
                shortest = i;
        }
        cuts[shortest].out = true;
    }
}

void words_parse(const char *text, struct words *ret)
{
    _cleanup_free_ struct cut *cuts = mem_alloc(TAKEN_MAX * sizeof *cuts);
    size_t count = 0;
    size_t telling = 0;
    size_t left = 0;

    *ret = (struct words){.count = 0};
    while (*text != '\0' && count < TAKEN_MAX) {
        text = next_cut(text, &cuts[count]);
        if (words_count(cuts[count].text, cuts[count].len) == 0 ||
            cuts[count].len > (cuts[count].quoted ? WORD_MAX * 8 : WORD_MAX) ||
            is_twice(cuts, count))
            continue;
        telling += !cuts[count].stop;
        count++;
    }
    for (size_t i = 0; i < count; i++) {
        cuts[i].out = cuts[i].stop && telling > 0;
        left += !cuts[i].out;
    }
    thin(cuts, count, left);
    for (size_t i = 0; i < count; i++) {
        if (cuts[i].out)
            continue;
        _cleanup_free_ char *term = mem_dupn(cuts[i].text, cuts[i].len);
        ret->prefix[ret->count++] = cuts[i].prefix;
        strv_push(&ret->terms, term);
    }
}

bool words_say_nothing(const struct words *words)
{
    for (size_t i = 0; i < words->count; i++)
        if (!words_is_stop(words->terms[i], strlen(words->terms[i])))
            return false;
    return true;
}

void words_match(const struct words *words, bool open, struct str *to)
{
    for (size_t i = 0; i < words->count; i++) {
        str_add(to, i == 0 ? "\"" : " OR \"");
        /* a term contains no quote */
        str_add(to, words->terms[i]);
        str_add(to, open || words->prefix[i] ? "\" *" : "\"");
    }
}

void words_free(struct words *words)
{
    strv_free(words->terms);
    *words = (struct words){.count = 0};
}

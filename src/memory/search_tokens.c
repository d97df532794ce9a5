/*
 * The tokenizer of the index: words as FTS5's `porter unicode61` has them, and of text that is
 * written without spaces each two characters side by side, so that a part of it can be found. The
 * last character stands alone, so that one character is found by all that begins with it. Tokens do
 * not overlap in the text, as snippet() needs it.
 */
#include "base/utf8.h"
#include "memory/search_internal.h"

/* FTS5 knows it only as this. */
struct Fts5Tokenizer {
    fts5_tokenizer how;
    Fts5Tokenizer *words;
};

typedef int token_each(void *arg, int flags, const char *token, int len, int start, int end);

struct shifted {
    token_each *each;
    void *arg;
    int by;
};

static int create(void *arg, const char **words, int count, Fts5Tokenizer **ret)
{
    const char *options[] = {"unicode61", "remove_diacritics", "2"};
    fts5_api *api = arg;
    Fts5Tokenizer *tokenizer = mem_alloc(sizeof *tokenizer);
    void *data = NULL;
    (void)words;
    (void)count;

    int rc = api->xFindTokenizer(api, "porter", &data, &tokenizer->how);
    if (rc == SQLITE_OK)
        rc = tokenizer->how.xCreate(data, options, ARRAY_LEN(options), &tokenizer->words);
    if (rc == SQLITE_OK)
        *ret = tokenizer;
    else
        free(tokenizer);
    return rc;
}

static void destroy(Fts5Tokenizer *tokenizer)
{
    tokenizer->how.xDelete(tokenizer->words);
    free(tokenizer);
}

static int shift(void *arg, int flags, const char *token, int len, int start, int end)
{
    const struct shifted *shifted = arg;
    return shifted->each(shifted->arg, flags, token, len, start + shifted->by, end + shifted->by);
}

static int tokenize(Fts5Tokenizer *tokenizer, void *arg, int flags, const char *text, int text_len,
                    token_each *each)
{
    struct shifted shifted = {.each = each, .arg = arg};
    size_t len = (size_t)text_len;
    size_t at = 0;
    int rc = SQLITE_OK;

    while (rc == SQLITE_OK && at < len) {
        size_t from = at;
        while (at < len && words_dense(text, len, at) == 0)
            at++;
        shifted.by = (int)from;
        if (at > from)
            rc = tokenizer->how.xTokenize(tokenizer->words, &shifted, flags, text + from,
                                          (int)(at - from), shift);
        size_t run = at;
        for (size_t one; rc == SQLITE_OK && (one = words_dense(text, len, at)) > 0; at += one) {
            size_t two = words_dense(text, len, at + one);
            if (two > 0 || at == run || (flags & FTS5_TOKENIZE_QUERY) == 0)
                rc = each(arg, 0, text + at, (int)(one + two), (int)at, (int)(at + one));
        }
    }
    return rc;
}

int search_add_tokenizer(fts5_api *api)
{
    fts5_tokenizer tokenizer = {create, destroy, tokenize};
    return api->xCreateTokenizer(api, "mas", api, &tokenizer, NULL);
}

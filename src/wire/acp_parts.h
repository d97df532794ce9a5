/*
 * What the files of the ACP client share: JSON of an agent made into what acp.h tells. Nobody else
 * includes this.
 */
#ifndef MAS_WIRE_ACP_PARTS_H
#define MAS_WIRE_ACP_PARTS_H

#include "wire/acp.h"

/* Makes words of an array: text of the members named, "" where there is none. */
struct acp_word_keys {
    const char *id, *name, *description, *kind; /* NULL: stays "" */
};
struct acp_words {
    struct acp_word *word;
    size_t count;
};
struct acp_words acp_words_read(const struct json *array, const struct acp_word_keys *keys);
void acp_words_free(struct acp_words *words);

/* An update and what it borrows. */
struct acp_news {
    struct acp_update update;
    struct acp_words words;
    struct str text;
};
/* Reads the `update` of a session/update. Released with acp_news_free(). */
void acp_news_read(const char *session, const struct json *json, struct acp_news *ret);
/* Reads a ToolCallUpdate by itself. */
void acp_news_read_tool(const char *session, const struct json *tool, struct acp_news *ret);
void acp_news_free(struct acp_news *news);

#endif

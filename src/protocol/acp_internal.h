/*
 * What the files of the ACP client share: the client itself, and JSON of an agent made into what
 * acp.h tells. Nobody else includes this.
 */
#ifndef MAS_PROTOCOL_ACP_INTERNAL_H
#define MAS_PROTOCOL_ACP_INTERNAL_H

#include "protocol/acp.h"
#include "protocol/rpc.h"

/* ---- the client */

/* A request of ours that waits. */
struct acp_asked {
    int64_t serial;
    enum acp_call call;
    char *session, *mode; /* that it names; NULL none */
    bool cancelled; /* a prompt */
};

/* A permission request that is open. */
struct acp_open_permission {
    char *ticket;
    char *session;
    char **options; /* ids */
};

struct acp {
    const struct acp_ops *ops;
    void *arg;
    struct rpc *rpc;
    struct acp_info info;
    struct acp_asked *asked;
    size_t asked_count;
    struct acp_open_permission *permissions;
    size_t permission_count;
    int busy; /* calls that may call ops */
    bool freed; /* meanwhile */
};

void acp_info_free(struct acp_info *info);
void acp_asked_free(struct acp_asked *asked);
/* Begins the parameters of a message. */
struct json_out acp_open_params(struct str *to);
/* For struct rpc_spec; `arg` is the client. */
void acp_on_answer(void *arg, const struct rpc_answer *from);
/* Answers those of a session as cancelled; `tell`: ops->withdrawn is called. */
void acp_cancel_permissions(struct acp *acp, const char *session, bool tell);

/* ---- what JSON says */

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

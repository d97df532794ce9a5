/*
 * Shared by the files of the ACP client: the client, and the conversion of an agent's JSON into the
 * structs of acp.h. No other file includes this.
 */
#pragma once

#include "protocol/acp.h"
#include "protocol/rpc.h"

/* ---- the client */

/* An own request without an answer. */
struct acp_asked {
    int64_t serial;
    enum acp_call call;
    char *session, *mode; /* that the request names; NULL: none */
    bool cancelled; /* a prompt that was cancelled */
};

/* An open permission request. */
struct acp_open_permission {
    char *ticket;
    char *session;
    char **options; /* their ids */
};

struct acp {
    const struct acp_ops *ops;
    void *arg;
    struct rpc *rpc;
    struct acp_info info;
    char *meta; /* _meta of requests for a session, JSON; NULL: none */
    char *system; /* appended to the system prompt; NULL: nothing */
    char **directories; /* NULL: none */
    struct acp_asked *asked;
    size_t asked_count;
    struct acp_open_permission *permissions;
    size_t permission_count;
    int busy; /* nesting of calls that may call ops */
    bool freed; /* freed during such a call */
};

void acp_info_free(struct acp_info *info);
void acp_asked_free(struct acp_asked *asked);
/* Begins the parameters of a message in `to`. */
struct json_out acp_open_params(struct str *to);
/* Reads the answer to an own request, and hands it on. */
void acp_on_answer(struct acp *acp, const struct rpc_answer *from);

/* ---- reading JSON */

/* An update and the memory that it points to. */
struct acp_news {
    struct acp_update update;
    struct word_list words;
    struct str text;
};
/* Reads the `update` of a session/update. Release *ret with acp_news_free(); `session` and `json`
 * must outlive it. */
void acp_news_read(const char *session, const struct json *json, struct acp_news *ret);
/* Reads a single ToolCallUpdate. */
void acp_news_read_tool(const char *session, const struct json *tool, struct acp_news *ret);
void acp_news_free(struct acp_news *news);
/* Reads the tokens from an answer to session/prompt, or from the data of its error; NULL tells
 * nothing. */
void acp_tokens_read(const struct json *answer, struct token_counts *ret);

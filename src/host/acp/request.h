/*
 * The requests that only the host of an ACP agent answers, and its `send`; for the table in
 * host/request.c. Each returns 0 after it has answered, or -1.
 */
#pragma once

#include "base/frame.h"

struct host;
struct client;

/* Queues a prompt, as `send` queues a message for any agent. */
int acp_request_send(struct host *host, struct client *client, const struct frame *frame,
                     struct err *err);
int acp_request_mode(struct host *host, struct client *client, const struct frame *frame,
                     struct err *err);
int acp_request_login(struct host *host, struct client *client, const struct frame *frame,
                      struct err *err);
int acp_request_set(struct host *host, struct client *client, const struct frame *frame,
                    struct err *err);
/* Lists what sessions the agent itself keeps, and deletes some; answers when the agent has. */
int acp_request_kept(struct host *host, struct client *client, const struct frame *frame,
                     struct err *err);

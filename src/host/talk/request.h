/*
 * The requests that a host answers for any agent that tells what it does, whatever it speaks; for
 * the table in host/request.c. Each returns 0 after it has answered, or -1.
 */
#pragma once

#include "host/talk/talk.h"

int talk_request_ask(struct host *host, struct client *client, const struct frame *frame,
                     struct err *err);
int talk_request_listen(struct host *host, struct client *client, const struct frame *frame,
                        struct err *err);
int talk_request_cancel(struct host *host, struct client *client, const struct frame *frame,
                        struct err *err);
/* Answers a permission, or lets an agent go on that has reached a limit of its budget. */
int talk_request_permit(struct host *host, struct client *client, const struct frame *frame,
                        struct err *err);
int talk_request_clear(struct host *host, struct client *client, const struct frame *frame,
                       struct err *err);
int talk_request_conversation(struct host *host, struct client *client, const struct frame *frame,
                              struct err *err);

/* ---- for the requests of one kind of agent */
/* Returns who asks: an agent, or "-", a person. */
const char *talk_asker(const struct client *client);
/* Fails if the body is no prompt, or the agent takes none. */
int talk_check_prompt(const struct host *host, const struct frame *frame, struct err *err);

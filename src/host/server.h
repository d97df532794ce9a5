/*
 * The socket of a host: its connections, and the bytes that go over them. What the requests mean is
 * request.c's; who makes them, peer.c's. For src/host/ only.
 */
#pragma once

#include "host/state.h"

int server_open(struct host *host, struct err *err);
void server_close(struct host *host);
/* Waits for new connections, and for what the clients write and read. */
void server_want(const struct host *host, struct loop *loop);
/* Handles what has come of that; requests with `handle`. */
typedef void server_handle(struct host *host, struct client *client, const struct frame *frame);
void server_serve(struct host *host, struct loop *loop, server_handle *handle);
/* Drops the early frames when it is time. Returns when to call again, -1: there are none. */
int64_t server_tick(struct host *host, int64_t now);
/* Writes as much as the clients read; sends the status to watchers that are due. */
typedef void server_put(const struct host *host, struct str *head);
void server_flush(struct host *host, server_put *put_status);
/* Returns true if a client watches the agent. */
bool server_is_watched(const struct host *host);
/* Sends the status to all watchers, soon. */
void server_mark_dirty(struct host *host);
/* Appends a frame to what is written to a client. */
void server_answer(struct client *client, const struct str *head);
/* Begin and send a positive answer. The caller writes the other members in between. A client for
 * which nothing follows leaves then. */
void server_open_answer(const struct host *host, struct str *head, struct json_out *out);
void server_close_answer(struct client *client, struct str *head, struct json_out *out);
/* Answers what has become of a message; `why` may be NULL. The client leaves, or watches. */
void server_answer_outcome(const struct host *host, struct client *client, const char *outcome,
                           const char *why, bool stays);
/* Answers with an error. The connection ends then, unless the client listens. */
void server_refuse(struct client *client, const struct err *err);
/* Returns true if one more client may watch. A watcher that does not read makes room for it. */
bool server_lets_watch(struct host *host);
/* Drops a client that does not read. */
void server_hang_up(struct client *client);
/* Returns the connection that waits for the end of this prompt; NULL: none. */
struct client *server_asker(struct host *host, int64_t prompt);
/* Ends that connection; its client has been told the end. */
void server_release_asker(struct host *host, int64_t prompt);
/* Tells the watchers of messages that the host has taken one; `from` NULL: a person's. Skips
 * watchers that have left much unread. */
void server_tell_message(struct host *host, const char *from, const char *text, size_t len);
/* Keep frames of the first seconds, as far as there is room, and send them to a client that asks
 * for them: clients find a new host only a moment after it has begun. */
void server_keep_early(struct host *host, enum server_audience audience, const struct str *head,
                       const char *body, size_t len);
void server_tell_early(const struct host *host, struct client *client,
                       enum server_audience audience);

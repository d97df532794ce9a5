/*
 * The addresses of the API. The table is in api.c. A handler answers at once, or later from a
 * worker, or opens the stream of events.
 */
#ifndef MAS_SERVE_API_H
#define MAS_SERVE_API_H

#include "serve/request.h"

struct listing;

extern const struct route api_routes[];
extern const size_t api_route_count;

/* Finds the route and checks the head of the request. Returns false if it has answered with an
 * error. */
bool api_begin(struct request *request);
/* Handles a request with its body and says how it goes on. Calls the handler of its route. */
enum handled api_handle(struct request *request);
/* Keeps an answer that the client may want again. */
void api_end(struct request *request);

/* Parses the body as a JSON object into request->json, which belongs to the request; an empty body
 * counts as {}. All members must be in `known`, a NULL-terminated list. Returns false if it has
 * answered with an error. */
bool api_read(struct request *request, const char *const *known);
/* Gets a text member of the body. *ret is NULL if it is missing; otherwise it belongs to the
 * request. Returns false, after answering with an error, if it is no text, or missing and
 * `needed`. */
bool api_text(struct request *request, const char *key, bool needed, const char **ret);
/* Checks a query that is true or false. Returns false after answering with an error. */
bool api_flag(struct request *request, const char *key);
/* Gets a query that is a number from 0 to `most`; without it *ret stays. Returns false after
 * answering with an error. */
bool api_number(struct request *request, const char *key, size_t most, size_t *ret);
/* Answers that the server has too much to do, or too much for the session of the path. */
void api_busy(struct request *request);
/* Lets a worker execute `run` and then sends the answer. Answers with 503 if too many requests
 * wait, in all or for the session of the path. */
enum handled api_later(struct request *request, void (*run)(struct job *job));
/* Likewise, past all that waits for the session: for what ends it. */
enum handled api_later_past(struct request *request, void (*run)(struct job *job));
/* Returns the request of a job that api_later() started. */
struct request *api_request(struct job *job);

/* Handlers, for the rows of the table. */
void api_ready(struct request *request);
/* Answers GET /sessions with this list. */
void api_sessions_answer(struct request *request, struct listing *listing);

/* Handlers. */
enum handled api_sessions(struct request *request);
enum handled api_session(struct request *request);
enum handled api_run(struct request *request);
enum handled api_stop(struct request *request);
enum handled api_start(struct request *request);
enum handled api_remove(struct request *request);
enum handled api_message(struct request *request);
enum handled api_agent(struct request *request);
enum handled api_permissions(struct request *request);
enum handled api_all_permissions(struct request *request);
enum handled api_review(struct request *request);
enum handled api_screen(struct request *request);
enum handled api_log(struct request *request);
enum handled api_kept(struct request *request);
enum handled api_setting(struct request *request);
enum handled api_act(struct request *request);
enum handled api_read_verb(struct request *request);
enum handled api_write(struct request *request);
enum handled api_archive(struct request *request);
enum handled api_restore(struct request *request);
enum handled api_operations(struct request *request);
enum handled api_operation(struct request *request);
enum handled api_operation_cancel(struct request *request);
enum handled api_events(struct request *request);
enum handled api_health(struct request *request);
enum handled api_metrics(struct request *request);
enum handled api_openapi(struct request *request);
enum handled api_page(struct request *request);
enum handled api_pair(struct request *request);
enum handled api_paired(struct request *request);
enum handled api_unpair(struct request *request);

#endif

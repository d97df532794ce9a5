/*
 * What is at which address. The table is in api.c; a handler answers at once, or later from a
 * worker, or opens the stream of events.
 */
#ifndef MAS_SERVE_API_H
#define MAS_SERVE_API_H

#include "serve/request.h"

struct listing;

extern const struct route api_routes[];
extern const size_t api_route_count;

/* Finds the route and checks all that stands in the head. false: there is an answer. */
bool api_begin(struct request *request);
/* Once the body is there. */
enum step api_handle(struct request *request);

/* The body as a JSON object, read into request->json, whose members are all among `known`, a
 * NULL-terminated list. false: there is an answer. */
bool api_read(struct request *request, const char *const *known);
/* A text member. false: it is there, but no text, or missing and `needed`. *ret may become NULL. */
bool api_text(struct request *request, const char *key, bool needed, const char **ret);
/* Another thread does `run`, then the request is answered. */
enum step api_later(struct request *request, void (*run)(struct job *job));
struct request *api_request(struct job *job);

/* A request that waited for a survey has it. */
void api_ready(struct request *request);
void api_sessions_answer(struct request *request, struct listing *listing);

/* Handlers. */
enum step api_sessions(struct request *request);
enum step api_session(struct request *request);
enum step api_run(struct request *request);
enum step api_stop(struct request *request);
enum step api_start(struct request *request);
enum step api_remove(struct request *request);
enum step api_message(struct request *request);
enum step api_prompt(struct request *request);
enum step api_history(struct request *request);
enum step api_context(struct request *request);
enum step api_events(struct request *request);
enum step api_health(struct request *request);
enum step api_metrics(struct request *request);
enum step api_openapi(struct request *request);

#endif

/*
 * The operations that have an address, see model/operation.h. A handler answers at once, or later
 * from a worker, or opens the stream of events; it finds the parameters in request->json, checked.
 */
#pragma once

#include "serve/later.h"

struct listing;

/* Finds the operation and checks the head of the request. Returns false if it has answered with an
 * error. */
bool api_begin(struct request *request);
/* Handles a request with its body and says how it goes on. */
enum handled api_handle(struct request *request);
/* Likewise, without looking at the root and at its Idempotency-Key. */
enum handled api_do(struct request *request);
/* Keeps an answer that the client may want again. */
void api_end(struct request *request);

/* Answers a request that has waited for the list of sessions. */
void api_ready(struct request *request);

/* Answer GET /sessions, and GET /metrics, with this list. */
void api_sessions_answer(struct request *request, struct listing *listing);
void api_metrics_answer(struct request *request, const struct listing *listing);
/* Writes the whole session as `mas show --json` prints it; for workers. Fails with MAS_NOT_FOUND if
 * it does not exist. */
int api_session_put(const struct server *server, const char *id, struct str *to, struct err *err);

/* What operations of each kind do; see enum operation_kind. The first two are on a worker. */
void api_run_host(struct job *job);
/* For workers: returns false, after answering with an error, if the session or the agent that the
 * path names is not there. A command would take the name of a group, too. */
bool api_has_path(struct request *request);
void api_run_told(struct job *job);
enum handled api_read_verb(struct request *request);
enum handled api_begin_task(struct request *request);

/* Handlers of operations of the kind OPERATION_OWN. */
enum handled api_sessions(struct request *request);
enum handled api_session(struct request *request);
enum handled api_run(struct request *request);
enum handled api_remove(struct request *request);
enum handled api_message(struct request *request);
enum handled api_agent(struct request *request);
enum handled api_permissions(struct request *request);
enum handled api_all_permissions(struct request *request);
enum handled api_review(struct request *request);
enum handled api_screen(struct request *request);
enum handled api_log(struct request *request);
enum handled api_kept(struct request *request);
enum handled api_picture(struct request *request);
enum handled api_setting(struct request *request);
enum handled api_archive(struct request *request);
enum handled api_restore(struct request *request);
enum handled api_operations(struct request *request);
enum handled api_operation(struct request *request);
enum handled api_operation_cancel(struct request *request);
enum handled api_events(struct request *request);
enum handled api_health(struct request *request);
enum handled api_metrics(struct request *request);
enum handled api_openapi(struct request *request);
enum handled api_markdown(struct request *request);
enum handled api_page(struct request *request);
enum handled api_pair(struct request *request);
enum handled api_paired(struct request *request);
enum handled api_unpair(struct request *request);

/*
 * Numbers for Prometheus: GET /metrics.
 */
#ifndef MAS_SERVE_METRICS_H
#define MAS_SERVE_METRICS_H

#include "serve/request.h"

struct metrics;

struct metrics *metrics_make(void);
void metrics_free(struct metrics *metrics);
/* A request has its answer; took_us -1: it is a stream, which has no time. */
void metrics_count(struct metrics *metrics, const struct request *request, int64_t took_us);

#endif

/*
 * Metrics for Prometheus: GET /metrics.
 */
#pragma once

#include "serve/request.h"

struct metrics;

/* Creates the counters; release them with metrics_free(). */
struct metrics *metrics_make(void);
void metrics_free(struct metrics *metrics);
/* Counts an answered request, see struct http_handler. */
void metrics_count(const struct request *request, int64_t took_us);

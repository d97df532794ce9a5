/*
 * Metrics for Prometheus: GET /metrics.
 */
#pragma once

#include "serve/request.h"

struct metrics;

/* Creates the counters; release them with metrics_free(). */
struct metrics *metrics_make(void);
void metrics_free(struct metrics *metrics);
/* Counts an answered request. took_us is its time in microseconds; -1: a stream, which has none. */
void metrics_count(struct metrics *metrics, const struct request *request, int64_t took_us);

/*
 * What a line of a program's transcript says, by the rules of its preset (model/line_rule.h). Like
 * an event (protocol/hook.h) it is what the agent says: hostile until parsed, and a fact only about
 * itself.
 */
#pragma once

#include "model/line_rule.h"
#include "model/money.h"
#include "model/token_counts.h"
#include "protocol/hook.h"

struct line_told {
    struct hook_told told; /* `json` is NULL; the texts point into the line, or into `owned` */
    struct {
        char *once; /* NULL: each line counts */
        const char *model; /* NULL: not told */
        struct token_counts tokens;
        int64_t used, window; /* of the context; -1: not told */
        struct money cost;
    } usage;
    struct {
        int percent; /* -1: not told */
        int64_t minutes, resets_ms; /* 0: not told */
    } quota;
    const char *directory; /* NULL: not told */
    char *owned;
};

/* Returns true, and fills in *ret, if the rule holds for the line. The caller releases *ret with
 * line_free(), also if it does not. */
bool line_apply(const struct line_rule *rule, const struct json *line, struct line_told *ret);
/* Returns false if the rule cannot hold for a line of these bytes, which is quickly found out. */
bool line_may_apply(const struct line_rule *rule, const char *text, size_t len);
void line_free(struct line_told *told);
#define _cleanup_line_ __attribute__((cleanup(line_free)))

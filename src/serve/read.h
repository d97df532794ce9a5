/*
 * Addresses whose answer is what a verb of mas prints with --json.
 */
#ifndef MAS_SERVE_READ_H
#define MAS_SERVE_READ_H

#include <stdbool.h>

enum { READ_QUERIES = 10 };

struct read {
    const char *words[3]; /* of the verb */
    enum { READ_ROOT, READ_SESSION, READ_AGENT, READ_ITEM } of; /* what the path names */
    struct {
        const char *query; /* its value is standard input; NULL: none */
        const char *option; /* that gets "-"; NULL: the operand "-" stands for it */
        bool needed;
    } text;
    struct read_query {
        const char *query, *option; /* query NULL: the end */
        bool flag; /* "true" or "false", and the option takes no value */
    } queries[READ_QUERIES];
};

extern const struct read read_search, read_usage, read_session_usage, read_du, read_session_du,
    read_doctor, read_config, read_env, read_jobs, read_presets, read_templates, read_template,
    read_template_check, read_history, read_context, read_session_diff, read_agent_diff,
    read_review;

/* Returns true if the address has a query of this name. */
bool reads_query(const struct read *read, const char *key);

#endif

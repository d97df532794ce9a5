/* Requests that are answered with what a verb of mas prints as JSON. */
#include "serve/read.h"

#include "model/template_name.h"
#include "serve/api.h"
#include "serve/server.h"
#include "serve/shared.h"
#include "serve/verb.h"

#include <string.h>

enum { WORDS = 40 };

/* clang-format off */
const struct read read_search = {
    {"search"}, READ_ROOT, {"q", NULL, true},
    {{"session", "--session", false}, {"agent", "--agent", false}, {"role", "--role", false}, {"since", "--since", false},
     {"until", "--until", false}, {"tag", "--tag", false}, {"limit", "--limit", false}},
};
const struct read read_usage = {{"usage"}, READ_ROOT, {.query = NULL}, {{"by", "--by", false}}};
const struct read read_session_usage = {
    {"usage"}, READ_SESSION, {.query = NULL}, {{"by", "--by", false}}};
const struct read read_du = {{"du"}, READ_ROOT, {.query = NULL}, {{.query = NULL}}};
const struct read read_session_du = {{"du"}, READ_SESSION, {.query = NULL}, {{.query = NULL}}};
const struct read read_doctor = {{"doctor"}, READ_ROOT, {.query = NULL}, {{.query = NULL}}};
const struct read read_config = {{"config"}, READ_ROOT, {.query = NULL}, {{.query = NULL}}};
const struct read read_env = {{"env"}, READ_SESSION, {.query = NULL}, {{.query = NULL}}};
const struct read read_jobs = {
    {"list", "--jobs"}, READ_ROOT, {.query = NULL},
    {{"active", "--active", true}, {"stopped", "--stopped", true}, {"error", "--error", true}},
};
const struct read read_presets = {{"presets"}, READ_ROOT, {.query = NULL}, {{.query = NULL}}};
const struct read read_templates = {
    {"template", "list"}, READ_ROOT, {.query = NULL}, {{.query = NULL}}};
const struct read read_template = {
    {"template", "show"}, READ_ITEM, {.query = NULL}, {{.query = NULL}}};
const struct read read_template_check = {
    {"template", "check"}, READ_ITEM, {.query = NULL}, {{.query = NULL}}};
const struct read read_history = {
    {"history"}, READ_AGENT, {.query = NULL},
    {{"limit", "--limit", false}, {"offset", "--offset", false}, {"query", "--query", false}, {"since", "--since", false},
     {"until", "--until", false}, {"role", "--role", false}, {"tag", "--tag", false},
     {"conversation", "--conversation", false}},
};
const struct read read_context = {
    {"context"}, READ_AGENT, {"for", "--for", false}, {{"team", "--team", true}}};
const struct read read_session_diff = {
    {"diff"}, READ_SESSION, {.query = NULL},
    {{"stat", "--stat", true}, {"base", "--base", true}, {"integration", "--integration", true}},
};
const struct read read_agent_diff = {
    {"diff"}, READ_AGENT, {.query = NULL},
    {{"stat", "--stat", true}, {"base", "--base", true}, {"integration", "--integration", true}},
};
const struct read read_review = {{"review"}, READ_AGENT, {.query = NULL}, {{.query = NULL}}};

/* clang-format on */

/* Returns the option of a query, or NULL if there is none of that name. */
static const struct read_query *find_query(const struct read *read, const char *key)
{
    for (size_t i = 0; i < READ_QUERIES && read->queries[i].query != NULL; i++)
        if (strcmp(read->queries[i].query, key) == 0)
            return &read->queries[i];
    return NULL;
}

bool reads_query(const struct read *read, const char *key)
{
    return find_query(read, key) != NULL ||
           (read->text.query != NULL && strcmp(read->text.query, key) == 0);
}

static bool is_flag(const char *value)
{
    return strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
}

static bool check_queries(struct request *request)
{
    const struct read *read = request->route->read;
    const char *text = read->text.query;

    for (size_t i = 0; i < request->query_count; i++) {
        const struct read_query *query = find_query(read, request->queries[i].key);
        const char *value = request->queries[i].value;
        if (query != NULL && query->flag && !is_flag(value)) {
            answer_error(request, 400, "cannot use the query %s: it is neither true nor false",
                         query->query);
            return false;
        }
        /* NAME:SESSION would be a session of another machine, which no client of this one asks */
        if (query != NULL && strcmp(query->option, "--session") == 0 &&
            strchr(value, ':') != NULL) {
            answer_error(request, 400, "cannot use the query %s: it is not a session of this root",
                         query->query);
            return false;
        }
    }
    if (text != NULL && read->text.needed && request_query(request, text) == NULL) {
        answer_error(request, 400, "cannot do without the query %s", text);
        return false;
    }
    return true;
}

static size_t add_queries(const struct request *request, const char **words, size_t count)
{
    for (size_t i = 0; i < request->query_count; i++) {
        const struct read_query *query = find_query(request->route->read, request->queries[i].key);
        const char *value = request->queries[i].value;
        if (query == NULL || (query->flag && strcmp(value, "true") != 0))
            continue;
        words[count++] = query->option;
        if (!query->flag)
            words[count++] = value;
    }
    return count;
}

/* Writes the command line. Private text goes through standard input instead, because other users
 * can read a command line. */
static void add_words(const struct request *request, const char **words)
{
    const struct read *read = request->route->read;
    bool has_text = read->text.query != NULL && request_query(request, read->text.query) != NULL;
    size_t count = 0;

    for (size_t i = 0; i < ARRAY_LEN(read->words) && read->words[i] != NULL; i++)
        words[count++] = read->words[i];
    words[count++] = "--json";
    if (read->of == READ_SESSION || read->of == READ_AGENT) {
        words[count++] = "-s";
        words[count++] = request->id;
    }
    count = add_queries(request, words, count);
    if (has_text && read->text.option != NULL) {
        words[count++] = read->text.option;
        words[count++] = "-";
    }
    words[count++] = "--";
    if (has_text && read->text.option == NULL)
        words[count++] = "-";
    if (read->of == READ_AGENT)
        words[count++] = request->agent;
    if (read->of == READ_ITEM)
        words[count++] = request->item;
}

/* "cannot use --since 'x'" is "cannot use the query since 'x'" here. */
static void say_query(const struct read *read, struct err *err)
{
    for (size_t i = 0; i < READ_QUERIES && read->queries[i].query != NULL; i++) {
        _cleanup_free_ char *option = mem_printf("use %s ", read->queries[i].option);
        _cleanup_free_ char *query = mem_printf("use the query %s ", read->queries[i].query);
        verb_reword(err, option, query);
    }
}

/* Returns true if exit code 1 says that what the verb printed names something wrong. */
static bool is_check(const struct read *read)
{
    return read == &read_doctor || read == &read_template_check;
}

static int find_read(const struct request *request, struct str *ret, struct err *err)
{
    const struct read *read = request->route->read;
    const char *text = read->text.query != NULL ? request_query(request, read->text.query) : NULL;
    const char *words[WORDS] = {NULL};
    _cleanup_str_ struct str input = STR_INIT;

    add_words(request, words);
    str_add(&input, text != NULL ? text : "");
    if (verb_run(request->server, words, &input, ret, err) == -1) {
        if (!is_check(read) || err->code != MAS_FAILED || ret->len == 0) {
            say_query(read, err);
            return -1;
        }
        *err = (struct err)ERR_INIT;
    }
    while (ret->len > 0 && ret->data[ret->len - 1] == '\n')
        ret->data[--ret->len] = '\0';
    return 0;
}

enum handled api_read_verb(struct request *request)
{
    bool named = request->item == NULL || str_is_word(request->item, TEMPLATE_NAME_MAX);

    if (!named)
        answer_error(request, 404, "there is nothing of this name");
    return named && check_queries(request) ? shared_ask(request, find_read, 409) : HANDLED_NOW;
}

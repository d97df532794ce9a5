/* Changes that take long: each begins an operation, and is answered with 202. */
#include "serve/api.h"
#include "serve/body.h"
#include "serve/operation.h"
#include "serve/server.h"

#include <inttypes.h>
#include <string.h>

enum { WORDS = 320, ACCEPTED = 202 };

struct write {
    const char *word; /* the last part of the path */
    const char *words[4]; /* of the verb */
    /* Each becomes the option and its value; of a MEMBER_FLAG the option, or
     * nothing; of a MEMBER_WORD "--" and the word; of MEMBER_AGENTS operands. One may be a
     * MEMBER_WORD or a MEMBER_COUNT. */
    struct body_member members[BODY_MEMBERS]; /* a MEMBER_MESSAGE becomes standard input */
};

/* clang-format off */
static const struct write writes[] = {
    {"merge", {"merge"}, {{"agents", MEMBER_AGENTS, true, NULL}}},
    {"sync", {"sync"}, {{"agents", MEMBER_AGENTS, false, NULL},
                        {"project", MEMBER_FLAG, false, "--project"}}},
    {"land", {"land"}, {{"onto", MEMBER_LONG_TEXT, false, "--onto"},
                        {"how", MEMBER_WORD, false, "merge, squash, rebase"},
                        {"push", MEMBER_FLAG, false, "--push"},
                        {"pr", MEMBER_FLAG, false, "--pr"},
                        {"message", MEMBER_LONG_TEXT, false, "--message"}}},
    {"archive", {"archive", "--json"}, {{"live", MEMBER_FLAG, false, "--live"},
                              {"remove", MEMBER_FLAG, false, "--rm"}}},
    {"migrate", {"migrate", "--json"}, {{"name", MEMBER_LONG_TEXT, false, "--name"},
                                        {"dryRun", MEMBER_FLAG, false, "--dry-run"}}},
    {"clean", {"clean", "--json"}, {{"olderThan", MEMBER_LONG_TEXT, false, "--older-than"},
                                    {"keep", MEMBER_COUNT, false, "--keep"},
                                    {"status", MEMBER_LONG_TEXT, false, "--status"},
                                    {"archive", MEMBER_FLAG, false, "--archive"},
                                    {"dryRun", MEMBER_FLAG, false, "--dry-run"}}},
    {"asides", {"ask", "--aside", "--file", "-"}, {{"prompt", MEMBER_MESSAGE, true, NULL}}},
    {"doctor", {"doctor", "--fix", "--json"}, {{.name = NULL}}},
};
/* clang-format on */

/* Appends what a member becomes; `word` gets "--" and the word of a MEMBER_WORD, or the digits of a
 * MEMBER_COUNT. */
static size_t add_member(const struct body_member *member, const struct json *node,
                         const char **words, size_t count, struct str *word)
{
    if (member->kind == MEMBER_LONG_TEXT) {
        words[count++] = member->option;
        words[count++] = json_text(node);
    } else if (member->kind == MEMBER_WORD) {
        str_addf(word, "--%s", json_text(node));
        words[count++] = str_text(word);
    } else if (member->kind == MEMBER_COUNT) {
        str_addf(word, "%" PRId64, json_int(node, 0));
        words[count++] = member->option;
        words[count++] = str_text(word);
    } else if (member->kind == MEMBER_FLAG && json_bool(node, false)) {
        words[count++] = member->option;
    }
    return count;
}

static const struct operation *begin(struct request *request, const struct write *write,
                                     struct err *err)
{
    const struct json *agents = json_get(request->json, "agents");
    const char *input = NULL;
    const char *words[WORDS] = {NULL};
    _cleanup_str_ struct str word = STR_INIT;
    size_t count = 0;

    for (size_t i = 0; i < ARRAY_LEN(write->words) && write->words[i] != NULL; i++)
        words[count++] = write->words[i];
    if (request->id[0] != '\0') {
        words[count++] = "-s";
        words[count++] = request->id;
    }
    for (size_t i = 0; i < BODY_MEMBERS && write->members[i].name != NULL; i++) {
        const struct json *node = json_get(request->json, write->members[i].name);
        if (node != NULL && write->members[i].kind == MEMBER_MESSAGE)
            input = json_text(node);
        else if (node != NULL)
            count = add_member(&write->members[i], node, words, count, &word);
    }
    if (request->agent != NULL) {
        words[count++] = "--";
        words[count++] = request->agent;
    }
    if (agents != NULL && json_first(agents) != NULL) {
        words[count++] = "--";
        for (const struct json *n = json_first(agents); n != NULL; n = json_next(n))
            words[count++] = json_text(n);
    }
    const struct operation_wish wish = {.session = request->id,
                                        .agent = request->agent,
                                        .words = words,
                                        .input = input,
                                        .members = write->members};
    return operations_begin(request->server->operations, &wish, err);
}

static void answer(struct request *request, int status, const struct operation *operation)
{
    struct str body = STR_INIT;

    operation_put(operation, &body);
    answer_json(request, status, &body);
}

enum handled api_write(struct request *request)
{
    const char *last = request->parts[request->part_count - 1];
    const struct write *write = writes;
    struct err err = ERR_INIT;

    while (strcmp(write->word, last) != 0)
        write++; /* each route that leads here has a row */
    if (!body_check(request, write->members))
        return HANDLED_NOW;
    const struct operation *operation = begin(request, write, &err);
    if (operation == NULL)
        answer_refusal(request, 503, NULL, "wait until one has ended: GET /operations", "%s",
                       err.text);
    else
        answer(request, ACCEPTED, operation);
    return HANDLED_NOW;
}

/* ---- operations */

enum handled api_operations(struct request *request)
{
    struct str body = STR_INIT;

    operations_put(request->server->operations, &body);
    answer_json(request, 200, &body);
    return HANDLED_NOW;
}

static struct operation *find(struct request *request)
{
    struct operation *operation = operations_find(request->server->operations, request->item);

    if (operation == NULL)
        answer_error(request, 404, "there is no such operation; it may have ended long ago");
    return operation;
}

enum handled api_operation(struct request *request)
{
    const struct operation *operation = find(request);

    if (operation != NULL)
        answer(request, 200, operation);
    return HANDLED_NOW;
}

enum handled api_operation_cancel(struct request *request)
{
    struct operation *operation = find(request);

    if (operation == NULL)
        return HANDLED_NOW;
    if (operation_cancel(operation))
        answer(request, ACCEPTED, operation);
    else
        answer_refusal(request, 409, NULL, "GET its address to see how", "the operation has ended");
    return HANDLED_NOW;
}

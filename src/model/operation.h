/*
 * What can be done with mas from outside of a command line: one table, one row an operation. From a
 * row come the address of the HTTP API with its check of queries and body and the right that it
 * needs, its part of /openapi.json, the tool of a model (`mas mcp`), the words of the command that
 * does it, what mas-serve's starter lets through, and the address that a hint names in place of a
 * command.
 */
#pragma once

#include "model/param.h"

/* What a client of the API may do. Each right includes those before it. */
enum right {
    RIGHT_NONE,
    RIGHT_READ, /* see what there is */
    RIGHT_ANSWER, /* answer what agents ask, and mark them as seen */
    RIGHT_FULL, /* everything */
    RIGHT_COUNT
};

/* What a guest of one session may have, who has the right that an operation needs. */
enum operation_guests {
    GUESTS_NEVER,
    GUESTS_PATH, /* if the session, and the agent if one is named, of the path are theirs */
    GUESTS_WHOLE, /* likewise, unless they are guests of single agents */
    GUESTS_SIEVE, /* it says of sessions and agents only what the guest may see */
};

enum method { METHOD_GET, METHOD_POST, METHOD_DELETE, METHOD_OTHER };

const char *method_name(enum method method); /* as in a request */

enum operation_kind {
    OPERATION_OWN, /* mas-serve has a function of its own for it, see serve/api.c */
    OPERATION_HOST, /* a request to the host of the agent, see protocol/host.h */
    OPERATION_READ, /* the answer is what the command prints */
    OPERATION_TOLD, /* the command is run, and the answer is the session */
    OPERATION_LONG, /* the command is begun: the answer is the task, see serve/task.h */
};

/*
 * A command is words with blanks between them. These stand for others:
 *
 *     {options}    each parameter that is given and has an option
 *     {id} {agent} {item} {file}   what the path names; a file in sessions/
 *     {setting}    KEY=VALUE
 *     {NAME}       the value of a parameter; the values of a list; nothing if it is not given
 */

/* What a model can call. Its own names and limits, because a model is told of them in words. */
struct model_tool {
    const char *name, *title, *help;
    bool reads; /* it changes nothing */
    const char *command; /* {id}: the team of the caller; {NAME} not given: the caller */
    bool json; /* the command prints an object; otherwise its words are the answer */
    bool waits; /* it may take long */
    const struct param *params;
};

struct operation {
    const char *name; /* for programs that are generated from /openapi.json */
    const char *summary, *help; /* help NULL: nothing more is to be said */
    enum method method;
    /* {id} stands for a session, {agent} for an agent, {item} for another name, which can be any
     * text without a slash. NULL: it has no address. */
    const char *path;
    const char *item; /* what {item} is */
    enum right right; /* that a client needs; RIGHT_NONE: not even a token */
    enum operation_kind kind;
    /* See above. Of an OPERATION_HOST, the request and its fixed members, KEY=VALUE. */
    const char *command;
    const char *what; /* of an OPERATION_HOST: "cannot <what> agent '11'" */
    enum operation_guests guests; /* who have the right, too */
    const char *verbs; /* which verbs do the same, separated by ", "; NULL: none */
    /* Other commands that a hint may name, likewise; behind a colon, what the address gets. */
    const char *hints;
    const struct param *params; /* queries of a GET and a DELETE, else members of the body */
    const char *body; /* the media type of a body that is a file; then `params` are queries */
    bool past; /* it goes past what waits for the session, because it ends it */
    bool remarks; /* exit code 1 of the command says that what it printed finds fault */
    int status; /* of the answer; 0: 200, of an OPERATION_LONG 202 */
    const char *answer; /* its schema; NULL: that of its kind */
    const char *says; /* what the answer is; NULL: the same */
    const char *types; /* media types of an answer that is no JSON */
    const char *errors; /* statuses beyond those of its kind */
    const struct model_tool *tool; /* NULL: models have none */
};

extern const struct operation operations[];
extern const size_t operation_count;

/* Returns true if its parameters are queries. */
bool operation_has_queries(const struct operation *operation);

/* What the words of a command stand for. NULL and "": it is not there. */
struct operation_values {
    const char *id, *agent, *item, *file, *setting;
    const struct json *params; /* an object, checked */
};
/* Appends the words of a command to a list, for strv_free(). Returns what it gets as standard
 * input, NULL: nothing; it belongs to the values. */
const char *operation_words(const char *command, const struct param *params,
                            const struct operation_values *values, char ***words);
/* Returns true if a command with these words, ended by NULL, is that of an operation. `file_start`
 * is how a {file} begins; an id follows. */
bool operation_is_command(char *const *words, const char *file_start);

/* Returns the operation that does what a command line, from the verb on, does, and in *ret_query
 * what its address gets (static text or NULL, up to a comma); NULL: none. */
const struct operation *operation_of_command(const char *command, const char **ret_query);

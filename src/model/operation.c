/*
 * Three uses of a row: to make the words of its command from values, to tell whether given words
 * can be those of a row, and to find the row of a command that a hint names. The first two follow
 * the same words and the same options of the parameters, because the second lets through what the
 * first has made. In the third the longest name that fits counts.
 */

#include "model/operation.h"

#include "base/id.h"

enum { WORD_MAX = 128 }; /* bytes: the name of an agent or a template, or an agent session's id */

const char *method_name(enum method method)
{
    static const char *const names[] = {"GET", "POST", "DELETE", ""};
    return names[method];
}

bool operation_has_queries(const struct operation *operation)
{
    return operation->method != METHOD_POST || operation->body != NULL;
}

/* Returns the next word of a command at *at, and moves on; NULL at the end. */
static char *next_word(const char **at)
{
    const char *word = *at + strspn(*at, " ");
    size_t len = strcspn(word, " ");

    *at = word + len;
    return len > 0 ? mem_dupn(word, len) : NULL;
}

/* ---- making a command */

static void push_part(char ***words, const char *text, size_t len)
{
    _cleanup_free_ char *part = mem_dupn(text, len);
    strv_push(words, part);
}

/* Appends an option, which may be two words. */
static void push_option(char ***words, const char *option, size_t len)
{
    size_t first = strcspn(option, " ");

    push_part(words, option, first < len ? first : len);
    if (first < len)
        push_part(words, option + first + 1, len - first - 1);
}

static void push_value(char ***words, const struct json *node, const char *fallback)
{
    _cleanup_free_ char *number =
        json_is_number(node) ? mem_printf("%" PRId64, json_int(node, 0)) : NULL;
    const char *text = number != NULL ? number : json_text(node);

    strv_push(words, text != NULL ? text : fallback);
}

static void push_param(char ***words, const struct param *param, const struct json *node)
{
    const char *word = node != NULL ? json_text(node) : param->fallback;
    size_t len = 0;
    const char *own = word != NULL ? param_word_option(param, word, &len) : NULL;

    if (own != NULL)
        push_option(words, own, len);
    if (param->option == NULL || strcmp(param->option, "-") == 0 ||
        (node == NULL && param->fallback == NULL) ||
        (param->kind == PARAM_FLAG && !json_bool(node, false)))
        return;
    push_option(words, param->option, strlen(param->option));
    if (param->kind != PARAM_FLAG && !param_is_input(param))
        push_value(words, node, param->fallback);
}

/* Appends what a placeholder stands for, which begins with "{". */
static void push_place(char ***words, const char *place, const struct param *params,
                       const struct operation_values *values)
{
    const struct {
        const char *place, *value;
    } known[] = {
        {"{id}", values->id},     {"{agent}", values->agent},     {"{item}", values->item},
        {"{file}", values->file}, {"{setting}", values->setting},
    };
    _cleanup_free_ char *name = mem_dupn(place + 1, strlen(place) - 2);
    const struct json *given = json_get(values->params, name);

    if (strcmp(name, "options") == 0) {
        for (const struct param *p = params; p != NULL && p->name != NULL; p++)
            push_param(words, p, json_get(values->params, p->name));
        return;
    }
    if (param_find(params, name) != NULL) {
        for (const struct json *n = json_first(given); n != NULL; n = json_next(n))
            strv_push(words, json_text(n));
        if (json_is_string(given))
            strv_push(words, json_text(given));
        else if (given == NULL && values->agent != NULL && strcmp(name, "target") == 0)
            strv_push(words, values->agent);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (strcmp(known[i].place, place) == 0 && known[i].value != NULL)
            strv_push(words, known[i].value);
}

const char *operation_words(const char *command, const struct param *params,
                            const struct operation_values *values, char ***words)
{
    const char *input = NULL;

    for (char *word; (word = next_word(&command)) != NULL; mem_freep(&word)) {
        if (word[0] == '{')
            push_place(words, word, params, values);
        else
            strv_push(words, word);
    }
    for (const struct param *p = params; p != NULL && p->name != NULL; p++)
        if (param_is_input(p) && json_get(values->params, p->name) != NULL)
            input = json_get_text(values->params, p->name);
    return input;
}

/* ---- what a command may be */

/* Returns how many words an option with its value has at `words`, 0: it is none of this. */
static size_t takes_option(const char *option, size_t len, bool valued, const struct param *param,
                           char *const *words)
{
    size_t first = strcspn(option, " ");

    first = first < len ? first : len;
    if (words[0] == NULL || strlen(words[0]) != first || memcmp(words[0], option, first) != 0)
        return 0;
    if (first < len) {
        size_t rest = len - first - 1;
        bool same = words[1] != NULL && strlen(words[1]) == rest &&
                    memcmp(words[1], option + first + 1, rest) == 0;
        return same ? 2 : 0;
    }
    if (!valued)
        return 1;
    return words[1] != NULL && param_fits(param, words[1]) ? 2 : 0;
}

static size_t takes_param(const struct param *param, char *const *words)
{
    size_t count = 0;

    for (const char *at = param->kind == PARAM_WORD ? param->words : ""; count == 0 && *at != '\0';
         at += strcspn(at, ","), at += strspn(at, ", ")) {
        const char *own = at + strcspn(at, ":,");
        if (*own == ':')
            count = takes_option(own + 1, strcspn(own + 1, ","), false, param, words);
    }
    if (count == 0 && param->option != NULL)
        count = takes_option(param->option, strlen(param->option),
                             param->kind != PARAM_FLAG && !param_is_input(param), param, words);
    return count;
}

static size_t takes_options(const struct param *params, char *const *words)
{
    size_t count = 0;
    size_t more;

    do {
        more = 0;
        for (const struct param *p = params; more == 0 && p != NULL && p->name != NULL; p++)
            more = takes_param(p, words + count);
        count += more;
    } while (more > 0);
    return count;
}

/* Returns true for KEY=VALUE. A project's script is allowed by a person at the machine only. */
static bool is_setting(const char *word)
{
    return strchr(word, '=') != NULL &&
           (!str_starts(word, "setup=") || strcmp(word, "setup=no") == 0);
}

/* Returns true if the words from *words on are what a placeholder may stand for, and moves on. */
static bool takes_place(const char *place, const struct param *params, const char *file_start,
                        bool behind_dashes, char *const **words)
{
    const char *word = **words;

    if (strcmp(place, "{options}") == 0) {
        *words += takes_options(params, *words);
        return true;
    }
    if (strcmp(place, "{agents}") == 0) {
        while (**words != NULL && (behind_dashes || ***words != '-'))
            (*words)++;
        return true;
    }
    if (word == NULL)
        return false;
    (*words)++;
    if (strcmp(place, "{id}") == 0)
        return id_is_valid(word);
    if (strcmp(place, "{file}") == 0)
        return str_starts(word, file_start) && id_is_valid(word + strlen(file_start));
    if (strcmp(place, "{setting}") == 0)
        return is_setting(word);
    _cleanup_free_ char *name = mem_dupn(place + 1, strcspn(place + 1, "}"));
    const struct param *param = param_find(params, name);
    return behind_dashes && param != NULL && param->kind == PARAM_LONG
               ? param_fits(param, word)
               : str_is_word(word, WORD_MAX);
}

static bool is_of(const struct operation *operation, char *const *words, const char *file_start)
{
    const char *command = operation->command;
    bool behind_dashes = false;
    bool same = true;

    for (char *word; same && (word = next_word(&command)) != NULL; mem_freep(&word)) {
        if (word[0] == '{') {
            same = takes_place(word, operation->params, file_start, behind_dashes, &words);
            continue;
        }
        same = *words != NULL && strcmp(*words, word) == 0;
        words += same;
        behind_dashes = behind_dashes || strcmp(word, "--") == 0;
    }
    return same && *words == NULL;
}

bool operation_is_command(char *const *words, const char *file_start)
{
    for (size_t i = 0; i < operation_count; i++)
        if (operations[i].command != NULL && operations[i].kind != OPERATION_HOST &&
            is_of(&operations[i], words, file_start))
            return true;
    return false;
}

/* ---- which operation a command line is */

/* Returns how many bytes of a command line a name from a list is: it stands at its beginning. */
static size_t names(const char *list, const char *command, const char **ret_query)
{
    size_t most = 0;

    for (const char *at = list; at != NULL && *at != '\0'; at += strspn(at, ", ")) {
        size_t len = strcspn(at, ",:");
        if (len > most && strncmp(command, at, len) == 0 &&
            strspn(command + len, "abcdefghijklmnopqrstuvwxyz_-") == 0) {
            most = len;
            *ret_query = at[len] == ':' ? at + len + 1 : NULL;
        }
        at += strcspn(at, ",");
    }
    return most;
}

/* An option that no row has changes what the command does. */
const struct operation *operation_of_command(const char *command, const char **ret_query)
{
    const struct operation *found = NULL;
    size_t most = 0;

    for (size_t i = 0; i < operation_count; i++) {
        const char *lists[] = {operations[i].verbs, operations[i].hints};
        for (size_t k = 0; k < ARRAY_LEN(lists) && operations[i].path != NULL; k++) {
            const char *query = NULL;
            size_t len = names(lists[k], command, &query);
            if (len <= most)
                continue;
            most = len;
            found = &operations[i];
            *ret_query = query;
        }
    }
    return found != NULL && strstr(command + most, " -") == NULL ? found : NULL;
}

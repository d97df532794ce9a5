/*
 * A hint is cut up at "; ". In each part the table of operations says which address does what the
 * command does, and the table here what stands for an option. A part with a command or an option
 * that they do not know is left out: no hint is better than one that a client cannot follow.
 */

#include "serve/hint.h"

#include "model/operation.h"

/* clang-format off */
/* What options are in a body or a query. Longer ones stand before shorter ones that begin like
 * them. The table of operations cannot say it: a hint may be about another address than the one that
 * was asked, and most of these are a query, one word of a member, or its opposite. */
static const struct {
    const char *option, *member;
} options[] = {
    {"--agent",       "'preset'"},
    {"--answer",      "a member of 'answers':"},
    {"--keep",        "'keep'"},
    {"--links",       "links=true"},
    {"--merge",       "'how' merge"},
    {"--mode",        "'sessionMode'"},
    {"--new-id",      "newId=true"},
    {"--no-enter",    "'execute' false"},
    {"--older-than",  "'olderThan'"},
    {"--onto BRANCH", "'onto'"},
    {"--onto",        "'onto'"},
    {"--squash",      "'how' squash"},
    {"--status",      "'status'"},
};
/* clang-format on */

static const char *subject_of(const struct hint_subject *subject, const char *placeholder,
                              size_t len)
{
    const char *value = strncmp(placeholder, "{id}", len) == 0      ? subject->id
                        : strncmp(placeholder, "{agent}", len) == 0 ? subject->agent
                                                                    : subject->item;
    return value != NULL && value[0] != '\0' ? value : NULL;
}

static void put_address(const char *address, const struct hint_subject *subject, struct str *to)
{
    while (*address != '\0') {
        size_t plain = strcspn(address, "{");
        str_addn(to, address, plain);
        address += plain;
        size_t len = *address == '{' ? strcspn(address, "}") + 1 : 0;
        const char *value = len > 0 ? subject_of(subject, address, len) : NULL;
        if (value != NULL)
            str_add(to, value);
        else
            str_addn(to, address, len);
        address += len;
    }
}

/* Returns where to look for what is not there. */
static const char *list_of(const struct hint_subject *subject)
{
    bool has_id = subject->id != NULL && subject->id[0] != '\0';
    const char *kind = subject->kind != NULL ? subject->kind : "";

    if (strcmp(kind, "operations") == 0)
        return "GET /operations lists them";
    if (strcmp(kind, "templates") == 0)
        return "GET /templates lists them";
    if (strcmp(kind, "permissions") == 0)
        return "GET /sessions/{id}/agents/{agent}/permissions lists what the agent asks";
    if (subject->agent != NULL)
        return "GET /sessions/{id} lists the agents, GET /sessions the sessions";
    return has_id ? "GET /sessions lists the sessions" : "GET /openapi.json lists the addresses";
}

void hint_default(int status, const struct hint_subject *subject, struct str *to)
{
    static const struct {
        int status;
        const char *text;
    } hints[] = {
        {400, "GET /openapi.json says what this address takes"},
        {401, "send the header 'Authorization: Bearer TOKEN', or pair the browser: POST /pair"},
        {403, "ask by an address of the server, from its own page or without the header Origin"},
        {405, "the header Allow has the methods of this address"},
        {413, "send less, or nothing if GET /openapi.json has no body for this address"},
        {414, "send a shorter address"},
        {416, "the header Content-Range has the length"},
        {503, "try again later"},
        {504, "see what was done before you try again"},
    };

    if (status == 404)
        put_address(list_of(subject), subject, to);
    for (size_t i = 0; i < ARRAY_LEN(hints); i++)
        if (hints[i].status == status)
            str_add(to, hints[i].text);
}

/* Puts what a client has in place of the options in a text. Returns false if it has nothing like
 * one of them. */
static bool put_options(const char *text, struct str *to)
{
    for (const char *at; (at = strstr(text, "--")) != NULL;) {
        size_t i = 0;
        while (i < ARRAY_LEN(options) &&
               (!str_starts(at, options[i].option) ||
                strspn(at + strlen(options[i].option), "abcdefghijklmnopqrstuvwxyz-") > 0))
            i++;
        if (i == ARRAY_LEN(options))
            return false;
        str_addn(to, text, (size_t)(at - text));
        str_add(to, options[i].member);
        text = at + strlen(options[i].option);
    }
    str_add(to, text);
    return true;
}

/* Appends one part of a hint, if a client can do what it says. */
static void put_part(const char *part, const struct hint_subject *subject, struct str *to)
{
    static const char separator[] = "; ";
    static const char one_session[] = "/sessions/{id}";
    const char *command = strstr(part, "mas ");
    bool is_command =
        command != NULL && (command == part || command[-1] == ' ' || command[-1] == '\'');
    const char *query = NULL;
    const struct operation *operation =
        is_command ? operation_of_command(command + strlen("mas "), &query) : NULL;

    _cleanup_str_ struct str words = STR_INIT;
    _cleanup_free_ char *plain =
        mem_dupn(part, is_command ? (size_t)(command - part) : strlen(part));

    if ((is_command && operation == NULL) || str_starts(part, "in the pane: ") ||
        !put_options(plain, &words))
        return;
    if (to->len > 0)
        str_add(to, separator);
    str_add(to, str_text(&words));
    if (!is_command)
        return;
    if (operation->method == METHOD_GET && str_starts(operation->path, one_session) &&
        subject_of(subject, "{id}", 4) == NULL) {
        str_add(to, "GET /sessions"); /* it is the command that knows which session */
        return;
    }
    str_addf(to, "%s ", method_name(operation->method));
    put_address(operation->path, subject, to);
    if (query != NULL)
        str_addn(to, query, strcspn(query, ","));
}

void hint_put(const char *hint, const struct hint_subject *subject, struct str *to)
{
    _cleanup_str_ struct str made = STR_INIT;

    while (*hint != '\0') {
        const char *end = strstr(hint, "; ");
        size_t len = end != NULL ? (size_t)(end - hint) : strlen(hint);
        _cleanup_free_ char *part = mem_dupn(hint, len);
        char *aside = strstr(part, "  ("); /* another command that may help */
        if (aside != NULL)
            *aside = '\0';
        put_part(part, subject, &made);
        hint += len + (end != NULL ? 2 : 0);
    }
    str_add(to, str_text(&made));
}

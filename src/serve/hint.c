#include "serve/hint.h"

#include <string.h>

/* clang-format off */
/* Longer commands stand before shorter ones that begin like them. */
static const struct {
    const char *command, *address;
} known[] = {
    {"mas approve",        "POST /sessions/{id}/agents/{agent}/permissions/{item}"},
    {"mas archive",        "POST /sessions/{id}/archive"},
    {"mas ask",            "POST /sessions/{id}/agents/{agent}/prompts"},
    {"mas cancel",         "POST /sessions/{id}/agents/{agent}/cancel"},
    {"mas clear",          "POST /sessions/{id}/agents/{agent}/clear"},
    {"mas clean",          "POST /clean"},
    {"mas config",         "GET /config"},
    {"mas context",        "GET /sessions/{id}/agents/{agent}/context"},
    {"mas deny",           "POST /sessions/{id}/agents/{agent}/permissions/{item}"},
    {"mas diff",           "GET /sessions/{id}/diff"},
    {"mas doctor --fix",   "POST /doctor"},
    {"mas doctor",         "GET /doctor"},
    {"mas du",             "GET /du"},
    {"mas env",            "GET /sessions/{id}/env"},
    {"mas history --queries", "GET /sessions/{id}/agents/{agent}/history"},
    {"mas history",        "GET /sessions/{id}/agents/{agent}/history"},
    {"mas kept",           "GET /sessions/{id}/agents/{agent}/kept"},
    {"mas land",           "POST /sessions/{id}/land"},
    {"mas list --all",     "GET /sessions"},
    {"mas list",           "GET /sessions"},
    {"mas logs",           "GET /sessions/{id}/agents/{agent}/log"},
    {"mas merge",          "POST /sessions/{id}/merge"},
    {"mas migrate",        "POST /sessions/{id}/migrate"},
    {"mas new --project",  "POST /runs"},
    {"mas new",            "POST /runs"},
    {"mas peek",           "GET /sessions/{id}/agents/{agent}/screen"},
    {"mas presets",        "GET /presets"},
    {"mas restart",        "POST /sessions/{id}/agents/{agent}/restart"},
    {"mas restore",        "POST /restores"},
    {"mas review",         "POST /sessions/{id}/agents/{agent}/review"},
    {"mas rm -f",          "DELETE /sessions/{id}?force=true"},
    {"mas rm",             "DELETE /sessions/{id}"},
    {"mas search",         "GET /search"},
    {"mas send",           "POST /sessions/{id}/messages"},
    {"mas set",            "POST /sessions/{id}/settings/{item}"},
    {"mas show",           "GET /sessions/{id}"},
    {"mas sleep",          "POST /sessions/{id}/agents/{agent}/sleep"},
    {"mas start",          "POST /sessions/{id}/start"},
    {"mas status",         "GET /sessions/{id}/agents/{agent}"},
    {"mas stop",           "POST /sessions/{id}/stop"},
    {"mas sync --project", "POST /sessions/{id}/sync"},
    {"mas sync",           "POST /sessions/{id}/sync"},
    {"mas template check", "GET /templates/{item}/check"},
    {"mas template list",  "GET /templates"},
    {"mas template show",  "GET /templates/{item}"},
    {"mas usage",          "GET /usage"},
    {"mas version",        "GET /healthz"},
};

/* What options are in a body or a query. Longer ones stand before shorter ones that begin like
 * them. The tables of body_member cannot say it: a hint may be about another address than the one
 * that was asked, and most of these are a query, one word of a member, or its opposite. */
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

/* Returns the address that does what the command does, NULL: none. An option that the table does
 * not have changes what it does. */
static const char *find_address(const char *command)
{
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        size_t len = strlen(known[i].command);
        if (strncmp(command, known[i].command, len) != 0 ||
            strspn(command + len, "abcdefghijklmnopqrstuvwxyz_-") > 0)
            continue;
        return strstr(command + len, " -") == NULL ? known[i].address : NULL;
    }
    return NULL;
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
    static const char one_session[] = "GET /sessions/{id}";
    const char *command = strstr(part, "mas ");
    bool is_command =
        command != NULL && (command == part || command[-1] == ' ' || command[-1] == '\'');
    const char *address = is_command ? find_address(command) : NULL;

    _cleanup_str_ struct str words = STR_INIT;
    _cleanup_free_ char *plain =
        mem_dupn(part, is_command ? (size_t)(command - part) : strlen(part));

    if ((is_command && address == NULL) || str_starts(part, "in the pane: ") ||
        !put_options(plain, &words))
        return;
    if (to->len > 0)
        str_add(to, separator);
    str_add(to, str_text(&words));
    if (is_command && str_starts(address, one_session) && subject_of(subject, "{id}", 4) == NULL)
        str_add(to, "GET /sessions"); /* it is the command that knows which session */
    else if (is_command)
        put_address(address, subject, to);
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

#include "serve/body.h"

#include "model/message.h"
#include "model/team.h"
#include "serve/api.h"
#include "serve/guard.h"

#include <string.h>

char **body_words(const struct body_member *member)
{
    return str_split_list(member->option);
}

static bool has_word(const struct body_member *member, const char *text)
{
    _cleanup_strv_ char **words = body_words(member);
    char **word = words;

    while (word != NULL && *word != NULL && strcmp(*word, text) != 0)
        word++;
    return word != NULL && *word != NULL;
}

/* These return what is wrong with a value, or NULL. */

static const char *agents_fault(const struct json *list)
{
    size_t count = 0;

    if (!json_is_array(list))
        return "is not a list";
    for (const struct json *n = json_first(list); n != NULL; n = json_next(n))
        if (!json_is_string(n) || !str_is_word(json_text(n), TEAM_WORD_MAX) ||
            ++count > BODY_AGENTS_MAX)
            return "is not a list of agents";
    return NULL;
}

static const char *text_fault(const struct body_member *member, const char *text)
{
    bool empty =
        member->kind != MEMBER_TYPED && (member->needed || member->kind == MEMBER_LONG_TEXT);

    if (text[0] == '\0' && empty)
        return "is empty";
    switch (member->kind) {
    case MEMBER_WORD:
        return has_word(member, text) ? NULL : "is none of its words";
    case MEMBER_MESSAGE:
    case MEMBER_TYPED:
        return message_check(text, strlen(text));
    case MEMBER_LONG_TEXT:
        return strlen(text) > BODY_LONG_MAX ? "is longer than 65536 bytes" : NULL;
    default:
        return strlen(text) > BODY_TEXT_MAX ? "is longer than 1024 bytes"
               : str_has_control(text)      ? "has a control character"
                                            : NULL;
    }
}

static const char *member_fault(const struct body_member *member, const struct json *node)
{
    if (node == NULL)
        return member->needed ? "is missing" : NULL;
    switch (member->kind) {
    case MEMBER_TAGS:
        return json_is_array(node) ? NULL : "is not a list";
    case MEMBER_AGENTS:
        return agents_fault(node);
    case MEMBER_COUNT:
        return json_int(node, -1) >= 0 && json_int(node, -1) <= BODY_COUNT_MAX
                   ? NULL
                   : "is not a number from 0 to 1000000";
    case MEMBER_FORM:
        return json_is_object(node) ? NULL : "is not an object";
    case MEMBER_FLAG:
        return json_bool(node, true) == json_bool(node, false) ? NULL : "is neither true nor false";
    default:
        return json_is_string(node) ? text_fault(member, json_text(node)) : "is not a string";
    }
}

bool body_check(struct request *request, const struct body_member *members)
{
    const char *known[BODY_MEMBERS + 1] = {NULL};
    char hint[128] = "";

    for (size_t i = 0; i < BODY_MEMBERS && members[i].name != NULL; i++)
        known[i] = members[i].name;
    if (!api_read(request, known))
        return false;
    for (size_t i = 0; i < BODY_MEMBERS && members[i].name != NULL; i++) {
        const struct json *node = json_get(request->json, members[i].name);
        const char *wrong = member_fault(&members[i], node);
        if (members[i].kind == MEMBER_MODE && node != NULL &&
            !guard_permits(request, RIGHT_FULL, members[i].name))
            return false;
        if (wrong == NULL)
            continue;
        if (members[i].kind == MEMBER_WORD && json_is_string(node))
            (void)snprintf(hint, sizeof hint, "its words are: %s", members[i].option);
        answer_refusal(request, 400, NULL, hint[0] != '\0' ? hint : NULL,
                       "cannot use the body: %s: it %s", members[i].name, wrong);
        return false;
    }
    return true;
}

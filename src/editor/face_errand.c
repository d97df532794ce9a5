#include "editor/face_internal.h"

#include "base/time.h"
#include "client/hosts.h"
#include "protocol/rpc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- errands */

struct errand *face_errand_new(struct face *face, enum errand_kind kind, const char *session)
{
    struct errand *errand = mem_alloc(sizeof *errand);

    errand->number = ++face->last_errand;
    errand->kind = kind;
    errand->until = time_monotonic_ms() + FACE_HOST_MS;
    (void)snprintf(errand->session, sizeof errand->session, "%s", session != NULL ? session : "");
    face->errands = mem_room(face->errands, face->errand_count, sizeof(struct errand *));
    face->errands[face->errand_count++] = errand;
    return errand;
}

void face_errand_free(struct errand *errand)
{
    free(errand->ticket);
    free(errand->text);
    free(errand->mode);
    free(errand->option);
    free(errand->value);
    free(errand->prompt);
    free(errand);
}

void face_errand_end(struct face *face, struct errand *errand)
{
    size_t i = 0;

    while (face->errands[i] != errand)
        i++;
    face->errand_count--;
    memmove(face->errands + i, face->errands + i + 1,
            (face->errand_count - i) * sizeof(struct errand *));
    face_errand_free(errand);
}

static struct errand *errand_of(const struct face *face, int64_t number)
{
    for (size_t i = 0; i < face->errand_count; i++)
        if (face->errands[i]->number == number)
            return face->errands[i];
    return NULL;
}

struct errand *face_errand_after(const struct face *face, int64_t number)
{
    for (size_t i = 0; i < face->errand_count; i++)
        if (face->errands[i]->number > number)
            return face->errands[i];
    return NULL;
}

bool face_waits(const struct face *face)
{
    for (size_t i = 0; i < face->errand_count; i++)
        if (face->errands[i]->step == STEP_WAITS)
            return true;
    return false;
}

/* ---- answers to the client */

static int rpc_code(int code)
{
    return code == MAS_NOT_FOUND ? ACP_NO_SUCH
           : code == MAS_USAGE   ? RPC_INVALID_PARAMS
                                 : RPC_INTERNAL_ERROR;
}

void face_refuse(struct face *face, const char *ticket, const struct err *why)
{
    _cleanup_free_ char *words =
        why->hint[0] != '\0' ? mem_printf("%s (%s)", why->text, why->hint) : mem_dup(why->text);

    if (ticket != NULL)
        (void)acp_agent_refuse(face->acp, ticket, rpc_code(why->code), words);
}

void face_end_turn(struct face *face, const char *ticket, const char *reason)
{
    _cleanup_str_ struct str result = STR_INIT;
    struct json_out out = {.to = &result};

    if (ticket == NULL)
        return;
    json_open(&out, NULL, '{');
    json_put(&out, "stopReason", reason);
    json_close(&out, '}');
    (void)acp_agent_answer(face->acp, ticket, result.data);
}

/* The answer to a command that was typed. */
void face_say(struct face *face, const struct errand *errand, const char *words)
{
    acp_agent_chunk(face->acp, errand->session, ACP_TEXT, NULL, words, strlen(words));
    face_end_turn(face, errand->ticket, "end_turn");
}

/* Ends an errand that failed. */
static void fail(struct face *face, struct errand *errand, const struct err *why)
{
    if (errand->typed) {
        _cleanup_free_ char *words =
            why->hint[0] != '\0' ? mem_printf("%s\n%s", why->text, why->hint) : mem_dup(why->text);
        face_say(face, errand, words);
    } else {
        face_refuse(face, errand->ticket, why);
    }
    face_errand_end(face, errand);
}

/* ---- requests of the host */

static void open_request(const struct face *face, struct json_out *out, const char *name)
{
    json_open(out, NULL, '{');
    json_put(out, "do", name);
    if (face->spec->from != NULL)
        json_put(out, "from", face->spec->from);
}

static void send_request(struct face *face, struct errand *errand, struct json_out *out,
                         const char *body)
{
    struct err why = ERR_INIT;

    json_close(out, '}');
    if (out->to->len > FACE_HEAD_MAX) { /* the host would hang up on it */
        (void)err_set(&why, MAS_USAGE, "a word of it is too long");
        fail(face, errand, &why);
        return;
    }
    if (host_link_ask(&face->link, (struct host_link_asked){.about = errand->number}, out->to, body,
                      body != NULL ? strlen(body) : 0))
        return;
    (void)err_set(&why, MAS_CONFLICT, "too much waits for the agent's host");
    fail(face, errand, &why);
}

static void put_conversation(const struct errand *errand, struct json_out *out)
{
    json_put(out, "conversation", errand->session);
}

/* The request itself. */
static void ask(struct face *face, struct errand *errand)
{
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out = {.to = &head};
    const char *body = NULL;

    errand->step = STEP_ASKED;
    switch (errand->kind) {
    case ERRAND_NEW:
        open_request(face, &out, "conversation");
        json_put_bool(&out, "new", true);
        break;
    case ERRAND_PROMPT:
        open_request(face, &out, "ask");
        put_conversation(errand, &out);
        body = errand->text;
        break;
    case ERRAND_CLEAR:
        open_request(face, &out, "clear");
        body = errand->text;
        break;
    case ERRAND_MODE:
        open_request(face, &out, "mode");
        json_put(&out, "mode", errand->mode);
        break;
    case ERRAND_OPTION:
        open_request(face, &out, "set");
        json_put(&out, "option", errand->option);
        json_put(&out, "value", errand->value);
        break;
    case ERRAND_CANCEL:
        open_request(face, &out, "cancel");
        if (errand->prompt != NULL)
            json_put(&out, "prompt", errand->prompt);
        break;
    case ERRAND_PERMIT:
        open_request(face, &out, "permit");
        json_put(&out, "permission", errand->prompt);
        json_put(&out, "option", errand->value);
        break;
    case ERRAND_LOAD:
    case ERRAND_RESUME:
    default:
        return;
    }
    send_request(face, errand, &out, body);
}

static bool is_of_conversation(const struct errand *errand)
{
    return errand->kind == ERRAND_CLEAR || errand->kind == ERRAND_MODE ||
           errand->kind == ERRAND_OPTION;
}

/* The host listens: on to the next step. */
static void go(struct face *face, struct errand *errand)
{
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out = {.to = &head};

    if (errand->kind == ERRAND_LOAD || errand->kind == ERRAND_RESUME) {
        errand->step = STEP_SETTLES;
        errand->until = time_monotonic_ms() + FACE_SETTLE_MS;
        return;
    }
    if (!is_of_conversation(errand) || strcmp(errand->session, face->conversation) == 0) {
        ask(face, errand);
        return;
    }
    errand->step = STEP_SWITCHES;
    open_request(face, &out, "conversation");
    put_conversation(errand, &out);
    send_request(face, errand, &out, NULL);
}

void face_go_on(struct face *face)
{
    struct errand *errand = NULL;

    for (int64_t at = 0; (errand = face_errand_after(face, at)) != NULL;) {
        at = errand->number;
        if (errand->step == STEP_WAITS)
            go(face, errand);
    }
    face_settle(face, time_monotonic_ms());
}

void face_begin(struct face *face, struct errand *errand)
{
    if (!face->listens) {
        if (face->link.fd == -1)
            face->retry_at = 0;
        return;
    }
    go(face, errand);
    face_settle(face, time_monotonic_ms());
}

/* ---- sessions */

static void open_session(struct face *face, struct errand *errand)
{
    struct face_session *session = face_session(face, errand->session);
    _cleanup_str_ struct str result = STR_INIT;
    struct json_out out = {.to = &result};
    struct err why = ERR_INIT;

    if (session != NULL && errand->kind == ERRAND_LOAD) { /* all of it once more */
        face_session_remove(face, errand->session);
        session = NULL;
    }
    if (session == NULL)
        session = face_session_add(face, errand->session);
    if (session == NULL) {
        (void)err_set(&why, MAS_CONFLICT, "too many sessions are open");
        fail(face, errand, &why);
        return;
    }
    if (errand->kind == ERRAND_LOAD && face_show_past(face, session, &why) == -1) {
        fail(face, errand, &why);
        return;
    }
    json_open(&out, NULL, '{');
    if (errand->kind == ERRAND_NEW)
        json_put(&out, "sessionId", errand->session);
    acp_agent_put_modes(&out, face->mode, face->modes);
    if (face->options != NULL)
        acp_agent_put_options(&out, "configOptions", face->options);
    json_close(&out, '}');
    (void)acp_agent_answer(face->acp, errand->ticket, result.data);
    face_tell_commands(face, errand->session);
    face_errand_end(face, errand);
    face_ask_permissions(face);
}

void face_settle(struct face *face, int64_t now)
{
    struct errand *errand = NULL;
    bool is_known = face->modes != NULL && json_first(face->modes) != NULL;
    bool starts = face->state != NULL && strcmp(face->state, "starting") == 0;

    for (int64_t at = 0; (errand = face_errand_after(face, at)) != NULL;) {
        at = errand->number;
        if (errand->step == STEP_SETTLES &&
            (is_known || !starts || !face->listens || now >= errand->until))
            open_session(face, errand);
    }
}

/* ---- answers of the host */

static void take_prompt(struct face *face, struct errand *errand, const struct json *head)
{
    struct face_session *session = face_session(face, errand->session);

    face_replace(&errand->prompt, json_get_text(head, "prompt"));
    if (errand->prompt == NULL) { /* a clear without words */
        if (errand->typed)
            face_say(face, errand, "The context is cleared.");
        face_errand_end(face, errand);
        return;
    }
    errand->step = STEP_RUNS;
    face_replace(&errand->text, NULL); /* the host has it */
    if (session != NULL)
        (void)face_known_prompt(session, face_number(errand->prompt));
    if (!errand->cancelled)
        return;
    struct errand *cancel = face_errand_new(face, ERRAND_CANCEL, errand->session);
    face_replace(&cancel->prompt, errand->prompt);
    face_begin(face, cancel);
}

/* An option's answer has the options as they will be. */
static void answer_option(struct face *face, const struct errand *errand)
{
    _cleanup_str_ struct str list = STR_INIT;
    _cleanup_str_ struct str result = STR_INIT;
    struct json_out out = {.to = &list};

    json_open(&out, NULL, '[');
    for (const struct json *o = json_first(face->options); o != NULL; o = json_next(o)) {
        const char *id = json_get_text(o, "id");
        json_open(&out, NULL, '{');
        for (const struct json *m = json_first(o); m != NULL; m = json_next(m))
            if (strcmp(json_key(m), "value") != 0)
                json_put_node(&out, json_key(m), m);
        json_put(&out, "value",
                 id != NULL && strcmp(id, errand->option) == 0 ? errand->value
                                                               : json_get_text(o, "value"));
        json_close(&out, '}');
    }
    json_close(&out, ']');
    struct err ignored = ERR_INIT;
    struct json *options = NULL;
    if (json_parse(list.data, list.len, list.len, &options, &ignored) == 0) {
        json_free(face->options);
        face->options = options;
    }
    out = (struct json_out){.to = &result};
    json_open(&out, NULL, '{');
    acp_agent_put_options(&out, "configOptions", face->options);
    json_close(&out, '}');
    if (errand->ticket != NULL)
        (void)acp_agent_answer(face->acp, errand->ticket, result.data);
}

static void take_new(struct face *face, struct errand *errand, const struct json *head)
{
    const char *id = json_get_text(head, "conversation");

    (void)snprintf(errand->session, sizeof errand->session, "%s", id != NULL ? id : "");
    (void)snprintf(face->conversation, sizeof face->conversation, "%s", errand->session);
    errand->step = STEP_SETTLES;
    errand->until = time_monotonic_ms() + FACE_SETTLE_MS;
    face_settle(face, time_monotonic_ms());
}

static void take_set(struct face *face, struct errand *errand)
{
    if (errand->typed) {
        _cleanup_free_ char *words = errand->kind == ERRAND_MODE
                                         ? mem_printf("The mode is %s.", errand->mode)
                                         : mem_printf("%s is %s.", errand->option, errand->value);
        face_say(face, errand, words);
    } else if (errand->kind == ERRAND_OPTION) {
        answer_option(face, errand);
    } else {
        (void)acp_agent_answer(face->acp, errand->ticket, NULL);
    }
    face_errand_end(face, errand);
}

void face_answered(struct face *face, struct host_link_asked asked, const struct frame *answer)
{
    struct errand *errand = errand_of(face, asked.about);
    struct err why = ERR_INIT;

    if (errand == NULL)
        return;
    if (hosts_reply_error(answer->head, &why) == -1) {
        if (errand->kind == ERRAND_PERMIT || errand->kind == ERRAND_CANCEL)
            face_errand_end(face, errand); /* somebody was faster */
        else
            fail(face, errand, &why);
        return;
    }
    if (errand->step == STEP_SWITCHES) {
        (void)snprintf(face->conversation, sizeof face->conversation, "%s", errand->session);
        ask(face, errand);
        return;
    }
    switch (errand->kind) {
    case ERRAND_NEW:
        take_new(face, errand, answer->head);
        break;
    case ERRAND_PROMPT:
    case ERRAND_CLEAR:
        take_prompt(face, errand, answer->head);
        break;
    case ERRAND_MODE:
    case ERRAND_OPTION:
        take_set(face, errand);
        break;
    case ERRAND_CANCEL:
    case ERRAND_PERMIT:
    case ERRAND_LOAD:
    case ERRAND_RESUME:
    default:
        face_errand_end(face, errand);
        break;
    }
}

/* ---- the host is not there */

void face_fail_waiting(struct face *face, const struct err *why)
{
    struct errand *errand = NULL;

    for (int64_t at = 0; (errand = face_errand_after(face, at)) != NULL;) {
        at = errand->number;
        if (errand->step != STEP_WAITS)
            continue;
        if (errand->kind == ERRAND_LOAD || errand->kind == ERRAND_RESUME)
            open_session(face, errand); /* what was said is there without it */
        else
            fail(face, errand, why);
    }
}

void face_lost(struct face *face)
{
    struct errand *errand = NULL;
    struct err why = ERR_INIT;

    face_replace(&face->running, NULL);
    for (int64_t at = 0; (errand = face_errand_after(face, at)) != NULL;) {
        at = errand->number;
        if (errand->step == STEP_WAITS || errand->step == STEP_SETTLES)
            continue;
        (void)err_set(&why, MAS_FAILED, "the host of agent '%s' has ended", face->spec->agent);
        if (errand->step == STEP_RUNS || errand->step == STEP_FOLLOWS)
            (void)err_hint(&why, "the prompt was taken: see mas history %s %s", face->spec->session,
                           face->spec->agent);
        fail(face, errand, &why);
    }
}

/* ---- time */

int64_t face_errands_tick(struct face *face, int64_t now)
{
    struct errand *errand = NULL;
    struct err why = ERR_INIT;
    int64_t next = -1;

    for (int64_t at = 0; (errand = face_errand_after(face, at)) != NULL;) {
        at = errand->number;
        bool waits = errand->step == STEP_WAITS || errand->step == STEP_FOLLOWS ||
                     errand->step == STEP_SETTLES;
        if (!waits || now < errand->until) {
            if (waits && (next == -1 || errand->until < next))
                next = errand->until;
            continue;
        }
        if (errand->step == STEP_FOLLOWS) {
            face_end_turn(face, errand->ticket, "cancelled");
            face_errand_end(face, errand);
        } else if (errand->kind == ERRAND_LOAD || errand->kind == ERRAND_RESUME) {
            open_session(face, errand);
        } else {
            (void)err_set(&why, MAS_TIMEOUT, "the host of agent '%s' is not there",
                          face->spec->agent);
            (void)err_hint(&why, "bring it back with: mas restart %s %s", face->spec->session,
                           face->spec->agent);
            fail(face, errand, &why);
        }
    }
    return next;
}

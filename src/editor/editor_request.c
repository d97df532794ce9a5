/*
 * A prompt or a setting for a session that is not open is refused, the list and a close are
 * answered at once, and the rest becomes a pending request. A prompt that begins with one of
 * editor_commands[] is that command, and its outcome is said in the session as text. A cancel that
 * comes before the host has accepted the prompt is noted there, and sent once it has.
 */

#include "editor/editor_internal.h"

#include "base/base64.h"
#include "store/pictures.h"

static char *first_word(const char *text, const char **ret_rest)
{
    size_t len = strcspn(text, " \t\n");

    *ret_rest = text + len + strspn(text + len, " \t\n");
    return len > 0 ? mem_dupn(text, len) : NULL;
}

/* Appends the list of the modes or of the options. */
static void list_choices(const struct editor *editor, enum pending_kind kind, struct str *to)
{
    if (kind == PENDING_MODE)
        for (const struct json *m = json_first(editor->modes); m != NULL; m = json_next(m)) {
            const char *id = json_get_text(m, "id");
            if (id != NULL)
                str_addf(to, "- `%s`%s\n", id,
                         editor->mode != NULL && strcmp(id, editor->mode) == 0 ? " (now)" : "");
        }
    else
        for (const struct json *o = json_first(editor->options); o != NULL; o = json_next(o)) {
            const char *id = json_get_text(o, "id");
            const char *value = json_get_text(o, "value");
            str_addf(to, "- `%s` is `%s`;", id != NULL ? id : "?", value != NULL ? value : "");
            for (const struct json *v = json_first(json_get(o, "values")); v != NULL;
                 v = json_next(v))
                str_addf(to, " `%s`",
                         json_get_text(v, "value") != NULL ? json_get_text(v, "value") : "?");
            str_addc(to, '\n');
        }
    if (to->len == 0)
        str_add(to, kind == PENDING_MODE ? "The agent has reported no modes.\n"
                                         : "The agent has reported no options.\n");
}

/* Parses the arguments of a typed command. Without arguments, answers with the choices, ends the
 * request and returns false. */
static bool parse_words(struct editor *editor, struct pending_request *pending, const char *rest)
{
    _cleanup_str_ struct str list = STR_INIT;
    const char *value = "";

    pending->typed = true;
    if (pending->kind == PENDING_CLEAR) {
        if (rest[0] != '\0')
            pending->text = mem_dup(rest);
        return true;
    }
    if (pending->kind == PENDING_MODE) {
        pending->mode = first_word(rest, &value);
    } else {
        pending->option = first_word(rest, &value);
        pending->value = value[0] != '\0' ? mem_dup(value) : NULL;
    }
    if (pending->kind == PENDING_MODE ? pending->mode != NULL : pending->value != NULL)
        return true;
    list_choices(editor, pending->kind, &list);
    editor_say(editor, pending, list.data);
    editor_pending_end(editor, pending);
    return false;
}

/* Returns the bytes of prompts that the host has not accepted. */
static size_t waiting_text(const struct editor *editor)
{
    size_t bytes = 0;

    for (size_t i = 0; i < editor->pending_count; i++)
        if (editor->pending[i]->text != NULL)
            bytes += strlen(editor->pending[i]->text);
    return bytes;
}

/* Keeps the pictures of a prompt in the session. */
static int keep_pictures(const struct editor *editor, const struct json *blocks,
                         struct pictures *ret, struct err *err)
{
    ret->count = 0;
    for (const struct json *block = json_first(blocks); block != NULL; block = json_next(block)) {
        const char *data = json_get_text(block, "data");
        _cleanup_str_ struct str bytes = STR_INIT;
        if (strcmp(json_get_text_or(block, "type", ""), "image") != 0)
            continue;
        if (ret->count == PICTURES_MAX)
            return err_set(err, MAS_USAGE, "cannot send more than %d pictures at once",
                           PICTURES_MAX);
        if (data == NULL || !base64_read(data, &bytes))
            return err_set(err, MAS_USAGE, "an image of the prompt is not base64");
        if (pictures_keep(editor->spec->dir, json_get_text_or(block, "uri", ""), str_text(&bytes),
                          bytes.len, &ret->list[ret->count], err) == -1)
            return err_wrap(err, "cannot send an image of the prompt");
        ret->count++;
    }
    return 0;
}

static void request_prompt(struct editor *editor, const struct editor_request *request)
{
    struct err why = ERR_INIT;

    if (waiting_text(editor) + request->len > EDITOR_TEXT_MAX) {
        (void)err_set(&why, MAS_CONFLICT, "too many requests wait for the agent's host");
        editor_refuse(editor, request->ticket, &why);
        return;
    }
    const char *rest = NULL;
    _cleanup_free_ char *word =
        request->text[0] == '/' ? first_word(request->text + 1, &rest) : NULL;
    struct pending_request *pending = editor_pending_new(editor, PENDING_PROMPT, request->session);

    pending->ticket = mem_dup(request->ticket);
    for (size_t i = 0; word != NULL && i < editor_command_count; i++) {
        if (strcmp(editor_commands[i].name, word) != 0)
            continue;
        pending->kind = editor_commands[i].kind;
        if (parse_words(editor, pending, rest))
            editor_begin(editor, pending);
        return;
    }
    pending->text = mem_dup(request->text);
    if (keep_pictures(editor, request->blocks, &pending->pictures, &why) == -1) {
        editor_refuse(editor, request->ticket, &why);
        editor_pending_end(editor, pending);
        return;
    }
    editor_begin(editor, pending);
}

static void request_session(struct editor *editor, const struct editor_request *request)
{
    struct err why = ERR_INIT;
    enum pending_kind kind = request->call == ACP_CALL_NEW    ? PENDING_NEW
                             : request->call == ACP_CALL_LOAD ? PENDING_LOAD
                                                              : PENDING_RESUME;

    if (kind != PENDING_NEW && editor_find(editor, request->session, &why) == -1) {
        editor_refuse(editor, request->ticket, &why);
        return;
    }
    struct pending_request *pending = editor_pending_new(editor, kind, request->session);
    pending->ticket = mem_dup(request->ticket);
    editor_begin(editor, pending);
}

static void request_list(struct editor *editor, const struct editor_request *request)
{
    _cleanup_str_ struct str result = STR_INIT;
    struct json_out out = {.to = &result};
    struct err why = ERR_INIT;

    if (editor_list(editor, request->cwd, request->cursor, &out, &why) == -1)
        editor_refuse(editor, request->ticket, &why);
    else
        (void)acp_agent_answer(editor->acp, request->ticket, result.data);
}

static void request_set(struct editor *editor, const struct editor_request *request)
{
    bool is_mode = request->call == ACP_CALL_SET_MODE;
    struct pending_request *pending =
        editor_pending_new(editor, is_mode ? PENDING_MODE : PENDING_OPTION, request->session);

    pending->ticket = mem_dup(request->ticket);
    pending->mode = is_mode ? mem_dup(request->mode) : NULL;
    pending->option = is_mode ? NULL : mem_dup(request->option);
    pending->value = is_mode ? NULL : mem_dup(request->value);
    editor_begin(editor, pending);
}

static void cancel_one(struct editor *editor, struct pending_request *pending)
{
    pending->cancelled = true;
    if (pending->step != STEP_RUNS)
        return; /* handle_prompt() cancels it when the host has accepted it */
    struct pending_request *cancel = editor_pending_new(editor, PENDING_CANCEL, pending->session);
    editor_replace(&cancel->prompt, pending->prompt);
    editor_begin(editor, cancel);
}

/* Cancels the prompts of a session and returns their number. Those not sent to the host end at
 * once. */
static size_t cancel_all(struct editor *editor, const char *session)
{
    struct pending_request *pending = NULL;
    size_t count = 0;

    for (int64_t at = 0; (pending = editor_pending_after(editor, at)) != NULL;) {
        at = pending->number;
        if (pending->cancelled || strcmp(pending->session, session) != 0 ||
            (pending->kind != PENDING_PROMPT && pending->kind != PENDING_CLEAR))
            continue;
        count++;
        if (pending->step != STEP_WAITS && pending->step != STEP_FOLLOWS) {
            cancel_one(editor, pending);
            continue;
        }
        editor_end_turn(editor, pending->ticket, "cancelled");
        editor_pending_end(editor, pending);
    }
    return count;
}

static void on_cancel(void *arg, const char *session)
{
    struct editor *editor = arg;

    if (editor_session(editor, session) == NULL || cancel_all(editor, session) > 0 ||
        strcmp(session, editor->conversation) != 0 || editor->running == NULL)
        return;
    /* cancel somebody else's turn, which the client sees */
    editor_begin(editor, editor_pending_new(editor, PENDING_CANCEL, session));
}

static void on_withdrawn(void *arg, const char *ticket)
{
    struct editor *editor = arg;

    for (size_t i = 0; i < editor->pending_count; i++) {
        struct pending_request *pending = editor->pending[i];
        if (pending->ticket != NULL && strcmp(pending->ticket, ticket) == 0 &&
            (pending->kind == PENDING_PROMPT || pending->kind == PENDING_CLEAR)) {
            cancel_one(editor, pending);
            return;
        }
    }
}

static void on_request(void *arg, const struct editor_request *request)
{
    struct editor *editor = arg;
    struct err why = ERR_INIT;
    bool is_open = request->session != NULL && editor_session(editor, request->session) != NULL;

    if (editor->pending_count >= EDITOR_PENDING_MAX) {
        (void)err_set(&why, MAS_CONFLICT, "too many requests are open");
        editor_refuse(editor, request->ticket, &why);
        return;
    }
    if (!is_open && (request->call == ACP_CALL_PROMPT || request->call == ACP_CALL_SET_MODE ||
                     request->call == ACP_CALL_SET_OPTION || request->call == ACP_CALL_CLOSE)) {
        (void)err_set(&why, MAS_NOT_FOUND, "session '%s' is not open", request->session);
        (void)err_hint(&why, "open it with session/load");
        editor_refuse(editor, request->ticket, &why);
        return;
    }
    if (request->call == ACP_CALL_PROMPT) {
        request_prompt(editor, request);
    } else if (request->call == ACP_CALL_LIST) {
        request_list(editor, request);
    } else if (request->call == ACP_CALL_CLOSE) {
        (void)cancel_all(editor, request->session);
        editor_session_remove(editor, request->session);
        (void)acp_agent_answer(editor->acp, request->ticket, NULL);
    } else if (request->call == ACP_CALL_SET_MODE || request->call == ACP_CALL_SET_OPTION) {
        request_set(editor, request);
    } else {
        request_session(editor, request);
    }
}

static void on_permitted(void *arg, int64_t serial, const char *option, const struct json *answers)
{
    struct editor *editor = arg;

    for (size_t i = 0; i < editor->permission_count; i++) {
        struct editor_permission *permission = &editor->permissions[i];
        if (permission->serial != serial)
            continue;
        if (option == NULL)
            return; /* the request stays open for others */
        permission->answered = true;
        struct pending_request *pending =
            editor_pending_new(editor, PENDING_PERMIT, editor->conversation);
        pending->prompt = mem_dup(permission->is.id);
        pending->value = mem_dup(option);
        if (answers != NULL)
            json_replace(&pending->answers, answers);
        editor_begin(editor, pending);
        return;
    }
}

const struct acp_agent_ops editor_ops = {
    .request = on_request,
    .cancel = on_cancel,
    .withdrawn = on_withdrawn,
    .permitted = on_permitted,
    .garbage = NULL,
};

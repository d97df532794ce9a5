/*
 * A line is, in this order: nothing, which wakes or restarts an agent that is not there; a digit,
 * which answers the permission that is shown; paths of pictures, which become marks; a command of
 * the pane ("//" sends a line that begins with a slash); or a prompt, which also the agent's own
 * commands are. A prompt is in chat->sent until the host has answered, so that a refused one comes
 * back into the line.
 */

#include "chat/chat.h"

enum { HISTORY_SHOWN = 100 };

/* Sends a request with at most one more member. */
static bool ask(struct chat *chat, enum asked what, const char *request, const char *key,
                const char *value, const char *body)
{
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out = {.to = &head};

    json_open(&out, NULL, '{');
    json_put(&out, "do", request);
    if (key != NULL)
        json_put(&out, key, value);
    json_close(&out, '}');
    return chat_ask(chat, what, head.data, body);
}

static void say(struct chat *chat, const char *text)
{
    view_end(&chat->view);
    view_add(&chat->view, STYLE_NOTE, text, strlen(text));
}

/* Appends a text with what its marks stand for. Shows why, if it cannot. */
static bool take_marks(struct chat *chat, const char *text, struct str *to, struct pictures *ret)
{
    struct err err = ERR_INIT;

    if (marks_take(chat, text, to, ret, &err) == 0)
        return true;
    view_end(&chat->view);
    view_addf(&chat->view, STYLE_ERROR, "%s", err.text);
    return false;
}

/* ---- commands */

static void do_help(struct chat *chat, const char *rest)
{
    (void)rest;
    say(chat,
        "Enter sends, Ctrl-J or Alt-Enter begins a new line, Up recalls earlier input, Ctrl-R "
        "searches it.\nEsc Esc edits the last prompt, Ctrl-X drops the last one that waits.\n"
        "Ctrl-C cancels the turn, Ctrl-L redraws the screen, Tab completes commands and @files.\n"
        "Ctrl-O shows all of the newest text of which only the beginning is shown.");
    for (const struct command *own = chat_commands; own->name != NULL; own++) {
        _cleanup_free_ char *label = mem_printf("%s %s", own->name, own->operand);
        view_addf(&chat->view, STYLE_NOTE, "/%-13s %s", label, own->summary);
    }
    say(chat, "//word         sends /word as it is");
    for (const struct json *one = json_first(chat->commands); one != NULL; one = json_next(one)) {
        const char *name = json_get_text(one, "name");
        const char *description = json_get_text(one, "description");
        if (name != NULL)
            view_addf(&chat->view, STYLE_NOTE, "/%s  %s", name,
                      description != NULL ? description : "");
    }
}

static void do_clear(struct chat *chat, const char *rest)
{
    _cleanup_str_ struct str words = STR_INIT;
    struct pictures pictures;

    if (take_marks(chat, rest, &words, &pictures))
        (void)ask(chat, ASKED_CLEAR, "clear", NULL, NULL, words.len > 0 ? words.data : NULL);
}

static void do_mode(struct chat *chat, const char *rest)
{
    if (rest[0] != '\0') {
        (void)ask(chat, ASKED_MODE, "mode", "mode", rest, NULL);
        return;
    }
    view_end(&chat->view);
    view_addf(&chat->view, STYLE_NOTE, "mode: %s",
              chat->mode != NULL && chat->mode[0] != '\0' ? chat->mode : "unknown");
    for (const struct json *one = json_first(chat->modes); one != NULL; one = json_next(one)) {
        const char *id = json_get_text(one, "id");
        const char *name = json_get_text(one, "name");
        if (id != NULL)
            view_addf(&chat->view, STYLE_NOTE, "  %s  %s", id, name != NULL ? name : "");
    }
}

/* Prints an option that the agent offers: its id, its value, and the values that it may have. */
static void show_option(struct chat *chat, const struct json *option)
{
    const char *id = json_get_text(option, "id");
    const char *value = json_get_text(option, "value");
    _cleanup_str_ struct str values = STR_INIT;

    /* some offer their modes as an option, too; mode= sets the mode */
    if (id == NULL || (json_first(chat->modes) != NULL && strcmp(id, "mode") == 0))
        return;
    for (const struct json *one = json_first(json_get(option, "values")); one != NULL;
         one = json_next(one)) {
        const char *text = json_get_text(one, "value");
        if (text != NULL)
            str_addf(&values, " %s", text);
    }
    view_addf(&chat->view, STYLE_NOTE, "  %s=%s %s%s%s", id, value != NULL ? value : "",
              values.len > 0 ? "(" : "", values.len > 0 ? str_text(&values) + 1 : "",
              values.len > 0 ? ")" : "");
}

static void do_set(struct chat *chat, const char *rest)
{
    size_t len = strcspn(rest, "= \t");
    const char *value = rest + len + strspn(rest + len, "= \t");
    _cleanup_free_ char *option = mem_dupn(rest, len);
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out = {.to = &head};

    if (strcmp(option, "mode") == 0) {
        do_mode(chat, value);
    } else if (value[0] != '\0') {
        json_put_all(&out, JO(NULL), JT("do", "set"), JT("option", option), JT("value", value),
                     JOE);
        (void)chat_ask(chat, ASKED_MODE, str_text(&head), NULL);
    } else {
        do_mode(chat, "");
        view_addf(&chat->view, STYLE_NOTE,
                  json_first(chat->options) != NULL ? "options:" : "no options");
        for (const struct json *one = json_first(chat->options); one != NULL; one = json_next(one))
            show_option(chat, one);
    }
}

static void do_history(struct chat *chat, const char *rest)
{
    long count = rest[0] != '\0' ? strtol(rest, NULL, 10) : HISTORY_SHOWN;

    if (count < 1 || count > PAST_MOST)
        count = HISTORY_SHOWN;
    view_gap(&chat->view);
    view_addf(&chat->view, STYLE_NOTE, "---- history ----");
    past_show_again(chat, (int)count);
    view_gap(&chat->view);
    view_addf(&chat->view, STYLE_NOTE, "---- now ----");
}

static void do_cancel(struct chat *chat, const char *rest)
{
    (void)rest;
    (void)ask(chat, ASKED_CANCEL, "cancel", NULL, NULL, NULL);
}

static void do_new(struct chat *chat, const char *rest)
{
    (void)rest;
    (void)chat_ask(chat, ASKED_NEW, "{\"do\":\"conversation\",\"new\":true}", NULL);
}

/* Keeps what is typed for a field of the form that is shown, until the form is accepted. */
static void do_answer(struct chat *chat, const char *rest)
{
    const char *wrong = chat->permission_count == 0 || chat->permissions[0].form == NULL
                            ? "no form is shown"
                            : form_fill(chat, rest);

    if (wrong != NULL)
        say(chat, wrong);
}

static void put_answers(const struct chat *chat, struct json_out *out)
{
    if (chat->answers == NULL)
        return;
    json_open(out, "answers", '{');
    for (char **one = chat->answers; *one != NULL; one++) {
        size_t len = strcspn(*one, "=");
        _cleanup_free_ char *key = mem_dupn(*one, len);
        json_put(out, key, *one + len + 1);
    }
    json_close(out, '}');
}

/* Sends a prompt with the pictures whose marks it has; `key`: a member of the request, and its
 * value. Returns false, and shows why, if it was not sent. */
static bool send_prompt(struct chat *chat, const char *request, const char *key, bool value,
                        const char *text)
{
    _cleanup_str_ struct str words = STR_INIT;
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out = {.to = &head};
    struct pictures pictures;

    if (!take_marks(chat, text, &words, &pictures))
        return false;
    json_put_all(&out, JO(NULL), JT("do", request), JB(key, value));
    pictures_put(&pictures, &out);
    json_close(&out, '}');
    if (!chat_ask(chat, ASKED_PROMPT, head.data, str_text(&words)))
        return false;
    strv_push(&chat->sent, text);
    return true;
}

static void do_now(struct chat *chat, const char *rest)
{
    if (rest[0] == '\0')
        say(chat, "/now TEXT: the agent sees TEXT in its present turn");
    else
        (void)send_prompt(chat, "send", "now", true, rest);
}

static void do_login(struct chat *chat, const char *rest)
{
    (void)ask(chat, ASKED_LOGIN, "login", rest[0] != '\0' ? "method" : NULL, rest, NULL);
}

const struct command chat_commands[] = {
    {"clear", "[TEXT]", "clear the context, then send TEXT", do_clear},
    {"mode", "[MODE]", "show or set the permission mode", do_mode},
    {"set", "[KEY=V]", "show or set the mode and the options of the agent", do_set},
    {"answer", "FIELD=V", "fill in a field of the form that is shown", do_answer},
    {"now", "TEXT", "let the agent see TEXT in its present turn", do_now},
    {"login", "[METHOD]", "log in to the agent on this terminal", do_login},
    {"history", "[N]", "show earlier messages", do_history},
    {"cancel", "", "cancel the turn", do_cancel},
    {"new", "", "begin a new conversation", do_new},
    {"help", "", "show this help", do_help},
    {.name = NULL},
};

/* Returns true for a command of the agent, which it receives as a prompt. */
static bool is_agents(const struct chat *chat, const char *name, size_t len)
{
    for (const struct json *one = json_first(chat->commands); one != NULL; one = json_next(one)) {
        const char *known = json_get_text(one, "name");
        if (known != NULL && strlen(known) == len && memcmp(known, name, len) == 0)
            return true;
    }
    return false;
}

/* Returns true if the text was a command. */
static bool run_command(struct chat *chat, const char *text)
{
    size_t len = strcspn(text + 1, " \t\n");
    const char *rest = text + 1 + len + strspn(text + 1 + len, " \t\n");

    for (const struct command *own = chat_commands; own->name != NULL; own++)
        if (strlen(own->name) == len && memcmp(own->name, text + 1, len) == 0) {
            own->run(chat, rest);
            return true;
        }
    if (is_agents(chat, text + 1, len))
        return false;
    view_end(&chat->view);
    view_addf(&chat->view, STYLE_ERROR, "there is no command '%.*s'; see /help", (int)len + 1,
              text);
    return true;
}

/* ---- input */

/* A digit answers the permission that is shown. */
static bool answer(struct chat *chat, const char *text)
{
    const struct host_permission *permission = &chat->permissions[0];
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out = {.to = &head};
    char *end = NULL;

    if (chat->permission_count == 0 || text[0] < '0' || text[0] > '9')
        return false;
    unsigned long choice = strtoul(text, &end, 10);
    if (*end != '\0')
        return false;
    if (choice < 1 || choice > permission->options.count) {
        view_addf(&chat->view, STYLE_ERROR, "choose 1 to %zu", permission->options.count);
        return true;
    }
    json_open(&out, NULL, '{');
    json_put_all(&out, JT("do", "permit"), JT("permission", permission->id),
                 JT("option", permission->options.word[choice - 1].id));
    if (permission->form != NULL && str_starts(permission->options.word[choice - 1].kind, "allow"))
        put_answers(chat, &out);
    json_close(&out, '}');
    (void)chat_ask(chat, ASKED_PERMIT, head.data, NULL);
    return true;
}

/* Uses a separate connection and does not wait for the answer. */
static void start_agent(const struct chat *chat, const char *request)
{
    struct host_call call = {.run = chat->run, .agent = chat->agent};

    hosts_start(&call, 1, request, NULL, 0);
    hosts_end(&call, 1);
}

static void wake_agent(struct chat *chat)
{
    if (chat->state != AGENT_ASLEEP || chat->woken)
        return;
    chat->woken = true;
    start_agent(chat, "{\"do\":\"wake\"}");
}

void chat_typing(struct chat *chat)
{
    _cleanup_str_ struct str text = STR_INIT;
    size_t cursor = 0;

    if (chat->state != AGENT_ASLEEP)
        return;
    line_get(chat->line, &text, &cursor);
    if (text.len > 0) /* not for what a terminal sends by itself */
        wake_agent(chat);
}

void chat_submit(struct chat *chat, const char *text)
{
    size_t blanks = strspn(text, " \t\n");

    chat->asked_to_leave = false;
    if (form_take(chat, text))
        return;
    if (text[blanks] == '\0' && (chat->state == AGENT_EXITED || chat->state == AGENT_CRASHED))
        start_agent(chat, "{\"do\":\"restart\"}");
    if (text[blanks] == '\0')
        wake_agent(chat);
    if (text[blanks] == '\0' || answer(chat, text + blanks))
        return;
    if (marks_paste(chat, text)) /* the next Enter sends them */
        return;
    if (!str_starts(text, "/answer ")) /* it may be a secret */
        line_remember(chat->line, text);
    if (text[0] == '/' && text[1] != '/' && run_command(chat, text))
        return;
    if (text[0] == '/' && text[1] == '/')
        text++;
    if (!send_prompt(chat, "ask", "wait", false, text)) {
        line_set(chat->line, text);
        return;
    }
    if (chat->permission_count > 0) {
        view_end(&chat->view);
        view_addf(&chat->view, STYLE_NOTE,
                  "queued until you answer the permission with a digit from 1 to %zu and Enter",
                  chat->permissions[0].options.count);
    }
}

void chat_leave(struct chat *chat)
{
    view_end(&chat->view);
    view_addf(&chat->view, STYLE_NOTE,
              "This pane belongs to agent %s. Leave the team with tmux's detach key (Ctrl-b d); "
              "end it with: mas stop %.8s",
              chat->agent, chat->session);
}

void chat_cancel(struct chat *chat)
{
    bool busy = chat->state == AGENT_WORKING || chat->state == AGENT_WAITING ||
                chat->state == AGENT_STARTING;

    if (busy) {
        (void)ask(chat, ASKED_CANCEL, "cancel", NULL, NULL, NULL);
    } else if (chat->asked_to_leave) {
        chat_leave(chat);
    }
    chat->asked_to_leave = !busy && !chat->asked_to_leave;
}

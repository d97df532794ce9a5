#include "protocol/broker.h"

static int too_large(struct err *err)
{
    (void)err_set(err, MAS_USAGE, "cannot run a command with more than %d words or %d KiB",
                  BROKER_WORDS_MAX, BROKER_BYTES_MAX / 1024);
    return err_hint(err, "give a long text on standard input");
}

int broker_put_request(char *const *argv, bool colour, struct str *to, struct err *err)
{
    _cleanup_str_ struct str head = STR_INIT;
    _cleanup_str_ struct str body = STR_INIT;
    struct json_out out = {.to = &head};
    size_t count = 0;

    for (; argv[count] != NULL; count++)
        str_addn(&body, argv[count], strlen(argv[count]) + 1);
    if (count > BROKER_WORDS_MAX || body.len > BROKER_BYTES_MAX)
        return too_large(err);
    json_put_all(&out, JO(NULL), JT("do", "run"), JI("words", count), JB("colour", colour), JOE);
    frame_add(to, &head, str_text(&body), body.len);
    return 0;
}

int broker_parse_request(const struct frame *frame, char ***ret_argv, bool *ret_colour,
                         struct err *err)
{
    const char *what = json_get_text(frame->head, "do");
    int64_t count = json_int(json_get(frame->head, "words"), 0);
    const char *word = frame->body;
    char **argv = NULL;

    if (what == NULL || strcmp(what, "run") != 0)
        return err_set(err, MAS_USAGE, "cannot answer '%s': there is no such request",
                       what != NULL ? what : "");
    if (count > BROKER_WORDS_MAX || frame->body_len > BROKER_BYTES_MAX)
        return too_large(err);
    for (int64_t i = 0; i < count && word != NULL && word < frame->body + frame->body_len; i++) {
        strv_push(&argv, word);
        word += strlen(word) + 1; /* the body ends with a NUL of its own */
    }
    if (count < 1 || strv_len(argv) != (size_t)count || word != frame->body + frame->body_len) {
        strv_free(argv);
        return err_set(err, MAS_DAMAGED, "cannot run a command: its words are damaged");
    }
    *ret_argv = argv;
    *ret_colour = json_bool(json_get(frame->head, "colour"), false);
    return 0;
}

void broker_put_exit(int code, struct str *to)
{
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out = {.to = &head};

    json_put_all(&out, JO(NULL), JB("ok", true), JI("exit", code), JOE);
    frame_add(to, &head, NULL, 0);
}

void broker_put_refusal(const struct err *why, struct str *to)
{
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out = {.to = &head};

    json_open(&out, NULL, '{');
    json_put_all(&out, JB("ok", false), JI("code", why->code), JT("why", why->text));
    if (why->hint[0] != '\0')
        json_put(&out, "hint", why->hint);
    json_close(&out, '}');
    frame_add(to, &head, NULL, 0);
}

int broker_parse_answer(const struct frame *frame, int *ret_code, struct err *err)
{
    enum { CODE_MAX = 255 };
    const char *why = json_get_text(frame->head, "why");
    const char *hint = json_get_text(frame->head, "hint");
    int64_t code = json_int(json_get(frame->head, "code"), MAS_FAILED);

    if (json_bool(json_get(frame->head, "ok"), false)) {
        int64_t end = json_int(json_get(frame->head, "exit"), MAS_FAILED);
        *ret_code = end < 0 || end > CODE_MAX ? MAS_FAILED : (int)end;
        return 0;
    }
    (void)err_set(err, code < MAS_FAILED || code > MAS_TIMEOUT ? MAS_FAILED : (int)code, "%s",
                  why != NULL ? why : "the agent's host refused it without a reason");
    return hint != NULL ? err_hint(err, "%s", hint) : -1;
}

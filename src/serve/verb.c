#include "serve/verb.h"

#include "serve/request.h"
#include "serve/server.h"

enum { OUTPUT_MAX = 8 << 20, TIMEOUT_MS = 1800 * 1000 };

/* Parses stderr: warnings, then "mas: <text>" and an optional hint. */
static void parse_error(const char *said, int code, struct err *err)
{
    const char *line = strstr(said, "mas: ");

    while (line != NULL && str_starts(line, "mas: warning: ")) {
        const char *next = strstr(line + 1, "\nmas: ");
        line = next == NULL ? NULL : next + 1;
    }
    if (line == NULL) {
        (void)err_set(err, code, "mas exited with code %d", code);
        return;
    }
    line += strlen("mas: ");
    size_t len = strcspn(line, "\n");
    (void)err_set(err, code, "%.*s", (int)len, line);
    const char *hint = line + len + (line[len] == '\n');
    if (!str_starts(hint, "mas: ") && hint[0] != '\0')
        (void)err_hint(err, "%.*s", (int)strcspn(hint, "\n"), hint);
}

void verb_reword(struct err *err, const char *from, const char *to)
{
    const char *at = strstr(err->text, from);

    if (at == NULL)
        return;
    _cleanup_free_ char *text =
        mem_printf("%.*s%s%s", (int)(at - err->text), err->text, to, at + strlen(from));
    (void)snprintf(err->text, sizeof err->text, "%s", text);
}

static void say(struct err *err, const char *option, const char *param)
{
    _cleanup_free_ char *used = mem_printf("use %s ", option);
    _cleanup_free_ char *use = mem_printf("use %s ", param);
    _cleanup_free_ char *other = mem_printf(" with %s", option);
    _cleanup_free_ char *with = mem_printf(" with %s", param);

    verb_reword(err, used, use);
    if (str_ends(err->text, other))
        verb_reword(err, other, with);
}

void verb_say_params(const struct operation *operation, struct err *err)
{
    const char *kind = operation_has_queries(operation) ? "query" : "member";

    for (const struct param *p = operation->params; p != NULL && p->name != NULL; p++) {
        _cleanup_str_ struct str names = STR_INIT;
        if (p->kind == PARAM_WORD)
            param_put_words(p, &names);
        _cleanup_strv_ char **words = str_split_list(str_text(&names));
        for (char **word = words; word != NULL && *word != NULL; word++) {
            size_t len = 0;
            const char *own = param_word_option(p, *word, &len);
            _cleanup_free_ char *option = own != NULL ? mem_dupn(own, len) : NULL;
            _cleanup_free_ char *param = mem_printf("the word %s of %s", *word, p->name);
            if (option != NULL)
                say(err, option, param);
        }
        _cleanup_free_ char *option =
            p->option != NULL ? mem_dupn(p->option, strcspn(p->option, " ")) : NULL;
        _cleanup_free_ char *param = mem_printf("the %s %s", kind, p->name);
        if (option != NULL && str_starts(option, "--"))
            say(err, option, param);
    }
}

int verb_do(const struct request *request, const struct operation_values *more,
            const struct str *input, struct str *ret_out, struct err *err)
{
    const struct operation *operation = request->operation;
    const struct operation_values values = {
        .id = more != NULL && more->id != NULL ? more->id : request->id,
        .agent = request->agent,
        .item = request->item,
        .file = more != NULL ? more->file : NULL,
        .setting = more != NULL ? more->setting : NULL,
        .params = request->json,
    };
    _cleanup_strv_ char **words = NULL;
    _cleanup_str_ struct str text = STR_INIT;
    const char *given = operation_words(operation->command, operation->params, &values, &words);

    if (given != NULL)
        str_add(&text, given);
    if (verb_run_watched(request->server, words, input != NULL ? input : &text, NULL, ret_out,
                         err) == 0)
        return 0;
    verb_say_params(operation, err);
    return -1;
}

int verb_run_watched(const struct server *server, char *const *words, const struct str *input,
                     const struct verb_watch *watch, struct str *ret_out, struct err *err)
{
    struct proc_result result = PROC_RESULT_INIT;
    struct proc proc;
    _cleanup_strv_ char **argv = NULL;

    strv_push(&argv, "mas");
    strv_push(&argv, "--root");
    strv_push(&argv, server->root.path);
    for (; *words != NULL; words++)
        strv_push(&argv, *words);
    const struct proc_spec spec = {.file = server->mas,
                                   .argv = argv,
                                   .cwd = -1, /* the starter knows, and the environment */
                                   .input = input != NULL ? str_text(input) : NULL,
                                   .input_len = input != NULL ? input->len : 0,
                                   .output_max = OUTPUT_MAX,
                                   .timeout_ms = TIMEOUT_MS};
    int rc = proc_start(&spec, &proc, err);
    if (rc == 0 && watch != NULL && !watch->on_start(&proc, watch->arg)) {
        proc_abandon(&proc);
        rc = err_set(err, MAS_FAILED, "it was cancelled");
    }
    if (rc == 0)
        rc = proc_finish(&proc, &result, err);
    if (rc == 0 && result.status != 0) {
        parse_error(str_text(&result.err), result.status, err);
        rc = -1;
    }
    if (ret_out != NULL) {
        *ret_out = result.out;
        result.out = (struct str)STR_INIT;
    }
    proc_result_free(&result);
    return rc;
}

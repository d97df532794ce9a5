#include "serve/verb.h"

#include "serve/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

int verb_run(const struct server *server, const char *const *words, const struct str *input,
             struct str *ret_out, struct err *err)
{
    return verb_run_watched(server, words, input, NULL, ret_out, err);
}

int verb_run_watched(const struct server *server, const char *const *words, const struct str *input,
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

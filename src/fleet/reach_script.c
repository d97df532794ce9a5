/* Scripts for machines that may have no mas: they print the seal that mas would print. */
#include "fleet/reach_internal.h"
#include "os/proc.h"

enum { SCRIPT_OUTPUT_MAX = 65536 };

/* $1 is the text of the seal. */
#define BEFORE "s=$1; shift; printf \"\\\\036%s\\\\n\" \"$s\"; ("
#define AFTER "); c=$?; printf \"\\\\036%s\\\\n\" \"$s\"; exit $c"

/* Returns the command line for the shell there, whichever it is. The caller frees it. */
static char *make_text(const struct reach_script *script, const struct seal *seal)
{
    _cleanup_free_ char *whole = mem_printf("%s%s%s", BEFORE, script->text, AFTER);
    _cleanup_free_ char *id = mem_dupn(seal->line + 1, ID_TEXT - 1);
    _cleanup_str_ struct str text = STR_INIT;

    str_add(&text, "exec sh -c ");
    reach_quote(&text, whole);
    str_add(&text, " sh ");
    reach_quote(&text, id);
    for (char *const *arg = script->args; *arg != NULL; arg++) {
        str_addc(&text, ' ');
        reach_quote(&text, *arg);
    }
    return str_steal(&text);
}

/* Takes the output apart. */
static int take(const struct reach_script *script, const struct proc_result *result,
                struct seal *seal, struct str *out, struct err *err)
{
    seal_take(seal, str_text(&result->out), result->out.len, out);
    if (seal->whole)
        return 0;
    _cleanup_free_ char *words = reach_last_words(str_text(&result->err), result->err.len);
    const char *why = seal->begun ? "the connection was lost" : "its shell runs no command";
    _cleanup_free_ char *text = words != NULL ? mem_printf("%s: %s", why, words) : mem_dup(why);
    return reach_fail(script->remote, text, err);
}

int reach_run_script(const struct reach_script *script, struct str *out, int *ret_code,
                     struct err *err)
{
    _cleanup_reach_ struct reach_line line = REACH_LINE_INIT;
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    struct err why = ERR_INIT;
    struct seal seal;

    if (seal_make(&seal, err) == -1)
        return -1;
    _cleanup_free_ char *text = make_text(script, &seal);
    if (reach_open_text(script->remote, text, &line, err) == -1)
        return -1;
    const struct proc_spec spec = {.file = line.program,
                                   .argv = line.argv,
                                   .envp = line.env,
                                   .cwd = -1,
                                   .input = script->input,
                                   .input_len = script->input_len,
                                   .output_max = SCRIPT_OUTPUT_MAX,
                                   .timeout_ms = script->timeout_ms,
                                   .bound = true};
    if (proc_capture(&spec, &result, &why) == -1)
        return reach_fail(script->remote, why.code == MAS_TIMEOUT ? "no answer in time" : why.text,
                          err);
    if (take(script, &result, &seal, out, err) == -1)
        return -1;
    *ret_code = result.status;
    return 0;
}

#include "cmd.h"
#include "cmd/edit.h"
#include "cmd/print.h"
#include "cmd/template.h"
#include "os/path.h"
#include "os/proc.h"
#include "store/template.h"

/* Asks the user what to do with a copy that has errors: 'e' edit, 'k' keep or 'd' drop. Without a
 * terminal, 'k'. */
static char ask(void)
{
    char line[16];

    while (edit_is_terminal()) {
        (void)fputs("(e)dit again, (k)eep it for later, or (d)rop it? ", stderr);
        if (fgets(line, sizeof line, stdin) == NULL)
            break;
        if ((line[0] == 'e' || line[0] == 'k' || line[0] == 'd') && line[1] == '\n')
            return line[0];
    }
    return 'k';
}

static int kept(const struct template_edit *edit, struct err *err)
{
    return err_hint(err, "your changes are in '%s'; continue with: mas template edit %s",
                    edit->path, edit->tmpl.name);
}

/* Runs the editor once. Returns 1 if the copy should replace template.ini, 0 if the user changed
 * nothing, and -1 with *err set if template.ini stays as it is. */
static int edit_once(struct call *call, const struct template_edit *edit, char **words,
                     const char *program, char *ret_answer, struct err *err)
{
    _cleanup_diagnostics_ struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    int status = 0;

    *ret_answer = 'k';
    (void)fflush(stdout);
    if (proc_run(program, words, &status, err) == -1)
        return -1;
    int changed = template_edit_changed(edit, err);
    if (changed == -1)
        return err_wrap(err, "cannot edit template '%s'", edit->tmpl.name);
    if (changed == 0)
        template_edit_drop(edit);
    if (status != 0)
        return err_set(err, MAS_FAILED, "cannot edit template '%s': the editor exited with code %d",
                       edit->tmpl.name, status);
    if (changed == 0)
        return 0;
    template_check(&call->root, &call->config, edit->tmpl.name, TEMPLATE_EDIT_FILE, &diagnostics);
    print_diagnostics(&diagnostics, false);
    if (diagnostics.errors == 0)
        return 1;
    (void)fflush(stdout);
    (void)err_set(err, MAS_FAILED, "cannot change template '%s': it would have %zu error%s",
                  edit->tmpl.name, diagnostics.errors, diagnostics.errors == 1 ? "" : "s");
    *ret_answer = ask();
    return -1;
}

static int edit(struct call *call, const struct template_edit *edit, char **words,
                const char *program, struct err *err)
{
    char answer = 'e';
    int rc = -1;

    while (rc == -1 && answer == 'e')
        rc = edit_once(call, edit, words, program, &answer, err);
    if (rc == 1)
        rc = template_edit_finish(edit, err) == -1 ? -1 : 1;
    if (rc == -1 && answer == 'd')
        template_edit_drop(edit);
    if (rc == -1) {
        struct err ignored = ERR_INIT;
        return template_edit_changed(edit, &ignored) == 1 ? kept(edit, err) : -1;
    }
    if (!call->quiet)
        printf("%s: %s\n", edit->tmpl.name, rc == 1 ? "changed" : "unchanged");
    return 0;
}

static int run_edit(struct call *call, struct err *err)
{
    struct template_edit state;
    _cleanup_free_ char *name = NULL;
    _cleanup_free_ char *program = NULL;
    _cleanup_strv_ char **words = NULL;

    if (edit_find("a template", &words, &program, err) == -1 ||
        template_resolve(&call->root, call->operands[0], &name, err) == -1 ||
        template_edit_begin(&call->root, name, &state, err) == -1)
        return -1;
    strv_push(&words, state.path);
    if (state.resumed)
        (void)fprintf(stderr, "continuing the unfinished edit\n");
    int rc = edit(call, &state, words, program, err);
    template_edit_free(&state);
    return rc;
}

const struct cmd cmd_template_edit = {
    .name = "template edit",
    .operands = " TEMPLATE",
    .summary = "edit a copy of template.ini, and use it if it has no errors",
    .examples = "mas template edit duo",
    .details = "The editor is $VISUAL, $EDITOR or vi. A copy that has errors stays as "
               ".template-edit.ini, and the next edit continues with it.",
    .operands_min = 1,
    .operands_max = 1,
    .offer = OFFER_TEMPLATE,
    .flags = CMD_ROOT | CMD_PRESETS | CMD_QUIET | CMD_TERMINAL,
    .run = run_edit,
};

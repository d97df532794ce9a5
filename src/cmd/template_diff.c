#include "cmd.h"
#include "cmd/template.h"
#include "os/path.h"
#include "store/root.h"
#include "store/shipped.h"

static int print_one(const struct shipped *shipped, const char *name, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;

    if (shipped_compare(shipped, name, &text, err) == -1)
        return -1;
    printf("%s", text.data);
    return 0;
}

static int run_diff(struct call *call, struct err *err)
{
    _cleanup_shipped_ struct shipped shipped = SHIPPED_INIT;
    _cleanup_strv_ char **names = NULL;
    const char *wanted = call->operand_count > 0 ? call->operands[0] : NULL;
    bool found = false;

    if (shipped_open(call->root.fd, &shipped, err) == -1 ||
        shipped_names(&shipped, &names, err) == -1)
        return -1;
    for (char **name = names; *name != NULL; name++) {
        if (wanted != NULL && strcmp(*name, wanted) != 0)
            continue;
        enum shipped_state state = shipped_look(&shipped, *name);
        found = state != SHIPPED_MISSING;
        if (!found && wanted != NULL) {
            (void)err_set(err, MAS_NOT_FOUND, "cannot compare '%s': it is missing in the root",
                          wanted);
            return err_hint(err, "restore it with: mas init");
        }
        if (found && state != SHIPPED_SAME && print_one(&shipped, *name, err) == -1)
            return -1;
    }
    if (wanted == NULL || found)
        return 0;
    (void)err_set(err, MAS_NOT_FOUND, "cannot compare '%s': mas does not ship it", wanted);
    return err_hint(err, "see what is shipped with: mas template list");
}

const struct cmd cmd_template_diff = {
    .name = "template diff",
    .operands = " [NAME]",
    .summary = "show how templates differ from the shipped ones",
    .examples = "mas template diff\n"
                "mas template diff agents.ini",
    .details = "NAME is a shipped template or agents.ini; without NAME, compare all. Lines "
               "with '-' are shipped, lines with '+' are the root's.",
    .operands_max = 1,
    .offer = OFFER_TEMPLATE,
    .flags = CMD_ROOT,
    .run = run_diff,
};

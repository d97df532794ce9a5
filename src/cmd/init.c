#include "cmd.h"
#include "os/path.h"
#include "store/known_roots.h"
#include "store/shipped.h"

/* Lists the shipped templates that root_init() will create or update in a root, and those that it
 * leaves because the user changed them. */
static int tell_of_templates(const char *root, struct str *text, struct err *err)
{
    _cleanup_close_ int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_shipped_ struct shipped shipped = SHIPPED_INIT;
    _cleanup_strv_ char **names = NULL;
    struct err ignored = ERR_INIT;

    if (fd == -1 || shipped_open(fd, &shipped, &ignored) == -1 || shipped_is_root(&shipped))
        return 0; /* root_init() creates it, or reports the error */
    if (shipped_names(&shipped, &names, err) == -1)
        return -1;
    for (char **name = names; *name != NULL; name++) {
        enum shipped_state state = shipped_look(&shipped, *name);
        if (state == SHIPPED_MISSING)
            str_addf(text, "templates/%s: created\n", *name);
        else if (state == SHIPPED_EARLIER)
            str_addf(text, "templates/%s: updated\n", *name);
        else if (state == SHIPPED_BEHIND)
            err_add_commands(text,
                             "templates/%s: kept, because you have changed it; the shipped version "
                             "has changed too, see: mas template diff %s\n",
                             *name, *name);
    }
    return 0;
}

/* Creates or accepts the given root, or the one that mas would use. */
static int run_init(struct call *call, struct err *err)
{
    _cleanup_free_ char *found = NULL;
    _cleanup_str_ struct str safe = STR_INIT;
    _cleanup_str_ struct str news = STR_INIT; /* about the templates of an existing root */
    enum root_origin origin;
    struct root_made made = ROOT_MADE_INIT;

    if (call->operand_count > 0)
        found = mem_dup(call->operands[0]);
    else if (root_find(call->root_path, &found, &origin, err) == -1)
        return -1;
    if (found[0] == '\0')
        return err_set(err, MAS_USAGE, "cannot create a root: the directory's name is empty");
    bool was_root = root_exists(found);
    if ((was_root && tell_of_templates(found, &news, err) == -1) ||
        root_init(found, &made, err) == -1)
        return -1;
    _cleanup_free_ char *path = path_canonical(found);
    if (path == NULL)
        return err_errno(err, "cannot use root '%s'", found);
    bool is_known = known_roots_has(path);
    if (!is_known && known_roots_add(path, err) == -1) {
        if (was_root)
            return -1; /* the root exists, so accepting it was the only purpose */
        err_warn("%s", err->text);
    }
    if (made.refused.code != MAS_OK)
        err_warn("%s", made.refused.text);
    if (call->quiet)
        return 0;
    str_add_visible(&safe, path, strlen(path));
    printf("%s: %s\n", safe.data,
           was_root && !is_known
               ? "is already a root, accepted: mas may run the programs that it names"
           : made.any && !was_root    ? "root created"
           : made.any || news.len > 0 ? "is already a root"
                                      : "is already a root, nothing to do");
    printf("%s", news.len > 0 ? news.data : "");
    if (made.own)
        printf("templates/" ROOT_OWN ": made of unit/ and workflows/; 'mas new' uses it\n");
    if (made.any && !was_root && isatty(STDOUT_FILENO) != 0)
        printf("keys for tmux, to see and reach agents: mas keys >>~/.tmux.conf\n");
    return 0;
}

const struct cmd cmd_init = {
    .name = "init",
    .group = GROUP_SETUP,
    .operands = " [DIR]",
    .summary = "create a root with the shipped templates, or accept one",
    .examples = "mas init\n"
                "mas init ~/teams",
    .details =
        "A root holds mas.ini, templates/ and sessions/. Without DIR, mas uses "
        "--root, $MAS_ROOT, the root that the current directory is in, or the user's "
        "data directory. Existing files stay as they are; only shipped templates that "
        "you have not changed are updated. Of a directory with unit/ and workflows/, and without "
        "templates, mas makes templates/own, too, which 'mas new' uses there. The command also "
        "accepts a root that "
        "somebody else created: from then on mas runs what its files name.",
    .operands_max = 1,
    .takes = TAKES_QUIET,
    .run = run_init,
};

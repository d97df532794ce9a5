/*
 * A root is found and opened, then it is asked whether the user has accepted it, and only then its
 * settings are read: those of a root that was just found around here may name no program. A command
 * that would run such a program asks on a terminal, else fails. Hints look into other known roots,
 * the newest first, and into no more than a line of text is worth.
 */

#include "cli/roots.h"

#include "client/survey.h"
#include "store/known_roots.h"

/* The numbers of other roots to check and to name; few, because a hint is one line. */
enum { LOOKED_MAX = 32, NAMED_MAX = 3 };

/* Asks on a terminal whether to accept the root. Records a yes and returns true for it. */
static bool ask(const struct call *call)
{
    _cleanup_str_ struct str path = STR_INIT;
    struct err err = ERR_INIT;
    char line[16];

    if (isatty(STDIN_FILENO) == 0 || isatty(STDERR_FILENO) == 0)
        return false;
    str_add_visible(&path, call->root.path, strlen(call->root.path));
    (void)fprintf(stderr,
                  "mas found the root '%s' from the current directory and\n"
                  "would run programs that its mas.ini and templates name. Accept it? [y/N] ",
                  path.data);
    if (fgets(line, sizeof line, stdin) == NULL ||
        (strcmp(line, "y\n") != 0 && strcmp(line, "yes\n") != 0))
        return false;
    if (known_roots_add(call->root.path, &err) == -1)
        err_warn("%s", err.text);
    return true;
}

/* Call after the root was opened. If the root was found from the current directory and the user
 * neither created nor accepted it, sets root.accepted to false, so that its settings cannot name
 * programs, and a command with RUNS_PROGRAMS fails. On a terminal, such a command first asks the
 * user whether to accept the root, and records a yes. */
static int roots_check(struct call *call, struct err *err)
{
    _cleanup_str_ struct str word = STR_INIT;

    if (call->origin != ROOT_ABOVE || known_roots_has(call->root.path))
        return 0;
    call->root.accepted = false;
    if ((call->cmd->does & RUNS_PROGRAMS) == 0)
        return 0;
    if (ask(call)) {
        call->root.accepted = true;
        return 0;
    }
    str_add_shell(&word, call->root.path, false);
    (void)err_set(err, MAS_FAILED,
                  "cannot run '%s' in root '%s': mas found it from the current directory, and you "
                  "have neither created nor accepted it",
                  call->cmd->name, call->root.path);
    return err_hint(err, "mas would run programs that it names; accept it with: mas init %s",
                    word.data);
}

int call_show_wrong(const struct diagnostics *wrong, int code, struct err *err)
{
    size_t shown = wrong->count < DIAGNOSTICS_SHOWN ? wrong->count : DIAGNOSTICS_SHOWN;

    for (size_t i = 0; i < shown; i++) {
        if (i > 0)
            err_print(err);
        (void)diagnostic_fail(&wrong->list[i], code, err);
    }
    if (wrong->errors > shown && shown > 0)
        (void)err_hint(err, "%zu more errors are not shown", wrong->errors - shown);
    return -1;
}

/* Loads the settings. */
static int load_config(struct call *call, const struct root *root, struct err *err)
{
    _cleanup_diagnostics_ struct diagnostics wrong = DIAGNOSTICS_INIT;
    bool with_presets = (call->cmd->does & READS_PRESETS) != 0;

    if (config_load(root, with_presets, &call->config, &wrong, err) == 0)
        return 0;
    return call_show_wrong(&wrong, err->code, err);
}

int call_open_root(struct call *call, struct err *err)
{
    _cleanup_free_ char *path = NULL;
    struct root_made made = ROOT_MADE_INIT;

    if (root_find(call->root_path, &path, &call->origin, err) == -1)
        return -1;
    free(call->searched);
    call->searched = mem_dup(path);
    if (call->origin == ROOT_DEFAULT && !root_exists(path)) {
        if (call->cmd->root == ROOT_IF_THERE)
            return load_config(call, NULL, err);
        if (call->cmd->root == ROOT_MADE && root_init(path, &made, err) == -1)
            return -1;
    }
    if (root_open(path, &call->root, err) == -1)
        return -1;
    call->has_root = true;
    free(call->searched);
    call->searched = mem_dup(call->root.path);
    if (roots_check(call, err) == -1)
        return -1;
    return load_config(call, &call->root, err);
}

void roots_warn_disbelieved(const struct call *call)
{
    _cleanup_str_ struct str word = STR_INIT;

    if (call->config.disbelieved == NULL)
        return;
    str_add_shell(&word, call->root.path, false);
    err_warn("mas does not run the program that %s names, because you have neither created nor "
             "accepted that root; accept it with: mas init %s",
             call->config.disbelieved, word.data);
}

/* Returns true if the index of a root has the session that `text` names (NULL: any session). */
static bool holds(const char *path, const char *text)
{
    _cleanup_root_ struct root root = ROOT_INIT;
    _cleanup_index_ struct index index = INDEX_INIT;
    struct err ignored = ERR_INIT;

    if (root_open(path, &root, &ignored) == -1 || index_read(&root, false, &index, &ignored) == -1)
        return false;
    return text == NULL ? index.count > 0 : survey_has(&index, text);
}

/* Lists up to NAMED_MAX known roots that have the session, or NULL. Release with strv_free(). */
static char **find_others(const struct call *call, const char *text)
{
    _cleanup_strv_ char **known = known_roots_list(call->searched);
    char **found = NULL;
    size_t count = strv_len(known);

    /* newest first */
    for (size_t i = count; i > 0 && count - i < LOOKED_MAX && strv_len(found) < NAMED_MAX; i--)
        if (holds(known[i - 1], text))
            strv_push(&found, known[i - 1]);
    return found;
}

/* Appends the command line that runs a command in another root. */
static void add_command(struct str *to, const char *root, const char *verb, const char *text)
{
    str_add(to, "mas --root ");
    str_add_shell(to, root, false);
    str_addf(to, " %s", verb);
    if (text != NULL) {
        str_addc(to, ' ');
        str_add_shell(to, text, false);
    }
}

static void add_others(const struct call *call, struct str *to)
{
    _cleanup_strv_ char **found = find_others(call, NULL);

    if (found == NULL) {
        str_add(to, "create a session with: mas new");
        if (call->config.remote_count > 0)
            str_add(to, "; those of other machines: mas list --all-hosts");
        return;
    }
    str_add(to, "other roots have some: ");
    for (size_t i = 0; found[i] != NULL; i++) {
        if (i > 0)
            str_add(to, ", ");
        add_command(to, found[i], "list", NULL);
    }
}

void roots_say_none(const struct call *call, const char *what)
{
    _cleanup_str_ struct str others = STR_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_str_ struct str safe = STR_INIT;

    add_others(call, &others);
    err_add_commands(&text, "%s in '%s'; %s", what, call->searched, others.data);
    str_add_visible(&safe, text.data, text.len);
    (void)fprintf(stderr, "%s\n", safe.data);
}

int roots_hint_none(const struct call *call, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;

    add_others(call, &text);
    return err_hint(err, "%s", text.data);
}

int roots_hint_session(const struct call *call, const char *text, struct err *err)
{
    _cleanup_strv_ char **found = strcmp(text, "@last") == 0 ? NULL : find_others(call, text);
    _cleanup_str_ struct str hint = STR_INIT;

    if (found == NULL)
        return -1;
    str_addf(&hint, "it is in another root: ");
    add_command(&hint, found[0], call->cmd->name, text);
    return err_hint(err, "%s", hint.data);
}

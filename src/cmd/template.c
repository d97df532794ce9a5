/*
 * `mas template`. A template that is broken never ends a list: it
 * is a line with its fault, and `check` goes through all before it fails. `list` compares each with
 * the one that mas ships, to tell what is the person's own.
 */

#include "store/template.h"
#include "base/json.h"
#include "base/number.h"
#include "cli/edit.h"
#include "cli/print.h"
#include "cli/table.h"
#include "cmd.h"
#include "os/path.h"
#include "os/proc.h"
#include "os/tree.h"
#include "store/root.h"
#include "store/shipped.h"
#include "store/workspace.h"

/* One line of `mas template list`. */
struct template_entry {
    const char *name;
    char *path;
    enum shipped_state state;
    char *problem; /* NULL: the template is valid */
    struct template tmpl;
};

/* The origin of a template, and whether the shipped version is now a different one. */
static const struct {
    const char *origin, *words;
    bool outdated;
} states[] = {
    [SHIPPED_MISSING] = {"own", "own", false},
    [SHIPPED_SAME] = {"shipped", "shipped", false},
    [SHIPPED_EARLIER] = {"shipped", "shipped, outdated", true},
    [SHIPPED_CHANGED] = {"changed", "changed", false},
    [SHIPPED_BEHIND] = {"changed", "changed, outdated", true},
};

static enum shipped_state find_state(const struct shipped *shipped, const char *name)
{
    if (shipped->from == -1 || faccessat(shipped->from, name, F_OK, 0) == -1)
        return SHIPPED_MISSING;
    return shipped_look(shipped, name);
}

static void look(const struct root *root, const struct shipped *shipped, const char *name,
                 struct template_entry *ret)
{
    struct err err = ERR_INIT;
    _cleanup_free_ char *head = mem_printf("cannot use template '%s': ", name);

    *ret = (struct template_entry){.name = name, .tmpl = TEMPLATE_INIT};
    ret->path = mem_printf("%s/%s/%s", root->path, ROOT_TEMPLATES, name);
    ret->state = find_state(shipped, name);
    if (template_open(root, name, &ret->tmpl, &err) == -1)
        ret->problem = mem_dup(str_starts(err.text, head) ? err.text + strlen(head) : err.text);
}

static void put_state(struct json_out *out, enum shipped_state state)
{
    json_put(out, "origin", states[state].origin);
    json_put_bool(out, "outdated", states[state].outdated);
}

static void put_entry(const struct template_entry *entry, struct json_out *out)
{
    json_open(out, NULL, '{');
    json_put(out, "name", entry->name);
    json_put(out, "path", entry->path);
    put_state(out, entry->state);
    json_put_all(out,
                 JT("description", entry->problem == NULL ? entry->tmpl.team.description : NULL),
                 JI("agents", entry->tmpl.team.agent_count), JT("problem", entry->problem));
    json_close(out, '}');
}

static void add_entry(const struct template_entry *entry, struct table *table)
{
    char agents[24];
    _cleanup_free_ char *words = entry->problem != NULL ? mem_printf("broken: %s", entry->problem)
                                                        : mem_dup(entry->tmpl.team.description);

    (void)snprintf(agents, sizeof agents, "%zu", entry->tmpl.team.agent_count);
    table_add(table, entry->name, NULL);
    table_add(table, entry->problem != NULL ? "-" : agents, NULL);
    table_add(table, states[entry->state].words,
              states[entry->state].outdated ? colour(TINT_ASKS) : NULL);
    table_add(table, words, entry->problem != NULL ? colour(TINT_BAD) : NULL);
}

static int run_list(struct call *call, struct err *err)
{
    static const char *const heads[] = {"TEMPLATE", "AGENTS", "FROM", "DESCRIPTION"};
    static const char *const spare[] = {"FROM", NULL};
    struct table table = {.columns = ARRAY_LEN(heads), .spare = spare};
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};
    struct err ignored = ERR_INIT;
    _cleanup_strv_ char **names = template_list(&call->root, !call->quiet);
    _cleanup_shipped_ struct shipped shipped = SHIPPED_INIT;

    (void)err;
    if (!call->quiet)
        (void)shipped_open(call->root.fd, &shipped, &ignored);
    enum shipped_state presets = find_state(&shipped, "agents.ini");
    json_open(&out, NULL, '{');
    json_open(&out, "templates", '[');
    table_heads(&table, heads);
    for (char **name = names; name != NULL && *name != NULL; name++) {
        struct template_entry entry;
        if (call->quiet) {
            printf("%s\n", *name);
            continue;
        }
        look(&call->root, &shipped, *name, &entry);
        add_entry(&entry, &table);
        put_entry(&entry, &out);
        template_free(&entry.tmpl);
        free(entry.path);
        free(entry.problem);
    }
    json_close(&out, ']');
    if (presets != SHIPPED_MISSING) {
        json_open(&out, "agents_ini", '{');
        put_state(&out, presets);
        json_close(&out, '}');
    }
    json_close(&out, '}');
    if (call->json)
        print_line(&text);
    else if (!call->quiet)
        table_print(&table);
    if (!call->json && !call->quiet && presets > SHIPPED_SAME)
        printf("\nagents.ini: %s\n", states[presets].words);
    table_free(&table);
    return 0;
}

/* Measures the files that a session gets from a template. */
static struct tree_size measure(const struct template *tmpl)
{
    _cleanup_meter_ struct tree_meter *meter = tree_meter_new();
    struct tree_size size = {.files = 0};

    (void)tree_measure(meter, tmpl->fd, WORKSPACE_UNIT, false);
    (void)tree_measure(meter, tmpl->fd, WORKSPACE_WORKFLOWS, false);
    tree_meter_read(meter, &size);
    return size;
}

static void print_agents(const struct team *team)
{
    static const char *const heads[] = {"WINDOW", "LAYOUT", "AGENT", "ROLE",
                                        "UNIT",   "RANK",   "PRESET"};
    static const char *const spare[] = {"RANK", "UNIT", "LAYOUT", NULL};
    struct table table = {.columns = ARRAY_LEN(heads), .spare = spare};

    table_heads(&table, heads);
    for (size_t i = 0; i < team->window_count; i++)
        for (size_t j = 0; j < team->windows[i].count; j++) {
            const struct window *window = &team->windows[i];
            const struct agent *agent = &team->agents[window->agents[j]];
            const char *preset = agent->preset[0] != '\0' ? agent->preset : team->preset;
            table_add(&table, j == 0 ? window->name : "", NULL);
            table_add(&table, j == 0 ? window->layout : "", NULL);
            table_add(&table, agent->id, NULL);
            table_add(&table, agent->role, NULL);
            table_add(&table, agent->group, NULL);
            table_add(&table, rank_name(agent->rank), NULL);
            table_add(&table, preset[0] != '\0' ? preset : "-", NULL);
        }
    table_print(&table);
    table_free(&table);
}

static void print_template(const struct template *tmpl, const char *path)
{
    struct table table = {.columns = 2};
    struct tree_size size = measure(tmpl);
    const struct team *team = &tmpl->team;
    char bytes[NUMBER_SIZE_TEXT];
    char agents[24];

    number_format_size(size.apparent, bytes);
    _cleanup_free_ char *files = mem_printf("%ju, %s", (uintmax_t)size.files, bytes);
    (void)snprintf(agents, sizeof agents, "%zu", team->agent_count);
    const struct {
        const char *name, *value;
    } fields[] = {{"template", tmpl->name}, {"description", team->description},
                  {"path", path},           {"preset", team->preset},
                  {"agents", agents},       {"files", files}};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        if (fields[i].value[0] == '\0')
            continue;
        table_add(&table, fields[i].name, colour_dim());
        table_add(&table, fields[i].value, NULL);
    }
    for (enum rank rank = 0; rank < RANK_COUNT; rank++) {
        _cleanup_str_ struct str words = STR_INIT;
        team_add_reach(&words, team->rules[rank]);
        if (words.len == 0)
            continue;
        _cleanup_free_ char *name = mem_printf("a %s writes to", rank_name(rank));
        table_add(&table, name, colour_dim());
        table_add(&table, words.data, NULL);
    }
    table_print(&table);
    table_free(&table);
    (void)putchar('\n');
    print_agents(team);
}

static void print_template_json(const struct template *tmpl, const char *path)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};
    struct tree_size size = measure(tmpl);

    json_open(&out, NULL, '{');
    json_put_all(&out, JT("name", tmpl->name), JT("path", path), JI("files", size.files),
                 JI("bytes", size.apparent));
    team_put_json(&tmpl->team, &out);
    json_close(&out, '}');
    print_line(&text);
}

static int run_show(struct call *call, struct err *err)
{
    _cleanup_template_ struct template tmpl = TEMPLATE_INIT;
    _cleanup_free_ char *name = NULL;

    if (template_resolve(&call->root, call->operands[0], &name, err) == -1)
        return -1;
    if (template_open(&call->root, name, &tmpl, err) == -1)
        return err->hint[0] != '\0'
                   ? -1
                   : err_hint(err, "see all errors with: mas template check %s", call->operands[0]);
    _cleanup_free_ char *path =
        tmpl.path[0] == '/' ? mem_dup(tmpl.path) : mem_printf("%s/%s", call->root.path, tmpl.path);
    if (call->json)
        print_template_json(&tmpl, path);
    else
        print_template(&tmpl, path);
    return 0;
}

/* Returns true if there is no such template. */
static bool is_missing(const struct call *call, const char *name, struct err *err)
{
    _cleanup_template_ struct template tmpl = TEMPLATE_INIT;
    _cleanup_free_ char *found = NULL;

    return (template_resolve(&call->root, name, &found, err) == -1 ||
            template_find(&call->root, found, &tmpl, err) == -1) &&
           err->code == MAS_NOT_FOUND;
}

/* Checks the given templates, or all of the root. The diagnostics say which have errors. */
static int run_check(struct call *call, struct err *err)
{
    _cleanup_diagnostics_ struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    _cleanup_strv_ char **all = NULL;
    char **names = call->operands;
    size_t bad = 0;

    if (call->operand_count == 0)
        names = all = template_list(&call->root, true);
    else if (call->operand_count == 1 && is_missing(call, names[0], err))
        return -1;
    for (char **name = names; name != NULL && *name != NULL; name++) {
        _cleanup_free_ char *found = NULL;
        size_t errors = diagnostics.errors;
        if (template_resolve(&call->root, *name, &found, err) == -1)
            diagnostics_add(&diagnostics, DIAGNOSTIC_ERROR, *name, 0, "%s", err->text);
        else
            template_check(&call->root, &call->config, found, NULL, &diagnostics);
        bad += diagnostics.errors > errors;
    }
    print_diagnostics(&diagnostics, call->json);
    return bad == 0
               ? 0
               : err_set(err, MAS_FAILED, "cannot use %zu of %zu templates", bad, strv_len(names));
}

static int run_copy(struct call *call, struct err *err)
{
    _cleanup_free_ char *name = NULL;
    struct life life = {.root = &call->root};

    if (template_resolve(&call->root, call->operands[0], &name, err) == -1)
        return -1;
    progress_begin(&life, "copying", call->quiet);
    int rc = template_copy(&call->root, name, call->operands[1], life.tick, life.tick_arg, err);
    progress_end();
    if (rc == 0 && !call->quiet)
        printf("%s/%s/%s\n", call->root.path, ROOT_TEMPLATES, call->operands[1]);
    return rc;
}

static int run_make(struct call *call, struct err *err)
{
    _cleanup_free_ char *path = path_canonical(call->operands[0]);
    struct life life = {.root = &call->root};

    if (path == NULL)
        return err_errno(err, "cannot make a template of '%s'", call->operands[0]);
    const char *given = call_opt(call, "name");
    _cleanup_free_ char *name = given != NULL ? mem_dup(given) : template_own_name(path);
    progress_begin(&life, "copying", call->quiet);
    int rc = template_make_of(&call->root, path, name, life.tick, life.tick_arg, err);
    progress_end();
    if (rc == 0 && !call->quiet)
        printf("%s/%s/%s\n", call->root.path, ROOT_TEMPLATES, name);
    return rc;
}

static const struct cmd cmd_list_action = {
    .name = "template list",
    .operands = "",
    .summary = "list the templates of the root",
    .examples = "mas template list\n"
                "mas template list --json",
    .details = "FROM is shipped if the template came with mas, changed if it was changed "
               "since, and own if it is yours. outdated means that the shipped version is "
               "now a different one: 'mas template diff' shows how, and 'mas init' updates "
               "templates that you have not changed.",
    .root = ROOT_NEEDED,
    .takes = TAKES_JSON | TAKES_QUIET,
    .run = run_list,
};

static const struct cmd cmd_show_action = {
    .name = "template show",
    .operands = " TEMPLATE",
    .summary = "show one template: windows, agents, rules, size",
    .examples = "mas template show pair\n"
                "mas template show ./my-team",
    .operands_min = 1,
    .operands_max = 1,
    .root = ROOT_NEEDED,
    .takes = TAKES_JSON,
    .run = run_show,
};

static const struct cmd cmd_check_action = {
    .name = "template check",
    .operands = " [TEMPLATE...]",
    .summary = "find what would make 'mas new' fail, with file and line",
    .examples = "mas template check\n"
                "mas template check pair ./my-team",
    .details = "Without TEMPLATE, check all templates of the root. A problem that depends on "
               "the machine is a warning.",
    .operands_max = -1,
    .root = ROOT_NEEDED,
    .takes = TAKES_JSON,
    .does = READS_PRESETS,
    .run = run_check,
};

static const struct cmd cmd_copy_action = {
    .name = "template copy",
    .operands = " TEMPLATE NAME",
    .summary = "copy a template into the root under a new name",
    .examples = "mas template copy pair duo",
    .operands_min = 2,
    .operands_max = 2,
    .root = ROOT_NEEDED,
    .takes = TAKES_QUIET,
    .run = run_copy,
};

static const struct opt make_opts[] = {
    {'n', "name", "NAME", "its name, if it is not that of the directory"},
    {.name = NULL},
};

static const struct cmd cmd_make_action = {
    .name = "template make",
    .operands = " DIR",
    .summary = "make a template of a directory that has unit/",
    .examples = "mas template make ~/my-team\n"
                "mas template make . --name own",
    .details = "Each directory in unit/ is an agent, and workflows/10_ROLE.md names the role of "
               "agent 10. With ids of two digits, 00 is the meta manager, and 10 the manager of "
               "11 to 19; otherwise all are workers of one group. mas copies unit/ and workflows/ "
               "and writes template.ini, which 'mas template edit' changes. DIR stays as it is. "
               "Links that lead out of it are refused.",
    .opts = make_opts,
    .operands_min = 1,
    .operands_max = 1,
    .root = ROOT_NEEDED,
    .takes = TAKES_QUIET,
    .run = run_make,
};

/* ---- diff */

static int print_difference(const struct shipped *shipped, const char *name, struct err *err)
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
        if (found && state != SHIPPED_SAME && print_difference(&shipped, *name, err) == -1)
            return -1;
    }
    if (wanted == NULL || found)
        return 0;
    (void)err_set(err, MAS_NOT_FOUND, "cannot compare '%s': mas does not ship it", wanted);
    return err_hint(err, "see what is shipped with: mas template list");
}

static const struct cmd cmd_diff_action = {
    .name = "template diff",
    .operands = " [NAME]",
    .summary = "show how templates differ from the shipped ones",
    .examples = "mas template diff\n"
                "mas template diff agents.ini",
    .details = "NAME is a shipped template or agents.ini; without NAME, compare all. Lines "
               "with '-' are shipped, lines with '+' are the root's.",
    .operands_max = 1,
    .last = OFFER_TEMPLATE,
    .root = ROOT_NEEDED,
    .run = run_diff,
};

/* ---- edit */

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

static const struct cmd cmd_edit_action = {
    .name = "template edit",
    .operands = " TEMPLATE",
    .summary = "edit a copy of template.ini, and use it if it has no errors",
    .examples = "mas template edit duo",
    .details = "The editor is $VISUAL, $EDITOR or vi. A copy that has errors stays as "
               ".template-edit.ini, and the next edit continues with it.",
    .operands_min = 1,
    .operands_max = 1,
    .root = ROOT_NEEDED,
    .takes = TAKES_QUIET,
    .does = READS_PRESETS | USES_TERMINAL,
    .run = run_edit,
};

static const struct cmd *const actions[] = {
    &cmd_list_action, &cmd_show_action, &cmd_check_action, &cmd_copy_action,
    &cmd_make_action, &cmd_diff_action, &cmd_edit_action,  NULL};

const struct cmd cmd_template = {
    .name = "template",
    .group = GROUP_SETUP,
    .operands = " ACTION [OPERAND...]",
    .summary = "list, show, check, copy, make, compare and edit templates",
    .examples = "mas template list\n"
                "mas template copy pair duo",
    .details = "TEMPLATE is the name of a template in the root, or the path of a directory "
               "if it contains a slash or is '.' or '..'.",
    .operands_min = 1,
    .operands_max = -1,
    .actions = actions,
};

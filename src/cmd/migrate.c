#include "session/migrate.h"

#include "base/json.h"
#include "cli/print.h"
#include "cmd.h"

static const struct opt opts[] = {
    {'n', "name", "NAME", "name the session"},
    {0, "dry-run", NULL, "only print what would be done"},
    {.name = NULL},
};

/* How to describe a step: its object follows `would` or `did`. */
static const struct {
    const char *word; /* "do" in JSON */
    const char *would, *did;
    const char *between; /* precedes the target of the step */
} words[] = {
    [MIGRATE_MAKE] = {"make", "would create a session for", "created a session for", ", template "},
    [MIGRATE_ADD] = {"add", "would create", "created", " from template "},
    [MIGRATE_STOP] = {"stop", "would stop", "stopped", ", "},
    [MIGRATE_MOVE] = {"move", "would move", "moved", " to "},
    [MIGRATE_TURN] = {"isolate", "would isolate", "isolated", ", "},
    [MIGRATE_START] = {"start", "would start", "started", ""},
};

static void print_json(const struct migration *migration, bool dry)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    json_open(&out, NULL, '{');
    json_put(&out, "sessionId", migration->id);
    json_put_bool(&out, "dryRun", dry);
    json_open(&out, "steps", '[');
    for (size_t i = 0; i < migration->count; i++) {
        const struct migrate_step *step = &migration->steps[i];
        json_open(&out, NULL, '{');
        json_put(&out, "do", words[step->act].word);
        json_put(&out, "what", step->what);
        if (step->to != NULL)
            json_put(&out, "to", step->to);
        json_close(&out, '}');
    }
    json_close(&out, ']');
    json_close(&out, '}');
    print_line(&text);
}

static void print_steps(const struct migration *migration, bool dry)
{
    for (size_t i = 0; i < migration->count; i++) {
        const struct migrate_step *step = &migration->steps[i];
        _cleanup_str_ struct str line = STR_INIT;
        str_addf(&line, "%s ", dry ? words[step->act].would : words[step->act].did);
        str_add_visible(&line, step->what, strlen(step->what));
        if (step->to != NULL) {
            str_add(&line, words[step->act].between);
            str_add_visible(&line, step->to, strlen(step->to));
        }
        print_line(&line);
    }
    if (migration->count == 0)
        printf("nothing to migrate\n");
}

static int run_migrate(struct call *call, struct err *err)
{
    _cleanup_migration_ struct migration migration = {.steps = NULL};
    struct life_memory memory = {.needed = 0};
    struct life life = {.root = &call->root, .config = &call->config, .memory = &memory};
    struct migrate_options options = {.name = call_opt(call, "name"),
                                      .dry = call_opt(call, "dry-run") != NULL};
    const char *text = call->operand_count > 0 ? call->operands[0] : call->session;
    char id[ID_TEXT];

    if (text != NULL && call_select(call, text, id, err) == -1)
        return -1;
    if (text != NULL)
        options.id = id;
    /* the command may run in a pane of the session that it stops */
    (void)signal(SIGHUP, SIG_IGN);
    progress_begin(&life, "moving", call->quiet);
    int rc = call->has_root ? migrate_run(&life, &options, &migration, err) : 0;
    progress_end();
    if (rc == -1)
        return -1;
    warn_memory(&memory);
    if (call->quiet) {
        if (migration.count > 0 && migration.id[0] != '\0')
            printf("%s\n", migration.id);
    } else if (call->json) {
        print_json(&migration, options.dry);
    } else {
        print_steps(&migration, options.dry);
    }
    return 0;
}

const struct cmd cmd_migrate = {
    .name = "migrate",
    .group = GROUP_SESSIONS,
    .operands = " [SESSION]",
    .summary = "turn the legacy session into an isolated one",
    .examples = "mas migrate --dry-run\n"
                "mas migrate --name shop",
    .details = "mas stops the session if it runs, moves the root's unit/ and workflows/ into "
               "its workspace, and starts it again if it ran. If the root has a unit/ but no "
               "legacy session, mas makes a new session from it, which is stopped. After an "
               "interruption, run the same command again. If there is nothing to migrate, "
               "the command says so.",
    .opts = opts,
    .operands_max = 1,
    .root = ROOT_IF_THERE,
    .on = ON_SESSIONS,
    .who = WHO_PERSONS,
    .takes = TAKES_JSON | TAKES_QUIET,
    .does = READS_PRESETS | RUNS_PROGRAMS | WAITS_LONG,
    .run = run_migrate,
};

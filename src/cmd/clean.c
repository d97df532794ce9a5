/*
 * The options replace the settings of [retention], and session/retention.h does the work. It calls
 * tell() for each session, which prints or collects, so what is done stays told if a later session
 * fails or a signal ends the run. The search index forgets all removed sessions at the end, in one
 * write; the first failure is that of the command.
 */

#include "base/json.h"
#include "base/number.h"
#include "base/time.h"
#include "cli/print.h"
#include "cmd.h"
#include "model/retention_status.h"
#include "session/retention.h"

static const struct opt opts[] = {
    {0, "older-than", "AGE", "only sessions last used at least AGE ago: 90m, 12h, 7d"},
    {0, "keep", "N", "keep the N newest candidates"},
    {0, "status", "S,..", "only sessions with these statuses: stopped, error, crashed"},
    {0, "archive", NULL, "archive each session before removing it"},
    {0, "dry-run", NULL, "print what would be done, and change nothing"},
    {.name = NULL},
};

/* The results so far. */
struct clean_totals {
    const struct call *call;
    bool dry;
    bool archive;
    size_t removed, locked, failed;
    uint64_t freed;
    struct str text; /* JSON of the removed sessions */
    struct json_out out;
    struct err first; /* first failure; code MAS_OK: none */
    char **gone; /* ids of removed sessions */
};

static void put_result(struct json_out *out, const struct retention_result *result)
{
    char used[TIME_TEXT];

    time_format(result->session->used, used);
    json_open(out, NULL, '{');
    json_put_all(out, JT("sessionId", result->session->id), JT("name", result->session->name),
                 JT("status", retention_status_name(result->session->status)), JT("lastUsed", used),
                 JI("bytesFreed", result->freed));
    if (result->archive != NULL)
        json_put(out, "archive", result->archive);
    json_close(out, '}');
}

static void print_result(const struct clean_totals *all, const struct retention_result *result)
{
    const char *would = all->dry ? "would be " : "";
    const char *name = result->session->name;
    const char *label = name != NULL && name[0] != '\0' ? name : result->session->id;
    char size[NUMBER_SIZE_TEXT];

    number_format_size(result->freed, size);
    if (result->fate == RETENTION_LOCKED)
        printf("%s %skept, because it is locked\n", label, would);
    else
        printf("%s %s%sremoved, %s\n", label, would, all->archive ? "archived and " : "", size);
}

static void tell(const struct retention_result *result, void *arg)
{
    struct clean_totals *all = arg;

    all->removed += result->fate == RETENTION_REMOVED;
    all->locked += result->fate == RETENTION_LOCKED;
    all->failed += result->fate == RETENTION_FAILED;
    all->freed += result->freed;
    if (result->fate == RETENTION_REMOVED && !all->dry)
        strv_push(&all->gone, result->session->id);
    if (result->fate == RETENTION_REMOVED && all->call->json)
        put_result(&all->out, result);
    if (result->fate != RETENTION_FAILED && !all->call->json && !all->call->quiet)
        print_result(all, result);
    if (result->fate == RETENTION_LOCKED || result->err.code == MAS_OK)
        return;
    if (all->first.code == MAS_OK)
        all->first = result->err; /* main() prints it */
    else
        err_print(&result->err);
}

static void print_totals(struct clean_totals *all)
{
    char size[NUMBER_SIZE_TEXT];

    if (all->call->quiet)
        return;
    if (all->call->json) {
        json_close(&all->out, ']');
        json_put_all(&all->out, JI("total", all->removed), JI("bytesFreed", all->freed),
                     JI("locked", all->locked), JI("failed", all->failed));
        json_close(&all->out, '}');
        print_line(&all->text);
        return;
    }
    number_format_size(all->freed, size);
    printf("%zu session%s %sremoved, %s freed", all->removed, all->removed == 1 ? "" : "s",
           all->dry ? "would be " : "", size);
    if (all->locked > 0)
        printf(", %zu kept because locked", all->locked);
    if (all->failed > 0)
        printf(", %zu failed", all->failed);
    (void)putchar('\n');
}

/* Replaces each setting for which an option was given. */
static int parse_options(struct call *call, struct err *err)
{
    static const struct {
        const char *name;
        enum setting setting;
    } settings[] = {{"older-than", SETTING_CLEAN_OLDER},
                    {"keep", SETTING_CLEAN_KEEP},
                    {"status", SETTING_CLEAN_STATUS}};

    for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
        const char *value = call_opt(call, settings[i].name);
        _cleanup_free_ char *origin = mem_printf("--%s", settings[i].name);
        if (value != NULL && value[0] == '\0') {
            (void)err_set(err, MAS_USAGE, "cannot use %s '': it is empty", origin);
            return call_usage(call, err);
        }
        if (value != NULL &&
            config_override(&call->config, settings[i].setting, value, origin, err) == -1)
            return -1;
    }
    if (call_opt(call, "archive") != NULL)
        return config_override(&call->config, SETTING_CLEAN_ARCHIVE, "yes", "--archive", err);
    return 0;
}

static int run_clean(struct call *call, struct err *err)
{
    struct life life = {.root = &call->root, .config = &call->config};
    struct clean_totals all = {.call = call, .dry = call_opt(call, "dry-run") != NULL};
    struct retention options;

    if (parse_options(call, err) == -1 || retention_read(&call->config, &options, err) == -1)
        return -1;
    all.archive = options.archive;
    all.out.to = &all.text;
    json_open(&all.out, NULL, '{');
    json_put_bool(&all.out, "dryRun", all.dry);
    json_open(&all.out, "sessions", '[');
    progress_begin(&life, "archiving", call->quiet);
    int rc = call->has_root ? retention_run(&life, &options, all.dry, tell, &all, err) : 0;
    if (all.gone != NULL)
        forget_sessions(&call->root, (const char *const *)all.gone, strv_len(all.gone));
    print_totals(&all);
    progress_end();
    str_free(&all.text);
    strv_free(all.gone);
    if (all.first.code == MAS_OK)
        return rc;
    if (rc == -1)
        err_print(err);
    *err = all.first;
    return -1;
}

const struct cmd cmd_clean = {
    .name = "clean",
    .group = GROUP_SESSIONS,
    .operands = "",
    .summary = "remove expired sessions; suitable for cron",
    .examples = "mas clean --older-than 7d --dry-run\n"
                "mas clean --quiet --older-than 30d --keep 5 --archive",
    .details = "The candidates are the sessions that do not run and have one of the statuses "
               "(default: stopped,error). mas removes those that were last used at least AGE "
               "ago and are not among the N newest candidates. [retention] in mas.ini "
               "supplies every value that no option sets. An age, a number or a status must "
               "be set, by an option or in mas.ini. mas leaves sessions that are locked by "
               "another command or whose hosts still run.",
    .opts = opts,
    .root = ROOT_IF_THERE,
    .who = WHO_PERSONS,
    .takes = TAKES_JSON | TAKES_QUIET,
    .run = run_clean,
};

/*
 * run_move() is for the machine that has the session, also if that is another one, whose hints then
 * have to work from here. With a dot as the destination, come_here() takes its place on this
 * machine (from_here), which pulls. The label of a session is read before the session goes.
 */

#include "fleet/move.h"

#include "base/number.h"
#include "cli/print.h"
#include "cmd.h"
#include "fleet/pull.h"

#define HERE "." /* in place of a host */

static const struct opt opts[] = {
    {0, "links", NULL, "with ., accept symbolic links that lead out of the session, too"},
    {0, "no-start", NULL, "leave it stopped there, also if it ran here"},
    {.name = NULL},
};

static void print_json(const struct call *call, const char *id, const struct move_report *report)
{
    _cleanup_str_ struct str line = STR_INIT;
    struct json_out out = {.to = &line};

    json_put_all(&out, JO(NULL), JT("sessionId", id), JT("host", call->operands[1]),
                 JI("archiveBytes", report->bytes),
                 JT("digest", report->digest[0] != '\0' ? report->digest : NULL),
                 JB("started", report->started), JOE);
    print_line(&line);
}

static void print_moved(const struct call *call, const char *label,
                        const struct move_report *report)
{
    char size[NUMBER_SIZE_TEXT];

    number_format_size(report->bytes, size);
    printf("%s moved to %s%s%s%s\n", label, call->operands[1], report->bytes > 0 ? ", " : "",
           report->bytes > 0 ? size : "", report->started ? ", started" : "");
}

static void warn_of_files(const char *label, const struct move_report *report)
{
    for (char **warning = report->warnings; warning != NULL && *warning != NULL; warning++)
        err_warn("session '%s': %s", label, *warning);
}

static void warn_of(const char *label, const char *host, const struct move_report *report)
{
    warn_of_files(label, report);
    if (report->lacks != NULL)
        err_warn("session '%s': host '%s' has no project '%s', without which it cannot land there",
                 label, host, report->lacks);
    if (report->start.code != MAS_OK)
        err_warn("session '%s' has moved, but does not run: %s; start it with: mas start %s:%s",
                 label, report->start.text, host, label);
}

/* Fails for a host that is none; where another machine has asked for this, it has another way. */
static int check_host(const struct call *call, const char *label, struct err *err)
{
    const struct remote *remote = NULL;
    const char *host = call->operands[1];

    if (strcmp(host, HERE) == 0) {
        (void)err_set(err, MAS_USAGE, "cannot move session '%s' here: it is here", label);
        return err_hint(err, "one of another machine comes by: mas move HOST:SESSION .");
    }
    if (call_opt(call, "links") != NULL)
        return err_set(err, MAS_USAGE,
                       "cannot use --links: only a session that comes here has "
                       "links that are asked for");
    if (config_need_remote(&call->config, host, &remote, err) == 0)
        return 0;
    if (err->code == MAS_NOT_FOUND && getenv(ERR_REACHED_AS) != NULL)
        (void)err_hint(err,
                       "add it there, or take the session home, and move it on from there: "
                       "mas move %s .",
                       label);
    return -1;
}

static int run_move(struct call *call, struct err *err)
{
    struct life life = {.root = &call->root, .config = &call->config};
    struct move_report report = {.lacks = NULL};
    char id[ID_TEXT];

    if (call_select(call, call->operands[0], id, err) == -1)
        return -1;
    const struct session_label label = session_label(&call->root, id); /* before it goes */
    if (check_host(call, label.text, err) == -1)
        return -1;
    progress_begin(&life, "moving", call->quiet);
    int rc = move_session(&life, id, call->operands[1], call_opt(call, "no-start") == NULL, &report,
                          err);
    progress_end();
    if (rc == -1)
        return -1;
    warn_of(label.text, call->operands[1], &report);
    if (call->json)
        print_json(call, id, &report);
    else if (!call->quiet)
        print_moved(call, label.text, &report);
    move_report_free(&report);
    return 0;
}

/* ---- a session that comes here */

static void print_pulled(const char *host, const struct pull_report *report)
{
    _cleanup_str_ struct str label = STR_INIT;
    char size[NUMBER_SIZE_TEXT];

    str_add_visible(&label, report->label, strlen(report->label));
    number_format_size(report->move.bytes, size);
    printf("%s moved here from %s%s%s; start it with: mas start %s\n", str_text(&label), host,
           report->move.bytes > 0 ? ", " : "", report->move.bytes > 0 ? size : "",
           str_text(&label));
}

static int come_here(struct call *call, const struct carry *carry, const char *session,
                     bool *ret_done, struct err *err)
{
    const struct pull pull = {
        .carry = carry, .session = session, .links = call_opt(call, "links") != NULL};
    _cleanup_pull_ struct pull_report report = {.label = NULL};

    *ret_done = call->operand_count > 1 && strcmp(call->operands[1], HERE) == 0;
    if (!*ret_done)
        return 0;
    if (carry->root == NULL) {
        (void)err_set(err, MAS_NOT_FOUND, "cannot move session '%s:%s' here: there is no root here",
                      carry->remote->name, session);
        return err_hint(err, "create one with: mas init");
    }
    if (pull_session(&pull, &report, err) == -1)
        return -1;
    warn_of_files(report.label, &report.move);
    if (report.move.lacks != NULL)
        err_warn("session '%s': its project '%s' is not here; say where it is, to land there: mas "
                 "set %s project=DIR",
                 report.label, report.move.lacks, report.label);
    if (call->json)
        print_json(call, report.id, &report.move);
    else if (!call->quiet)
        print_pulled(carry->remote->name, &report);
    return 0;
}

/* It refuses those of Slurm, which save themselves. */
static const struct cmd_job job = {.act = NULL};

const struct cmd cmd_move = {
    .name = "move",
    .group = GROUP_SESSIONS,
    .operands = " SESSION HOST",
    .summary = "move a session to another machine",
    .examples = "mas move shop n2\n"
                "mas move n2:shop n3\n"
                "mas move n3:shop .",
    .details = "HOST is a [host] of mas.ini. mas stops the session, sends it with everything in "
               "it, compares what has arrived, and removes it here. If it ran, it runs there "
               "afterwards. With a dot, a session of another machine comes here, which that one "
               "need not reach; it stays stopped. Run it again if it was interrupted: it goes on.",
    .opts = opts,
    .operands_min = 2,
    .operands_max = 2,
    .root = ROOT_NEEDED,
    .who = WHO_PERSONS_ANYWHERE,
    .takes = TAKES_JSON | TAKES_QUIET,
    .does = READS_PRESETS | RUNS_PROGRAMS | WAITS_LONG,
    .job = &job,
    .from_here = come_here,
    .run = run_move,
};

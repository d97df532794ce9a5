#include "fleet/move.h"

#include "base/number.h"
#include "cli/print.h"
#include "cmd.h"

static const struct opt opts[] = {
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

static void warn_of(const char *label, const char *host, const struct move_report *report)
{
    for (char **warning = report->warnings; warning != NULL && *warning != NULL; warning++)
        err_warn("session '%s': %s", label, *warning);
    if (report->lacks != NULL)
        err_warn("session '%s': host '%s' has no project '%s', without which it cannot land there",
                 label, host, report->lacks);
    if (report->start.code != MAS_OK)
        err_warn("session '%s' has moved, but does not run: %s; start it with: mas start %s:%s",
                 label, report->start.text, host, label);
}

static int run_move(struct call *call, struct err *err)
{
    struct life life = {.root = &call->root, .config = &call->config};
    struct move_report report = {.lacks = NULL};
    char id[ID_TEXT];

    if (call_select(call, call->operands[0], id, err) == -1)
        return -1;
    const struct session_label label = session_label(&call->root, id); /* before it goes */
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

/* It refuses those of Slurm, which save themselves. */
static const struct cmd_job job = {.act = NULL};

const struct cmd cmd_move = {
    .name = "move",
    .group = GROUP_SESSIONS,
    .operands = " SESSION HOST",
    .summary = "move a session to another machine",
    .examples = "mas move shop n2\n"
                "mas move n2:shop n3",
    .details = "HOST is a [host] of mas.ini. mas stops the session, sends it with everything in "
               "it, compares what has arrived, and removes it here. If it ran, it runs there "
               "afterwards. Run it again if it was interrupted: it goes on.",
    .opts = opts,
    .operands_min = 2,
    .operands_max = 2,
    .root = ROOT_NEEDED,
    .who = WHO_PERSONS,
    .takes = TAKES_JSON | TAKES_QUIET,
    .does = READS_PRESETS | RUNS_PROGRAMS | WAITS_LONG,
    .job = &job,
    .run = run_move,
};

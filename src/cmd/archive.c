#include "session/archive.h"
#include "fleet/saves.h"

#include "base/number.h"
#include "cli/each_session.h"
#include "cli/print.h"

static const struct opt opts[] = {
    {'o', "output", "FILE", "write to FILE, for a single SESSION; - is standard output"},
    {0, "rm", NULL, "remove the session once its archive is on disk"},
    {0, "live", NULL, "archive sessions while they run"},
    {0, "save", NULL, "with --live: write to [fleet] store and keep two there"},
    {0, "all", NULL, "with --live: all sessions that run"},
    {.name = NULL},
};

static bool is_standard(const char *file)
{
    return file != NULL && strcmp(file, ARCHIVE_STANDARD) == 0;
}

static void print_report(const struct call *call, const char *id,
                         const struct archive_report *report)
{
    _cleanup_str_ struct str line = STR_INIT;
    struct json_out out = {.to = &line};
    char size[NUMBER_SIZE_TEXT];

    if (call->json) {
        json_put_all(&out, JO(NULL), JT("sessionId", id), JT("file", report->file),
                     JI("entries", report->entries), JI("bytes", report->bytes),
                     JI("archiveBytes", report->written), JI("linksOut", report->links),
                     JT("digest", report->digest), JB("removed", call_opt(call, "rm") != NULL),
                     JOE);
    } else {
        str_add_visible(&line, report->file, strlen(report->file));
        number_format_size(report->written, size);
        if (!call->quiet)
            str_addf(&line, "  %s, %s%s", id, size,
                     call_opt(call, "rm") != NULL ? ", session removed" : "");
    }
    print_line(&line);
}

static int archive_one(struct call *call, const struct life *life, const char *id, struct err *err)
{
    struct archive_report report = {.file = NULL};
    struct life shown = *life;
    const char *file = call_opt(call, "output");

    const struct session_label label = session_label(&call->root, id); /* before --rm removes it */

    progress_begin(&shown, "archiving", call->quiet);
    int rc = call_opt(call, "save") != NULL
                 ? saves_write(&shown, config_text(&call->config, SETTING_FLEET_STORE), id, true,
                               &report, err)
             : call_opt(call, "live") != NULL
                 ? archive_live(&shown, id, file, false, &report, err)
                 : archive_session(&shown, id, file, call_opt(call, "rm") != NULL, &report, err);
    progress_end();
    if (rc == -1)
        return -1;
    if (call_opt(call, "rm") != NULL)
        forget_sessions(&call->root, &id, 1);
    for (char **warning = report.warnings; warning != NULL && *warning != NULL; warning++)
        err_warn("session '%s': %s", label.text, *warning);
    if (!is_standard(file))
        print_report(call, id, &report);
    archive_report_free(&report);
    return 0;
}

static bool is_running(const struct view *view)
{
    return view->live != NULL;
}

/* The options that --live takes, or that it excludes. */
static int check_live(const struct call *call, struct err *err)
{
    bool live = call_opt(call, "live") != NULL;
    bool save = call_opt(call, "save") != NULL;

    if (!live && (save || call_opt(call, "all") != NULL))
        return err_set(err, MAS_USAGE, "cannot use --%s without --live", save ? "save" : "all");
    if (live && call_opt(call, "rm") != NULL)
        return err_set(err, MAS_USAGE, "cannot use --live with --rm");
    if (call_opt(call, "output") != NULL && (save || call_opt(call, "all") != NULL))
        return err_set(err, MAS_USAGE, "cannot use --output with --%s", save ? "save" : "all");
    return 0;
}

static int run_archive(struct call *call, struct err *err)
{
    const char *file = call_opt(call, "output");

    if (check_live(call, err) == -1)
        return -1;

    if (file != NULL && call->operand_count + (call->session != NULL) > 1)
        return err_set(err, MAS_USAGE, "cannot use --output with more than one SESSION");
    if (is_standard(file) && (call_opt(call, "rm") != NULL || call->json))
        return err_set(err, MAS_USAGE, "cannot use '-o -' with --rm or --json");
    if (is_standard(file) && isatty(STDOUT_FILENO) != 0) {
        (void)err_set(err, MAS_FAILED, "cannot write an archive to a terminal");
        return err_hint(err, "name a file with -o, or redirect standard output");
    }
    return each_session_run(call, archive_one, call_opt(call, "all") != NULL ? is_running : NULL,
                            err);
}

const struct cmd cmd_archive = {
    .name = "archive",
    .group = GROUP_SESSIONS,
    .operands = " SESSION...",
    .summary = "write sessions into archives, one file each",
    .examples = "mas archive shop\n"
                "mas archive --rm --output shop.tar.zst shop\n"
                "mas archive --live shop",
    .details = "Without -o, mas writes each archive below [archive] dir of mas.ini. It "
               "prints the paths. Without --live, a session must be stopped.",
    .opts = opts,
    .operands_max = -1,
    .root = ROOT_IF_THERE,
    .on = ON_SESSIONS,
    .takes = TAKES_JSON | TAKES_QUIET,
    .does = WAITS_LONG,
    .run = run_archive,
};

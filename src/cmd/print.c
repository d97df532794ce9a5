/*
 * The last part, progress, is state of the process: the signal that was caught, and the line on the
 * terminal. The handler only notes the signal; the work asks tick() and stops where it can, and
 * progress_end() raises it again, so that this process ends by it as if it had not been caught.
 */

#include "cmd/print.h"

#include "base/job.h"
#include "base/number.h"
#include "base/pager.h"
#include "base/time.h"
#include "client/survey.h"
#include "cmd.h"
#include "memory/search.h"
#include "store/placement.h"
#include "store/workspace.h"

enum { PROGRESS_AFTER_MS = 400 };

/* Keeps the result, because it is needed for each cell. */
static int count_colours(void)
{
    static int known = -1;

    if (known == -1)
        known = isatty(STDOUT_FILENO) != 0 || getenv(PAGER_IN_USE) != NULL ? palette_colours() : 0;
    return known;
}

const char *colour(enum tint tint)
{
    const char *text = palette_sgr(tint, count_colours());
    return text[0] != '\0' ? text : NULL;
}

const char *colour_of(enum status status, bool crashed)
{
    static const enum tint colours[STATUS_COUNT] = {
        [STATUS_ACTIVE] = TINT_GOOD, [STATUS_ERROR] = TINT_BAD, [STATUS_STOPPED] = TINT_PLAIN};
    return colour(crashed && status == STATUS_STOPPED ? TINT_ASKS : colours[status]);
}

void print_status(const struct view *view, struct str *to)
{
    str_add(to, status_name(view->status));
    if (view->elsewhere)
        str_addf(to, " on %s", view->machine);
    str_add(to, view->crashed ? " (crashed)" : "");
    str_add(to, view->migrating ? " (migrating)" : "");
    str_add(to, view->lease_lost ? " (lease lost)" : "");
    if (view->moved_to != NULL)
        str_addf(to, " (moved to %s)", view->moved_to);
}

const char *colour_dim(void)
{
    return colour(TINT_DIM);
}

void warn_job(const struct config *config)
{
    char job[JOB_TEXT];

    if (job_inside(job) && strcmp(config_text(config, SETTING_SERVER), "shared") == 0)
        err_warn("in job %s of Slurm the session has a tmux server of its own", job);
}

void warn_memory(const struct life_memory *memory)
{
    char needed[16];
    char available[16];

    if (memory->needed == 0 || memory->needed <= memory->available)
        return;
    number_format_size(memory->needed, needed);
    number_format_size(memory->available, available);
    err_warn("the agents will probably need %s of memory, but only %s is free; with start = "
             "demand, each agent starts with its first message",
             needed, available);
}

void print_variables(const struct kv *kv)
{
    _cleanup_str_ struct str text = STR_INIT;

    for (size_t i = 0; i < kv->count; i++) {
        str_addf(&text, "%s%s=", i > 0 ? "\n" : "", kv->pairs[i].key);
        str_add_shell(&text, kv->pairs[i].value, true);
    }
    print_line(&text);
}

void print_line(const struct str *s)
{
    (void)fwrite(str_text(s), 1, s->len, stdout);
    (void)putchar('\n');
}

int print_made(const struct call *call, const struct session *session, bool started,
               struct err *err)
{
    _cleanup_survey_ struct survey survey = SURVEY_INIT;
    _cleanup_str_ struct str line = STR_INIT;

    if (call->quiet) {
        printf("%s\n", session->id);
        return 0;
    }
    if (call->json) {
        if (survey_take(&call->root, &call->config, SURVEY_LIVE, &survey, err) == -1)
            return -1;
        return print_view(call, &survey, session->id, err);
    }
    const char *word = session->name[0] != '\0' ? session->name : session->tmux_name;
    str_addf(&line, "%s  %s\nworkspace: ", session->tmux_name, session->id);
    str_add_visible(&line, call->root.path, strlen(call->root.path));
    str_addf(&line, "/%s/%s\n", ROOT_SESSIONS, session->id);
    if (placement_is_shared(session->mode)) {
        _cleanup_free_ char *unit =
            placement_path(&call->root, session->id, session->mode, WORKSPACE_UNIT);
        str_add(&line, "agents: ");
        str_add_visible(&line, unit, strlen(unit));
        str_addc(&line, '\n');
    }
    err_add_commands(&line, started ? "attach: mas attach %s" : "start: mas start %s", word);
    print_line(&line);
    return 0;
}

void forget_sessions(const struct root *root, const char *const *ids, size_t count)
{
    struct err err = ERR_INIT;

    if (search_forget(root, ids, count, &err) == -1)
        err_warn("the search index still contains the removed messages: %s", err.text);
}

static volatile sig_atomic_t caught;

static struct progress {
    const char *word; /* the activity: "copying" */
    int64_t start; /* 0: show no progress */
    bool shown;
    struct sigaction was[NSIG];
} progress;

static const int stop_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

static void on_signal(int sig)
{
    caught = sig;
}

static bool tick(uint64_t files, uint64_t bytes, void *arg)
{
    char size[16];

    (void)arg;
    if (progress.start != 0 && (files > 0 || bytes > 0) &&
        time_monotonic_ms() - progress.start > PROGRESS_AFTER_MS) {
        number_format_size(bytes, size);
        (void)fprintf(stderr, "\r%s: %ju file%s, %s \033[K", progress.word, (uintmax_t)files,
                      files == 1 ? "" : "s", size);
        progress.shown = true;
    }
    return caught != 0;
}

/* The last one clears the line. */
static void on_look(size_t done, size_t count, void *arg)
{
    (void)arg;
    if (progress.start == 0 || time_monotonic_ms() - progress.start <= PROGRESS_AFTER_MS)
        return;
    if (done < count)
        (void)fprintf(stderr,
                      "\rlooking for work that would be lost: %zu of %zu repositories \033[K", done,
                      count);
    else
        (void)fputs("\r\033[K", stderr);
}

void progress_of_looks(struct life *life, bool quiet)
{
    life->looks = on_look;
    progress.start = !quiet && isatty(STDERR_FILENO) != 0 ? time_monotonic_ms() : 0;
}

void progress_begin(struct life *life, const char *word, bool quiet)
{
    struct sigaction act = {.sa_handler = on_signal};

    progress_of_looks(life, quiet);
    life->tick = tick;
    progress.word = word;
    for (size_t i = 0; i < ARRAY_LEN(stop_signals); i++) {
        int sig = stop_signals[i];
        (void)sigaction(sig, NULL, &progress.was[sig]);
        if (progress.was[sig].sa_handler != SIG_IGN) /* keep ignoring it, as under nohup */
            (void)sigaction(sig, &act, NULL);
    }
}

void progress_end(void)
{
    if (progress.shown)
        (void)fputs("\r\033[K", stderr);
    progress.shown = false;
    for (size_t i = 0; i < ARRAY_LEN(stop_signals); i++)
        (void)sigaction(stop_signals[i], &progress.was[stop_signals[i]], NULL);
    if (caught != 0)
        (void)raise(caught);
}

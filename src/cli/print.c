/*
 * The last part, progress, is state of the process: the signal that was caught, and the line on the
 * terminal. The handler only notes the signal; the work asks tick() and stops where it can, and
 * progress_end() raises it again, so that this process ends by it as if it had not been caught.
 */

#include "cli/print.h"

#include "base/number.h"
#include "base/time.h"
#include "client/survey.h"
#include "cmd.h"
#include "memory/search.h"
#include "os/job.h"
#include "os/pager.h"
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

    if (job_inside(job) && config_number(config, SETTING_SERVER) == SERVER_SHARED)
        err_warn("in job %s of Slurm the session has a tmux server of its own", job);
}

void warn_each(char *const *lines)
{
    for (; lines != NULL && *lines != NULL; lines++)
        err_warn("%s", *lines);
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

static void print_diagnostics_json(const struct diagnostics *diagnostics)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    json_open(&out, NULL, '{');
    json_open(&out, "remarks", '[');
    for (size_t i = 0; i < diagnostics->count; i++) {
        const struct diagnostic *one = &diagnostics->list[i];
        json_put_all(&out, JO(NULL), JT("file", one->file), JI("line", one->line),
                     JT("severity", one->warning ? "warning" : "error"), JT("text", one->text),
                     JOE);
    }
    json_close(&out, ']');
    json_put_int(&out, "errors", (int64_t)diagnostics->errors);
    json_put_int(&out, "warnings", (int64_t)diagnostics->warnings);
    json_close(&out, '}');
    print_line(&text);
}

void print_diagnostics(const struct diagnostics *diagnostics, bool json)
{
    if (json) {
        print_diagnostics_json(diagnostics);
        return;
    }
    for (size_t i = 0; i < diagnostics->count; i++) {
        const struct diagnostic *one = &diagnostics->list[i];
        _cleanup_str_ struct str line = STR_INIT;
        str_add_visible(&line, one->file, strlen(one->file));
        if (one->line > 0)
            str_addf(&line, ":%d", one->line);
        str_add(&line, one->warning ? ": warning: " : ": ");
        str_add_visible(&line, one->text, strlen(one->text));
        print_line(&line);
    }
    size_t more = diagnostics->errors + diagnostics->warnings - diagnostics->count;
    if (more > 0)
        printf("%zu more errors and warnings\n", more);
}

void print_line(const struct str *s)
{
    (void)fwrite(str_text(s), 1, s->len, stdout);
    (void)putchar('\n');
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

/*
 * Each log is a source: a reader, and a term_text that makes lines of what a terminal would show.
 * The last lines are found by counting in a window at the end that grows until it has enough,
 * because lines are known only after that. --follow starts to watch before it reads, so nothing
 * falls in between, and ends when the session is removed.
 */

#include "base/number.h"
#include "base/term_text.h"
#include "base/time.h"
#include "cli/jobs.h"
#include "cli/print.h"
#include "cli/targets.h"
#include "cmd.h"
#include "os/log_read.h"
#include "os/loop.h"
#include "os/path.h"
#include "os/watch.h"
#include "store/workspace.h"

enum {
    BLOCK = 64 * 1024,
    WINDOW_GROWS = 4, /* factor by which the search for the last lines extends its window */
    FOLLOW_LINES = 10,
    LINES_MAX = 1000000000,
};

/* The options of the command. */
struct logs_options {
    bool follow, raw, json, several;
    bool all;
    size_t lines; /* the number of last lines, unless `all` */
    int64_t since_ms; /* 0: from the beginning */
};

/* A log to print. */
struct source {
    const struct logs_options *options;
    const char *agent; /* NULL: the log of the session */
    int width; /* of the longest agent id */
    struct log_reader reader;
    struct term_text term;
    off_t at;
    size_t skip; /* number of lines to skip */
    bool is_past; /* in the session's log: a line not older than --since was found */
    bool failed;
};

struct sources {
    struct source *list;
    size_t count;
};

static void sources_free(struct sources *sources)
{
    for (size_t i = 0; i < sources->count; i++) {
        log_reader_close(&sources->list[i].reader);
        term_text_free(&sources->list[i].term);
    }
    free(sources->list);
}

/* Parses the time at the beginning of a line of the session's log. */
static bool line_time(const char *line, char buf[TIME_TEXT], time_t *ret)
{
    (void)snprintf(buf, TIME_TEXT, "%s", line);
    return strlen(line) >= TIME_TEXT && line[TIME_TEXT - 1] == ' ' && time_parse(buf, ret);
}

static void print_json(const struct source *source, const char *line)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};
    char stamp[TIME_TEXT];
    time_t when;

    json_open(&out, NULL, '{');
    if (source->agent != NULL) {
        json_put(&out, "agent", source->agent);
    } else if (line_time(line, stamp, &when)) {
        json_put(&out, "time", stamp);
        line += TIME_TEXT;
    }
    json_put(&out, "text", line);
    json_close(&out, '}');
    print_line(&text);
}

static void on_line(const char *line, size_t len, void *arg)
{
    struct source *source = arg;
    char stamp[TIME_TEXT];
    time_t when = 0;

    if (source->skip > 0) {
        source->skip--;
        return;
    }
    /* --since: the reader skips in an agent's log; lines of the session's log have times */
    if (source->agent == NULL && !source->is_past) {
        if (!line_time(line, stamp, &when) || (int64_t)when * 1000 < source->options->since_ms)
            return;
        source->is_past = true;
    }
    if (source->options->json) {
        print_json(source, line);
        return;
    }
    if (source->options->several)
        printf("%-*s | ", source->width, source->agent);
    (void)fwrite(line, 1, len, stdout);
    (void)putchar('\n');
}

static void show_raw(struct source *source, const char *bytes, size_t len)
{
    while (source->skip > 0 && len > 0) {
        const char *newline = memchr(bytes, '\n', len);
        if (newline == NULL)
            return;
        len -= (size_t)(newline + 1 - bytes);
        bytes = newline + 1;
        source->skip--;
    }
    (void)fwrite(bytes, 1, len, stdout);
}

/* Prints the log from source->at to its end. */
static int show(struct source *source, struct err *err)
{
    char block[BLOCK];
    ssize_t n;

    while ((n = log_read(&source->reader, &source->at, block, sizeof block, err)) > 0) {
        if (source->options->raw)
            show_raw(source, block, (size_t)n);
        else
            term_text_feed(&source->term, block, (size_t)n, on_line, source);
    }
    return n == 0 ? 0 : -1;
}

static void count_line(const char *line, size_t len, void *arg)
{
    size_t *count = arg;

    (void)line;
    (void)len;
    ++*count;
}

static size_t count_newlines(const char *bytes, size_t len)
{
    const char *end = bytes + len;
    size_t count = 0;

    while ((bytes = memchr(bytes, '\n', (size_t)(end - bytes))) != NULL) {
        bytes++;
        count++;
    }
    return count;
}

/* Counts the lines from an offset on, including an unfinished last one. */
static int count_lines(struct source *source, off_t at, size_t *ret, struct err *err)
{
    struct term_text term = {.columns = 0};
    char block[BLOCK];
    size_t count = 0;
    char last = '\n';
    ssize_t n;

    while ((n = log_read(&source->reader, &at, block, sizeof block, err)) > 0) {
        if (!source->options->raw)
            term_text_feed(&term, block, (size_t)n, count_line, &count);
        else
            count += count_newlines(block, (size_t)n);
        last = block[n - 1];
    }
    if (source->options->raw)
        count += last != '\n';
    term_text_end(&term, count_line, &count);
    term_text_free(&term);
    *ret = count;
    return n == 0 ? 0 : -1;
}

/* Moves source->at close to the last lines and sets source->skip. */
static int seek_last(struct source *source, struct err *err)
{
    size_t lines = source->options->lines;
    off_t start = source->at;
    off_t end = log_reader_end(&source->reader);

    if (lines == 0) {
        source->at = end;
        return 0;
    }
    for (off_t window = BLOCK;; window *= WINDOW_GROWS) {
        off_t at = end - start > window ? end - window : start;
        size_t count = 0;
        if (count_lines(source, at, &count, err) == -1)
            return -1;
        if (at > start && count <= lines) /* the first line may be incomplete */
            continue;
        source->at = at;
        source->skip = count > lines ? count - lines : 0;
        return 0;
    }
}

static int open_source(struct source *source, int dir, struct err *err)
{
    _cleanup_free_ char *name = source->agent != NULL
                                    ? mem_printf(WORKSPACE_AGENT_LOG, source->agent)
                                    : mem_dup(WORKSPACE_LOG);
    const struct logs_options *options = source->options;

    source->is_past = options->since_ms == 0;
    if (log_reader_open(&source->reader, dir, name, err) == -1)
        return -1;
    source->at = options->since_ms != 0 ? log_reader_since(&source->reader, options->since_ms)
                                        : log_reader_start(&source->reader);
    return options->all ? 0 : seek_last(source, err);
}

/* Prints the current contents of all logs. */
static int show_all(struct sources *sources, int dir, struct err *err)
{
    for (size_t i = 0; i < sources->count; i++) {
        struct source *source = &sources->list[i];
        if (open_source(source, dir, err) == -1 || show(source, err) == -1)
            return -1;
        if (!source->options->follow)
            term_text_end(&source->term, on_line, source);
    }
    return 0;
}

/* Prints new lines. Reports once that a log cannot be read, and then skips it. */
static void show_new(struct sources *sources)
{
    for (size_t i = 0; i < sources->count; i++) {
        struct source *source = &sources->list[i];
        struct err err = ERR_INIT;
        if (!source->failed &&
            (log_reader_refresh(&source->reader, &err) == -1 || show(source, &err) == -1)) {
            source->failed = true;
            err_warn("%s", err.text);
        }
    }
}

/* What watches logs/ and on the workspace. The workspace is watched because removing a
 * session moves it first, and an open directory gives no notice of its removal. */
struct watches {
    int fd;
    int session; /* number of the workspace */
    int dir; /* logs/, not owned */
    bool moved; /* the session is being removed */
};

static void on_change(const struct watch_change *change, void *arg)
{
    struct watches *watches = arg;

    watches->moved =
        watches->moved || (change->number == watches->session && (change->what & WATCH_MOVED) != 0);
}

/* Reads events. Returns false if the session is being removed. */
static bool read_events(struct watches *watches)
{
    struct stat st;

    (void)watch_read(watches->fd, on_change, watches);
    return !watches->moved && fstat(watches->dir, &st) == 0 && st.st_nlink > 0;
}

/* Prints new lines until the session is removed. */
static void follow(struct sources *sources, struct watches *watches)
{
    _cleanup_loop_ struct loop loop = LOOP_INIT;

    loop_end_with(STDOUT_FILENO);
    for (;;) {
        show_new(sources);
        if (fflush(stdout) == EOF)
            return; /* main() reports the error */
        loop_begin(&loop);
        loop_want(&loop, watches->fd, POLLIN);
        if (loop_wait(&loop, -1) == -1)
            return;
        if (loop_got(&loop, watches->fd) != 0 && !read_events(watches))
            return;
    }
}

/* Starts to watch the logs. The caller closes watches->fd, also after a failure. */
static int watch_logs(const struct roster_team *team, struct watches *watches, struct err *err)
{
    watches->fd = watch_open();
    watches->session = watch_add(watches->fd, team->dir, WATCH_MOVED | WATCH_DELETED);
    if (watches->session == -1 ||
        watch_add(watches->fd, watches->dir, WATCH_WRITTEN | WATCH_CREATED | WATCH_CAME) == -1)
        return err_errno(err, "cannot follow the logs of session '%s'", roster_label(team).text);
    return 0;
}

static int read_options(const struct call *call, struct logs_options *ret, struct err *err)
{
    const char *lines = call_opt(call, "lines");
    const char *since = call_opt(call, "since");
    uint64_t count = FOLLOW_LINES;
    time_t when = 0;

    ret->follow = call_opt(call, "follow") != NULL;
    ret->raw = call_opt(call, "raw") != NULL;
    ret->json = call->json;
    ret->all = lines != NULL ? strcmp(lines, "all") == 0 : !ret->follow || since != NULL;
    if (lines != NULL && !ret->all && !number_parse_count(lines, LINES_MAX, &count))
        return call_bad_value(call, "lines", "a number of lines, or all", err);
    ret->lines = (size_t)count;
    if (since != NULL && time_parse_age(since, &when))
        when = time(NULL) - when;
    else if (since != NULL && !time_parse(since, &when))
        return call_bad_value(call, "since",
                              "an age such as 10m or a time such as 2025-12-18T08:00:00Z", err);
    ret->since_ms = (int64_t)when * 1000;
    if (ret->raw && ret->json)
        return err_set(err, MAS_USAGE, "cannot use --raw with --json");
    return 0;
}

/* Prepares the sources: the logs of the agents or, without agents, the log of the session. */
static void make_sources(const struct roster *roster, const struct logs_options *options,
                         struct sources *ret)
{
    int width = 0;

    ret->count = roster->count > 0 ? roster->count : 1;
    ret->list = mem_alloc(ret->count * sizeof *ret->list);
    for (size_t i = 0; i < roster->count; i++) {
        const char *id = roster->agents[i].agent->id;
        width = (int)strlen(id) > width ? (int)strlen(id) : width;
        ret->list[i].agent = id;
    }
    for (size_t i = 0; i < ret->count; i++) {
        ret->list[i].options = options;
        ret->list[i].width = width;
        ret->list[i].reader = (struct log_reader)LOG_READER_INIT;
    }
}

static int show_logs(const struct roster *roster, const struct logs_options *options, int dir,
                     struct err *err)
{
    struct sources sources = {.count = 0};
    struct watches watches = {.fd = -1, .dir = dir};

    /* start to watch before reading, so that nothing is missed */
    int rc = options->follow ? watch_logs(&roster->teams[0], &watches, err) : 0;
    make_sources(roster, options, &sources);
    if (rc == 0)
        rc = show_all(&sources, dir, err);
    if (rc == 0 && options->follow)
        follow(&sources, &watches);
    sources_free(&sources);
    fd_closep(&watches.fd);
    return rc;
}

static int run_logs(struct call *call, struct err *err)
{
    _cleanup_roster_ struct roster roster = ROSTER_INIT;
    struct logs_options options = {.all = true};
    const char *named = call->session != NULL ? call->session : call->operands[0];

    if (read_options(call, &options, err) == -1)
        return -1;
    if (targets_parse(call, TARGETS_NONE, &roster, err) == -1)
        return all_jobs_act(call, named, err);
    options.several = roster.count > 1;
    if (options.raw && options.several)
        return err_set(err, MAS_USAGE, "cannot use --raw with more than one agent");
    const struct roster_team *team = &roster.teams[0];
    _cleanup_close_ int dir = path_open_dir(team->dir, WORKSPACE_LOGS);
    if (dir == -1)
        return err_errno(err, "cannot read the logs of session '%s'", roster_label(team).text);
    return show_logs(&roster, &options, dir, err);
}

static const struct opt opts[] = {
    {'f', "follow", NULL, "print further lines as they arrive, until interrupted"},
    {'n', "lines", "N", "only the last N lines of each log, or all (with -f: 10)"},
    {0, "since", "AGE", "only output not older than this: 10m, 2h, 2025-12-18T08:00:00Z"},
    {0, "raw", NULL, "print the bytes of a single agent without any change"},
    {.name = NULL},
};

static const struct cmd_job job = {.act = job_print_logs};

const struct cmd cmd_logs = {
    .name = "logs",
    .group = GROUP_AGENTS,
    .operands = " [SESSION] [TARGET...]",
    .summary = "print the output of agents, or the log of a session",
    .examples = "mas logs shop\n"
                "mas logs shop lead --follow\n"
                "mas logs shop workers --lines 20",
    .details = "TARGET is an agent's id, a comma-separated list, a unit, managers, workers "
               "or all. Without TARGET, print the log of the session: the commands that "
               "acted on it and the messages that were sent.",
    .opts = opts,
    .operands_max = -1,
    .root = ROOT_IF_THERE,
    .on = ON_TARGET,
    .who = WHO_AGENTS,
    .takes = TAKES_JSON,
    .job = &job,
    .run = run_logs,
};

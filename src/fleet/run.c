/*
 * follow() is the third step: it looks at the signals, at the agents, at the idle time and at the
 * time of the next save, in this order, and then waits for any of them. A signal to stop breaks off
 * a save that is under way, as the last one follows. A save or an entry in the store that fails is
 * said and tried again with the next save; only the last save has to succeed.
 */

#include "fleet/run.h"

#include "base/time.h"
#include "client/roster.h"
#include "fleet/job.h"
#include "fleet/run_watch.h"
#include "fleet/saves.h"
#include "fleet/slurm.h"
#include "fleet/submit.h"
#include "model/notice.h"
#include "os/path.h"
#include "os/signals.h"
#include "session/notice.h"
#include "store/session.h"
#include "store/workspace.h"

#include <sys/utsname.h>

static const char *const end_words[RUN_END_COUNT] = {"all agents ended", "idle", "stopped",
                                                     "requeued", "the last job of its chain"};

/* A run at work. */
struct course {
    const struct run *run;
    const char *id;
    struct life life; /* with a tick that ends work when the session is to stop */
    int signals; /* signals_open() */
    bool stop; /* a signal has said so */
    bool requeue; /* likewise */
    bool lost; /* another machine has the session */
    time_t started;
    bool recorded; /* the store says that it has started */
    uint64_t chain; /* how many jobs may follow each other; 0: any number, or not known */
};

static const int caught[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, 0};

void run_block_signals(void)
{
    signals_block(caught);
}

static void PRINTF_LIKE(2, 3) say(const struct course *course, const char *fmt, ...)
{
    char line[ERR_TEXT_MAX];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    course->run->say(line, course->run->arg);
}

static void read_signals(struct course *course)
{
    for (int sig; (sig = signals_next(course->signals)) != 0;)
        if (sig == SIGUSR1)
            course->requeue = true;
        else
            course->stop = true;
}

/* Ends a save that goes on while the session is to stop: the last save follows. */
static bool is_to_stop(uint64_t done, uint64_t total, void *arg)
{
    struct course *course = arg;

    (void)done;
    (void)total;
    read_signals(course);
    return course->stop;
}

/* ---- having the session */

/* Removes or refuses a session in the root that another machine has gone on with. */
static int clear_old(struct course *course, const struct session *session, uint64_t epoch,
                     struct err *err)
{
    const struct life_removal removal = {.force = true};
    struct life_end end = {.removing = true};

    if (course->run->scratch) {
        say(course, "replacing the session in this root, which is older than the store's");
        return life_remove(course->run->life, course->id, &removal, &end, err);
    }
    (void)err_set(err, MAS_CONFLICT,
                  "cannot run session '%s': the store has a save of epoch %llu, and this is %llu",
                  session_label(course->run->life->root, session->id).text,
                  (unsigned long long)epoch, (unsigned long long)session->epoch);
    return err_hint(err, "another machine has gone on with it; remove this one with: mas rm %s",
                    session->id);
}

/* Looks for the session in the root. *ret_is_here tells whether it is to be used. */
static int look_here(struct course *course, const struct save *newest, bool *ret_is_here,
                     struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    const struct root *root = course->run->life->root;
    _cleanup_close_ int dir = workspace_open(root, course->id);

    *ret_is_here = false;
    if (dir == -1)
        return errno == ENOENT ? 0 : err_errno(err, "cannot open session '%s'", course->id);
    if (session_load(root, dir, course->id, &session, err) == -1)
        return -1;
    if (newest != NULL && newest->epoch > session.epoch)
        return clear_old(course, &session, newest->epoch, err);
    *ret_is_here = true;
    return 0;
}

static int restore(struct course *course, struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_strv_ char **passed_over = NULL;

    if (saves_restore(course->run->life, course->run->store, course->id, &session, &passed_over,
                      err) == -1)
        return -1;
    for (char **name = passed_over; name != NULL && *name != NULL; name++)
        say(course, "passed over a damaged save: %s", *name);
    return 0;
}

/* Returns the newest save in the store; *ret_has tells whether there is one. */
static int find_save(const struct course *course, struct save *ret, bool *ret_has, struct err *err)
{
    struct save saves[SAVES_LISTED];
    struct err why = ERR_INIT;
    size_t count = 0;

    *ret_has = false;
    if (course->run->store == NULL)
        return 0;
    if (saves_list(course->run->store, course->id, saves, &count, &why) == -1 &&
        why.code != MAS_NOT_FOUND) {
        *err = why;
        return -1;
    }
    *ret_has = count > 0;
    if (count > 0)
        *ret = saves[0];
    return 0;
}

static int bring(struct course *course, struct err *err)
{
    const struct run *run = course->run;
    _cleanup_session_ struct session session = SESSION_INIT;
    struct life_options options = *run->options;
    struct save newest = {.epoch = 0};
    bool has_save = false;
    bool is_here = false;
    bool was = false;

    if (find_save(course, &newest, &has_save, err) == -1 ||
        look_here(course, has_save ? &newest : NULL, &is_here, err) == -1)
        return -1;
    if (!is_here && has_save) {
        say(course, "restoring %s", newest.name);
        if (restore(course, err) == -1)
            return -1;
    }
    if (!is_here && !has_save) {
        options.start = true;
        if (life_new(run->life, &options, &session, err) == -1)
            return -1;
        say(course, "started a new session");
        return 0;
    }
    if (life_start(run->life, course->id, &was, err) == -1)
        return -1;
    say(course, was ? "it runs already" : "started");
    return 0;
}

/* ---- saving */

static int save(struct course *course, bool live, struct err *err)
{
    struct archive_report report = {.file = NULL};
    const struct life *life = live ? &course->life : course->run->life;

    if (course->run->store == NULL)
        return 0;
    if (saves_write(life, course->run->store, course->id, live, &report, err) == -1)
        return -1;
    if (report.file != NULL)
        say(course, "saved: %s", report.file);
    archive_report_free(&report);
    return 0;
}

static void save_live(struct course *course)
{
    struct err why = ERR_INIT;

    if (save(course, true, &why) == 0)
        return;
    course->lost = why.code == MAS_CONFLICT;
    if (!course->stop)
        say(course, "not saved: %s", why.text);
}

/* Writes what becomes of the session beside its saves: the list of jobs shows it, and verbs reach
 * the session only once it says that it has started. */
static void record(struct course *course, const char *how)
{
    struct job_run entry = {
        .number = slurm_own_job(), .restarts = slurm_own_restarts(), .started = course->started};
    struct err why = ERR_INIT;
    struct utsname name;

    if (course->run->store == NULL)
        return;
    if (uname(&name) == 0)
        (void)snprintf(entry.node, sizeof entry.node, "%.63s", name.nodename);
    entry.ended = how != NULL ? time(NULL) : 0;
    (void)snprintf(entry.how, sizeof entry.how, "%s", how != NULL ? how : "");
    _cleanup_close_ int dir = job_open_dir(course->run->store, course->id, true, &why);
    course->recorded = dir != -1 && job_run_save(dir, &entry, &why) == 0;
    if (!course->recorded)
        say(course, "not recorded: %s", why.text);
}

/* Makes the session's directory in the store: its lease is there, too. */
static int make_place(const struct course *course, struct err *err)
{
    if (course->run->store == NULL)
        return 0;
    _cleanup_close_ int dir = job_open_dir(course->run->store, course->id, true, err);
    return dir == -1 ? -1 : 0;
}

/* ---- the end */

/* For SIGUSR1 in a job: submits another job, which begins when this one has ended. It begins at
 * once, while a job that is requeued waits two minutes. Returns false if the session has to stay
 * here, because nothing could be submitted. *ret_late: this job is to be requeued instead. */
static bool pass_on(struct course *course, enum run_end *ret_end, bool *ret_late)
{
    struct submit_next next = {.last = false};
    struct err why = ERR_INIT;

    course->requeue = false;
    save_live(course);
    if (slurm_own_job() == 0 || course->run->store == NULL || course->lost)
        return false;
    bool failed = submit_again(course->run->store, course->id, &next, &why) == -1;
    *ret_late = failed && !next.last;
    *ret_end = next.last ? RUN_LAST : RUN_REQUEUED;
    course->chain = next.chain;
    if (next.last && failed)
        say(course, "no other job follows, because it cannot be counted: %s", why.text);
    else if (next.last)
        say(course, "no other job follows: this is the last of %llu",
            (unsigned long long)next.chain);
    else if (*ret_late)
        say(course, "cannot submit another job, so this one is requeued: %s", why.text);
    else
        say(course, "goes on in job %llu", (unsigned long long)next.number);
    return true;
}

/* Tells people that the session has ended with the last job of its chain. */
static void tell_last(const struct course *course)
{
    const struct config *config = course->run->life->config;
    _cleanup_str_ struct str line = STR_INIT;
    struct json_out out = {.to = &line};
    struct err why = ERR_INIT;
    struct notice notice;
    char text[NOTICE_TEXT_MAX];

    if ((config_number(config, SETTING_NOTIFY_ON) & 1 << NOTICE_LIMIT) == 0)
        return;
    (void)snprintf(text, sizeof text, "this was the last of %llu jobs (--chain)",
                   (unsigned long long)course->chain);
    notice_fill(NOTICE_LIMIT, time_epoch_ms(), text, &notice);
    json_open(&out, NULL, '{');
    notice_put(&notice, &out);
    json_close(&out, '}');
    if (notice_deliver(course->run->life->root, config, course->id, NULL, "", str_text(&line),
                       &why) == -1)
        say(course, "not told of: %s", why.text);
}

/* Stops the session and saves it. *ret_was: somebody else has stopped it. */
static int finish(struct course *course, bool *ret_was, struct err *err)
{
    struct life_end end = {.was = false};

    if (life_stop(course->run->life, course->id, &end, err) == -1)
        return -1;
    *ret_was = end.was;
    if (course->lost)
        return err_set(err, MAS_CONFLICT, "another machine has taken the session over");
    return save(course, false, err) == 0 ? 0 : err_wrap(err, "cannot save the session");
}

static int64_t next_wait(const struct course *course, const struct run_watch *watch,
                         int64_t save_at)
{
    int64_t until = course->run->store != NULL ? save_at : -1;

    if (course->run->idle_ms > 0 && run_watch_quiet_since(watch) >= 0)
        until = time_sooner(until, run_watch_quiet_since(watch) + course->run->idle_ms);
    return until;
}

/* Waits until the session is to end. *ret_late as in pass_on(). */
static int follow(struct course *course, struct run_watch *watch, enum run_end *ret_end,
                  bool *ret_late, struct err *err)
{
    const struct run *run = course->run;
    int64_t save_at = time_monotonic_ms() + run->save_ms;

    for (;;) {
        int64_t now = time_monotonic_ms();
        read_signals(course);
        *ret_end = RUN_STOPPED;
        if (course->stop || course->lost)
            return 0;
        if (course->requeue && pass_on(course, ret_end, ret_late))
            return 0;
        *ret_end = RUN_AGENTS_ENDED;
        if (run_watch_has_ended(watch))
            return 0;
        *ret_end = RUN_IDLE;
        int64_t quiet = run_watch_quiet_since(watch);
        if (run->idle_ms > 0 && quiet >= 0 && now - quiet >= run->idle_ms)
            return 0;
        if (run->store != NULL && now >= save_at) {
            save_live(course);
            if (!course->recorded)
                record(course, NULL);
            save_at = time_monotonic_ms() + run->save_ms;
            continue;
        }
        if (run_watch_wait(watch, course->signals, next_wait(course, watch, save_at), err) == -1)
            return -1;
    }
}

static int run_to_end(struct course *course, enum run_end *ret_end, struct err *err)
{
    _cleanup_run_watch_ struct run_watch *watch = NULL;
    bool late = false;
    bool was = false;

    if (make_place(course, err) == -1 || bring(course, err) == -1)
        return -1;
    record(course, NULL);
    if (run_watch_open(course->run->life->root, course->id, &watch, err) == -1 ||
        follow(course, watch, ret_end, &late, err) == -1)
        return -1;
    say(course, "ending: %s", course->lost ? "another machine has it" : end_words[*ret_end]);
    _cleanup_str_ struct str crashed = STR_INIT;
    bool all_crashed = *ret_end == RUN_AGENTS_ENDED && run_watch_put_crashed(watch, &crashed);
    int rc = finish(course, &was, err);
    all_crashed = all_crashed && !was;
    record(course, rc == 0 && !all_crashed ? end_words[*ret_end] : "failed");
    if (*ret_end == RUN_LAST)
        tell_last(course);
    if (late && slurm_requeue(slurm_own_job(), err) == -1)
        return -1;
    if (rc == 0 && all_crashed)
        return err_set(err, MAS_FAILED,
                       "cannot go on with the session: all agents have crashed (%s)",
                       str_text(&crashed));
    return rc;
}

int run_session(const struct run *run, enum run_end *ret_end, struct err *err)
{
    struct course course = {
        .run = run, .id = run->options->id, .life = *run->life, .started = time(NULL)};

    course.life.tick = is_to_stop;
    course.life.tick_arg = &course;
    course.signals = signals_open(caught);
    if (course.signals == -1)
        return err_errno(err, "cannot wait for signals");
    int rc = run_to_end(&course, ret_end, err);
    (void)close(course.signals);
    return rc;
}

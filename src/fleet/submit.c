/*
 * submit_new() holds the job's lock from the first step on, so that two commands for one id come
 * one after the other. The record has the job's command line and options as text, all that place()
 * needs: a job that has itself submitted again needs nothing else. After a failure, a session that
 * this command has made is removed again, but only if no job can come of it.
 */

#include "fleet/submit.h"

#include "base/build.h"
#include "fleet/jobs.h"
#include "fleet/saves.h"
#include "os/file.h"
#include "os/path.h"
#include "os/tree.h"
#include "session/archive.h"
#include "store/lease.h"
#include "store/session.h"

#define SCRIPT "/slurm/team.sbatch"

enum {
    LOCK_WAIT = 60000, /* ms */
    SIGNAL_S = 120, /* before the time limit */
    SIGNAL_PART = 4, /* but at most this part of it */
};

/* Returns the path of the script for jobs: the user's own, else the one that comes with mas; NULL
 * with *err if neither can be found. The caller frees it. */
static char *submit_script(struct err *err)
{
    _cleanup_free_ char *exe = path_exe_dir();
    _cleanup_free_ char *user = path_user_dir("XDG_CONFIG_HOME", ".config");
    char *paths[] = {
        user != NULL ? mem_printf("%s/mas" SCRIPT, user) : NULL,
        exe != NULL ? mem_printf("%s/../share/mas" SCRIPT, exe) : NULL,
        exe != NULL ? mem_printf("%s/.." SCRIPT, exe) : NULL,
        mem_printf("%s" SCRIPT, build_data),
    };
    char *found = NULL;

    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        if (found == NULL && paths[i] != NULL && access(paths[i], F_OK) == 0)
            found = path_canonical(paths[i]);
        free(paths[i]);
    }
    if (found != NULL)
        return found;
    (void)err_set(err, MAS_FAILED, "cannot find the script 'team.sbatch' in '%s/slurm'",
                  build_data);
    (void)err_hint(err, "install mas with 'make install', or write your own: mas help new");
    return NULL;
}

/* ---- the session becomes a save */

static void replace(char **text, char *by)
{
    free(*text);
    *text = by;
}

/* Makes the session and moves it into the store. Does what is left of it if a killed command has
 * begun. */
static int make_save(const struct life *life, const struct submit *submit, struct batch_job *job,
                     bool *ret_made, struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    struct life_options options = *submit->options;
    struct archive_report report = {.file = NULL};
    struct life_end end = {.was = false};
    const struct life_removal removal = {.force = false};
    struct save saves[SAVES_LISTED];
    size_t count = 0;

    options.start = false;
    options.elsewhere = true;
    if (saves_list(submit->store, options.id, saves, &count, err) == -1)
        return -1;
    _cleanup_close_ int there = workspace_open(life->root, options.id);
    if (there != -1 && session_load(life->root, there, options.id, &session, err) == -1)
        return -1;
    if (there == -1 && count > 0)
        return 0;
    if (there == -1 && life_new(life, &options, &session, err) == -1)
        return -1;
    *ret_made = there == -1;
    replace(&job->name, mem_dup(session.name));
    replace(&job->template, mem_dup(session.template));
    if (saves_write(life, submit->store, options.id, false, &report, err) == -1)
        return -1;
    archive_report_free(&report);
    return life_remove(life, options.id, &removal, &end, err);
}

/* ---- the command line of the job */

static void add_word(struct str *to, const char *word)
{
    str_add(to, to->len > 0 ? " " : "");
    str_add_shell(to, word, false);
}

static void add_option(struct str *to, const char *name, uint64_t value, const char *unit)
{
    _cleanup_free_ char *word = mem_printf("--%s=%" PRIu64 "%s", name, value, unit);

    if (value > 0)
        add_word(to, word);
}

/* Returns the options of sbatch: those of the remote, then those of the command line. */
static char *make_options(const struct submit *submit)
{
    const struct submit_size *size = &submit->size;
    _cleanup_str_ struct str text = STR_INIT;
    uint64_t before = SIGNAL_S;

    if (size->time_s > 0 && size->time_s / SIGNAL_PART < before)
        before = size->time_s / SIGNAL_PART;
    _cleanup_free_ char *warning = mem_printf("--signal=B:USR1@%" PRIu64, before);
    add_word(&text, warning); /* first, so that the user's own counts */
    if (submit->remote->submit[0] != '\0')
        str_addf(&text, " %s", submit->remote->submit);
    add_option(&text, "cpus-per-task", size->cpus, "");
    add_option(&text, "mem", (size->memory + 1023) / 1024, "K");
    add_option(&text, "gpus", size->gpus, "");
    add_option(&text, "time", (size->time_s + 59) / 60, ""); /* minutes */
    return str_steal(&text);
}

/* Returns the arguments of the script: the command of the job. */
static char *make_command(const struct submit *submit, const char *root)
{
    const struct remote *remote = submit->remote;
    _cleanup_free_ char *own = path_exe();
    _cleanup_str_ struct str text = STR_INIT;
    const char *mas = remote->mas[0] == '/' || own == NULL ? remote->mas : own;
    const char *const words[] = {
        mas, "run", "--store", submit->store, "--id", submit->options->id, "--root", root};

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        add_word(&text, words[i]);
    if (remote->root[0] == '\0')
        add_word(&text, "--scratch");
    if (submit->size.idle != NULL) {
        add_word(&text, "--idle");
        add_word(&text, submit->size.idle);
    }
    return str_steal(&text);
}

/* Fills the record of a job that is to be submitted. */
static int describe(const struct submit *submit, struct batch_job *job, struct err *err)
{
    const struct remote *remote = submit->remote;
    _cleanup_strv_ char **words = NULL;
    char *script = submit_script(err);

    if (script == NULL)
        return -1;
    replace(&job->script, script);
    if (str_split_words(remote->submit, &words, err) == -1)
        return err_wrap(err, "cannot use the setting 'submit' of host '%s'", remote->name);
    replace(&job->host, mem_dup(remote->name));
    replace(&job->partition, mem_dup(remote->place));
    replace(&job->root, remote->root[0] != '\0' ? mem_dup(remote->root)
                                                : mem_printf("/tmp/mas-%u-%s", geteuid(), job->id));
    replace(&job->command, make_command(submit, job->root));
    replace(&job->options, make_options(submit));
    return 0;
}

/* ---- placing it */

static int lock_job(int dir, int *ret_lock, struct err *err)
{
    return file_lock(dir, JOB_LOCK, LOCK_WAIT, "submit", ret_lock, err) == 0
               ? 0
               : err_wrap(err, "cannot submit the session: another command does");
}

/* Sets *ret to the live job that Slurm has of a session, other than `but`; 0: none. */
static int look(const char *id, uint64_t but, uint64_t *ret, struct err *err)
{
    _cleanup_free_ struct slurm_job *jobs = NULL;
    size_t count = 0;

    if (slurm_jobs(SLURM_CALL_MS, but, &jobs, &count, err) == -1)
        return -1;
    const struct slurm_job *job = slurm_find(jobs, count, id);
    *ret = job != NULL && slurm_is_live(job->state) ? job->number : 0;
    return 0;
}

static int submit_record(const char *store, const struct batch_job *job, uint64_t *ret,
                         struct err *err)
{
    _cleanup_strv_ char **command = NULL;
    _cleanup_strv_ char **options = NULL;
    _cleanup_free_ char *output = mem_printf("%s/%s/" JOB_OUTPUT, store, job->id);

    if (str_split_words(job->command, &command, err) == -1 ||
        str_split_words(job->options, &options, err) == -1)
        return -1;
    const struct slurm_submission submission = {
        .id = job->id,
        .partition = job->partition,
        .output = output,
        .script = job->script,
        .argv = (const char *const *)command,
        .options = options,
    };
    return slurm_submit(&submission, ret, err);
}

/* Submits what the record says, unless a job of the session lives already. The caller holds the
 * lock. *ret_unknown: it failed, but a job may come of it. */
static int place(const char *store, int dir, struct batch_job *job, uint64_t but, bool *ret_was,
                 bool *ret_unknown, struct err *err)
{
    uint64_t number = 0;
    uint64_t found = 0;
    struct err why = ERR_INIT;

    if (look(job->id, but, &found, err) == -1)
        return -1;
    *ret_was = found != 0;
    if (found == 0 && but == 0) { /* a chain begins; else it goes on */
        job->link = job->chain > 0 ? 1 : 0;
        if (job_save(dir, job, err) == -1)
            return -1;
    }
    if (found == 0 && submit_record(store, job, &number, &why) == -1) {
        /* the answer may be lost, and the job there, or on its way */
        *ret_unknown = why.code == MAS_TIMEOUT;
        if (!*ret_unknown || look(job->id, but, &found, err) == -1 || found == 0) {
            *err = why;
            return -1;
        }
    }
    *ret_unknown = true;
    job->number = found != 0 ? found : number;
    return job_save(dir, job, err);
}

/* Fails if the disk of the store does not answer, or if a job that lives has the name. Of two
 * commands at the same time, neither sees the other's; then the name alone means neither job. */
static int check_name(const struct submit *submit, struct err *err)
{
    const char *name = submit->options->name;
    _cleanup_jobs_ struct jobs jobs = JOBS_INIT;
    struct err why = ERR_INIT;

    if (name == NULL)
        return jobs_check_store(submit->store, err);
    if (jobs_read(submit->store, false, &jobs, &why) == -1 && why.code == MAS_UNREACHED) {
        *err = why;
        return -1;
    }
    for (size_t i = 0; i < jobs.count; i++)
        if (slurm_is_live(jobs.list[i].state) && strcmp(jobs.list[i].name, name) == 0 &&
            strcmp(jobs.list[i].id, submit->options->id) != 0)
            return life_name_conflict(name, err);
    return 0;
}

/* Removes the directory of a session from the store. */
static int forget_session(const char *store, const char *id, struct err *err)
{
    _cleanup_close_ int top = lease_open_store(store, err);

    return top == -1 ? -1 : tree_remove(top, id, err);
}

/* Says what becomes of a session whose job was not submitted. One that this command has made, and
 * of which no job can come, is removed. */
static int fail_new(const struct submit *submit, bool made, bool unknown, int *dir, int *lock,
                    struct err *err)
{
    const char *id = submit->options->id;
    struct err why = ERR_INIT;

    (void)err_wrap(err, "cannot submit session '%s'", id);
    if (made && !unknown) {
        fd_closep(lock); /* a network's file system keeps names of what is open */
        fd_closep(dir);
        if (forget_session(submit->store, id, &why) == 0)
            return err_hint(err, "nothing is left of the session; see what Slurm has with: sinfo");
    }
    return err_hint(err, "it is saved; try again with: mas new --host %s --id %s",
                    submit->remote->name, id);
}

int submit_new(const struct life *life, const struct submit *submit, struct batch_job *ret,
               bool *ret_was, struct err *err)
{
    _cleanup_job_ struct batch_job job = JOB_INIT;
    _cleanup_close_ int lock = -1;
    struct err none = ERR_INIT;
    const char *id = submit->options->id;
    bool made = false;
    bool unknown = false;

    if (check_name(submit, err) == -1)
        return -1;
    _cleanup_close_ int dir = job_open_dir(submit->store, id, true, err);
    if (dir == -1 || lock_job(dir, &lock, err) == -1)
        return -1;
    if (job_load(dir, id, &job, &none) == -1) {
        if (none.number != ENOENT) {
            *err = none;
            return -1;
        }
        job.name = mem_dup("");
        job.template = mem_dup("");
        job.node = mem_dup("");
        job.reason = mem_dup("");
    }
    memcpy(job.id, id, ID_TEXT);
    job.number = 0;
    job.submitted = time(NULL);
    job.chain = submit->size.chain;
    if (describe(submit, &job, err) == -1 || make_save(life, submit, &job, &made, err) == -1 ||
        job_save(dir, &job, err) == -1)
        return -1;
    int rc = place(submit->store, dir, &job, 0, ret_was, &unknown, err);
    jobs_forget(submit->store);
    if (rc == -1)
        return fail_new(submit, made, unknown, &dir, &lock, err);
    *ret = job;
    job = (struct batch_job)JOB_INIT;
    return 0;
}

/* Counts the next job of a chain. */
static int count_link(int dir, struct batch_job *job, struct submit_next *ret, struct err *err)
{
    *ret = (struct submit_next){.chain = job->chain};
    if (job->chain == 0)
        return 0;
    ret->last = job->link >= job->chain;
    job->link++;
    if (ret->last || job_save(dir, job, err) == 0)
        return 0;
    ret->last = true;
    return -1;
}

int submit_again(const char *store, const char *id, struct submit_next *ret, struct err *err)
{
    _cleanup_job_ struct batch_job job = JOB_INIT;
    _cleanup_close_ int lock = -1;
    bool was = false;
    bool unknown = false;

    _cleanup_close_ int dir = job_open_dir(store, id, false, err);
    if (dir == -1 || lock_job(dir, &lock, err) == -1 || job_load(dir, id, &job, err) == -1)
        return -1;
    job.submitted = time(NULL);
    if (count_link(dir, &job, ret, err) == -1)
        return -1;
    if (ret->last)
        return 0;
    int rc = place(store, dir, &job, slurm_own_job(), &was, &unknown, err);
    jobs_forget(store);
    ret->number = job.number;
    return rc;
}

int submit_cancel(const char *store, const struct batch_job *job, bool forget, struct err *err)
{
    _cleanup_close_ int lock = -1;
    _cleanup_close_ int dir = job_open_dir(store, job->id, false, err);

    if (dir == -1 || lock_job(dir, &lock, err) == -1)
        return -1;
    if (job->number != 0 && slurm_is_live(job->state) && slurm_cancel(job->number, err) == -1)
        return -1;
    jobs_forget(store);
    if (!forget)
        return 0;
    fd_closep(&lock); /* a network's file system keeps names of what is open */
    fd_closep(&dir);
    return forget_session(store, job->id, err);
}

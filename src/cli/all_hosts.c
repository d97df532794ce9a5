/*
 * A look asks this machine, the others and the jobs, all at the same time, and makes an answer of
 * each. Then it remembers what the machines know, adds partitions and hosts that cannot be reached,
 * and prints it all. This machine is asked like any other, by running mas, so that there is one
 * kind of answer. `top` looks again and again, but asks the jobs only as often as Slurm bears it.
 */

#include "cli/all_hosts.h"

#include "base/time.h"
#include "cli/all_hosts_jobs.h"
#include "cli/brokered.h"
#include "cli/person.h"
#include "cli/print.h"
#include "fleet/jobs.h"
#include "fleet/reach.h"
#include "os/path.h"
#include "tmux/tmux.h"

#include <sys/statvfs.h>

#define TOP_VERB "status" /* what `top` asks the machines */

/* Returns the words that each machine is asked. `verb`: the one that answers. */
static char **make_words(const struct call *call, const char *verb)
{
    char **words = NULL;

    strv_push(&words, verb);
    for (size_t i = 0; i < call->given_count && strcmp(verb, call->cmd->name) == 0; i++) {
        const struct given *given = &call->given[i];
        bool takes = given->opt->arg != NULL && (given->opt->arg[0] != '[' || given->value[0] != 0);
        _cleanup_free_ char *word =
            mem_printf("--%s%s%s", given->opt->name, takes ? "=" : "", takes ? given->value : "");
        strv_push(&words, word);
    }
    strv_push(&words, "--json");
    strv_push(&words, "--");
    for (int i = 0; i < call->operand_count; i++)
        strv_push(&words, call->operands[i]);
    return words;
}

/* Says what is wrong with a machine that has answered, or cannot be asked. */
static char *find_problem(const struct fleet_answer *answer, const struct reach_ask *ask)
{
    const char *failed = "': ";

    if (ask->err.code != MAS_OK) {
        const char *why = strstr(ask->err.text, failed);
        return mem_printf("not reached: %s", why != NULL ? why + strlen(failed) : ask->err.text);
    }
    if (answer->greeting.version[0] == '\0')
        return strstr(str_text(&ask->why), "'--greet'") != NULL
                   ? mem_dup("another version of mas, which does not answer others")
                   : mem_printf("it does not answer as mas does%s%s", ask->why.len > 0 ? ": " : "",
                                str_text(&ask->why));
    if (answer->json == NULL)
        return mem_dup(ask->why.len > 0 ? ask->why.data : "its answer is not that of this verb");
    if (strcmp(answer->greeting.version, MAS_VERSION) != 0)
        return mem_printf("it has mas %s, here is %s", answer->greeting.version, MAS_VERSION);
    if (answer->greeting.store_free != -1 && answer->greeting.store_free < ALL_HOSTS_FULL)
        return mem_dup("its store is full, or missing");
    if (answer->greeting.free != -1 && answer->greeting.free < ALL_HOSTS_FULL)
        return mem_dup("its disk is full");
    if (llabs(answer->clock_ms) > ALL_HOSTS_CLOCK_MS) {
        char text[24];
        time_age(0, (time_t)(llabs(answer->clock_ms) / 1000), text);
        return mem_printf("its clock is %s %s", text, answer->clock_ms > 0 ? "ahead" : "behind");
    }
    return NULL;
}

/* Likewise, of a machine that is in order otherwise: what only `doctor` asks. */
static char *find_tmux_problem(const struct greeting *greeting)
{
    if (strcmp(greeting->tmux, GREETING_NONE) == 0)
        return mem_dup("it has no tmux");
    return tmux_version_is_old(greeting->tmux)
               ? mem_printf("its tmux %s is too old: " TMUX_FIRST " is the first that will do",
                            greeting->tmux)
               : NULL;
}

/* How far a clock is ahead that was read between `from` and `to`. */
static int64_t clock_difference(int64_t theirs, int64_t from, int64_t to)
{
    return theirs < from ? theirs - from : theirs > to ? theirs - to : 0;
}

void all_hosts_take(const char *verb, const struct reach_ask *ask, int64_t from, int64_t to,
                    struct fleet_answer *answer)
{
    const char *text = str_text(&ask->out);
    struct err ignored = ERR_INIT;
    size_t begin = 0;

    answer->reached = ask->err.code == MAS_OK;
    if (answer->reached && greeting_parse(text, ask->out.len, &answer->greeting, &begin)) {
        answer->clock_ms = clock_difference(answer->greeting.time_ms, from, to);
        if (json_parse(text + begin, ask->out.len - begin, ALL_HOSTS_ANSWER_MAX, &answer->json,
                       &ignored) == -1)
            answer->json = NULL;
        else if (all_hosts_rows(verb, answer->json) == NULL) {
            json_free(answer->json);
            answer->json = NULL;
        }
    }
    answer->problem = find_problem(answer, ask);
    if (answer->problem == NULL)
        answer->problem = find_tmux_problem(&answer->greeting);
    if (!answer->reached)
        answer->code = answer->host != NULL ? MAS_UNREACHED : (int)ask->err.code;
    else if (answer->json == NULL)
        answer->code = MAS_FAILED;
    else
        answer->code = ask->code;
    if (answer->code == MAS_OK && answer->problem != NULL && strcmp(verb, "doctor") == 0)
        answer->code = MAS_FAILED;
}

void all_hosts_take_slurm(const struct config *config, const struct remote *remote, bool now,
                          struct fleet_answer *answer)
{
    const char *store = jobs_store(config, remote);
    _cleanup_jobs_ struct jobs jobs = JOBS_INIT;
    struct err why = ERR_INIT;
    struct statvfs fs;

    answer->greeting = (struct greeting){.free = -1, .store_free = -1};
    if (store == NULL) {
        answer->problem = mem_dup("it has no store");
    } else if (jobs_check_store(store, &why) == -1) {
        answer->problem = mem_printf("not reached: %s", why.text);
    } else if (statvfs(store, &fs) == -1 && errno == ENOENT) {
        answer->reached = true; /* the first session makes it */
        return;
    } else if (statvfs(store, &fs) == -1) {
        answer->problem = mem_printf("its store '%s' cannot be read: %s", store, strerror(errno));
    } else if (jobs_read(store, now, &jobs, &why) == -1 || jobs.why[0] != '\0') {
        answer->problem = mem_printf("not reached: %s", why.code != MAS_OK ? why.text : jobs.why);
    } else {
        answer->reached = true;
        answer->greeting.store_free = (int64_t)(fs.f_bavail * fs.f_frsize);
        if (answer->greeting.store_free < ALL_HOSTS_FULL)
            answer->problem = mem_dup("its store is full");
        return;
    }
    answer->code = MAS_UNREACHED;
}

/* Counts the sessions of a list, and those that run. */
static struct last_known count_sessions(const struct json *rows)
{
    struct last_known known = {.when = time(NULL)};

    for (const struct json *row = json_first(rows); row != NULL; row = json_next(row)) {
        known.sessions++;
        known.active += strcmp(json_get_text_or(row, "status", ""), "active") == 0;
    }
    return known;
}

/* Records what machines know that have answered, and finds what is known of the others. `whole`:
 * they were asked for all of their sessions. */
static void keep_known(struct fleet_answers *answers, const struct reach_ask *asks, bool whole)
{
    size_t count = answers->count - 1;
    const struct remote **remotes = mem_alloc((count + 1) * sizeof *remotes);
    struct last_known *known = mem_alloc((count + 1) * sizeof *known);
    bool any = false;

    for (size_t i = 0; i < count; i++)
        remotes[i] = asks[i + 1].command.remote;
    last_known_read(remotes, count, known);
    for (size_t i = 0; i < count; i++) {
        struct fleet_answer *answer = &answers->list[i + 1];
        answer->known = known[i];
        known[i] = (struct last_known){.when = 0};
        if (answer->json == NULL || !whole)
            continue;
        known[i] = answer->known = count_sessions(all_hosts_rows(answers->verb, answer->json));
        any = true;
    }
    if (any)
        last_known_write(remotes, count, known);
    free(remotes);
    free(known);
}

void fleet_answer_free(struct fleet_answer *answer)
{
    json_free(answer->json);
    free(answer->problem);
}

static void free_answers(struct fleet_answers *answers)
{
    for (size_t i = 0; i < answers->count; i++)
        fleet_answer_free(&answers->list[i]);
    free(answers->list);
}

/* Returns true if partitions of Slurm have something to say to this. */
static bool is_about_slurm(const char *verb)
{
    return strcmp(verb, "list") == 0 || strcmp(verb, "doctor") == 0;
}

/* Says of a partition that Slurm does not answer, or which of its jobs were not asked. */
static void take_partition(const struct fleet_partition *part, const char *verb,
                           struct fleet_answer *answer)
{
    const char *words = strcmp(verb, "search") == 0 ? "search -s" : verb;
    size_t rest = part->running - part->asked;
    _cleanup_str_ struct str text = STR_INIT;

    answer->reached = part->why == NULL;
    answer->code = part->why == NULL ? MAS_OK : MAS_UNREACHED;
    answer->greeting = (struct greeting){.free = -1, .store_free = -1};
    if (part->why != NULL)
        str_addf(&text, "not reached: %s%s", part->why, rest > 0 ? "; " : "");
    if (rest > 0)
        str_addf(&text, "%zu%s running job%s, not asked; ask one: mas %s %s:%s", rest,
                 part->asked > 0 ? " more" : "", rest > 1 ? "s" : "", words, part->remote->name,
                 part->next);
    if (part->begun > 0)
        str_addf(&text, "%s%zu job%s begun, and the team is not up yet", text.len > 0 ? "; " : "",
                 part->begun, part->begun > 1 ? "s have" : " has");
    answer->problem = str_steal(&text);
}

/* Adds the hosts that mas.ini does not describe well enough. */
static void add_unset(const struct config *config, struct fleet_answers *answers)
{
    for (size_t i = 0; i < config->remote_count; i++)
        if (config->remotes[i].via == REMOTE_UNSET)
            answers->list[answers->count++] = (struct fleet_answer){
                .host = config->remotes[i].name,
                .greeting = {.free = -1, .store_free = -1},
                .problem = mem_dup(config->remotes[i].wrong != NULL
                                       ? config->remotes[i].wrong
                                       : "mas.ini does not say how to reach it"),
                .code = MAS_UNREACHED,
            };
}

/* Adds the partitions. After the machines, since this machine's own `list` asks Slurm. */
static void add_slurm(const struct config *config, struct fleet_answers *answers)
{
    for (size_t i = 0; i < config->remote_count; i++) {
        const struct remote *remote = &config->remotes[i];
        struct fleet_answer *answer = &answers->list[answers->count];
        if (remote->via != REMOTE_SLURM)
            continue;
        *answer = (struct fleet_answer){.host = remote->name, .is_slurm = true};
        all_hosts_take_slurm(config, remote, strcmp(answers->verb, "doctor") == 0, answer);
        answers->count++;
    }
}

/* Adds what jobs have answered, and what is to be said of their partitions. */
static void add_jobs(const struct fleet_jobs *jobs, struct fleet_answers *answers)
{
    for (size_t i = 0; i < jobs->count; i++) {
        struct fleet_answer *answer = &answers->list[answers->count++];
        const struct fleet_job *job = &jobs->list[i];
        *answer = (struct fleet_answer){.host = job->node.name,
                                        .session = job->record.id,
                                        .label = fleet_job_label(&job->record)};
        all_hosts_take(answers->verb, &job->ask, jobs->from_ms, jobs->to_ms, answer);
    }
    for (size_t i = 0; i < jobs->partition_count; i++) {
        const struct fleet_partition *part = &jobs->partitions[i];
        struct fleet_answer *answer = &answers->list[answers->count++];
        *answer = (struct fleet_answer){.host = part->remote->name, .is_slurm = true};
        take_partition(part, answers->verb, answer);
    }
}

static int first_code(const struct fleet_answers *answers)
{
    for (size_t i = 0; i < answers->count; i++)
        if (answers->list[i].code != MAS_OK)
            return answers->list[i].code;
    return MAS_OK;
}

static void print_top(const struct fleet_answers *answers, size_t rows)
{
    if (rows > 0)
        (void)fputs("\033[H\033[2J", stdout); /* not before the answers are there */
    all_hosts_top_table(answers, rows);
}

/* What is asked: this machine, those that ssh reaches, and sessions that are jobs. `top` does so
 * again and again, and keeps what jobs have answered for a while. */
struct fleet_look {
    const struct call *call;
    const char *verb; /* the one that answers */
    char **words;
    int wait_ms;
    struct fleet_jobs jobs;
    int code; /* what the command ends with */
};

static void look_open(const struct call *call, const char *verb, struct fleet_look *ret)
{
    int wait_ms = config_number(&call->config, SETTING_FLEET_ANSWER);

    if (strcmp(verb, "doctor") == 0)
        wait_ms = wait_ms < INT_MAX / ALL_HOSTS_DOCTOR ? wait_ms * ALL_HOSTS_DOCTOR : INT_MAX;
    *ret = (struct fleet_look){
        .call = call, .verb = verb, .words = make_words(call, verb), .wait_ms = wait_ms};
}

static void look_close(struct fleet_look *look)
{
    fleet_jobs_free(&look->jobs);
    strv_free(look->words);
}
#define _cleanup_look_ __attribute__((cleanup(look_close)))

/* Returns true if the answers have all sessions: those of a list without a choice. */
static bool is_whole(const struct fleet_look *look)
{
    static const char *const choices[] = {"active", "stopped", "error"};
    bool chosen = false;

    for (size_t i = 0; i < ARRAY_LEN(choices); i++)
        chosen = chosen || call_opt(look->call, choices[i]) != NULL;
    return strcmp(look->verb, "list") == 0 && !chosen;
}

/* Makes what asks the machines. Returns their number. */
static size_t put_machines(const struct fleet_look *look, struct reach_ask *asks,
                           struct fleet_answer *answers)
{
    const struct config *config = &look->call->config;
    size_t count = 0;

    asks[count++] = (struct reach_ask){.command = {.words = look->words, .greet = true},
                                       .root = look->call->has_root ? look->call->root.path : NULL,
                                       .timeout_ms = ALL_HOSTS_HERE_MS};
    for (size_t i = 0; i < config->remote_count; i++) {
        const struct remote *remote = &config->remotes[i];
        if (remote->via != REMOTE_SSH)
            continue;
        answers[count].host = remote->name;
        asks[count++] = (struct reach_ask){
            .command = {.remote = remote, .words = look->words, .goes_on = true, .greet = true},
            .timeout_ms = look->wait_ms};
    }
    for (size_t i = 0; i < count; i++)
        asks[i].output_max = ALL_HOSTS_ANSWER_MAX;
    return count;
}

/* Finds the running jobs, unless their last answers are still to be used. Returns how many are to
 * be asked now: never so many that machines and jobs are not asked at the same time. */
static size_t find_jobs(struct fleet_look *look, size_t machines)
{
    int64_t now = time_monotonic_ms();

    if (is_about_slurm(look->verb) ||
        (look->jobs.asked_ms != 0 && now - look->jobs.asked_ms < FLEET_JOBS_AGAIN_MS))
        return 0;
    fleet_jobs_free(&look->jobs);
    fleet_jobs_find(&look->call->config, REACH_AT_ONCE - machines % REACH_AT_ONCE, look->words,
                    look->wait_ms, &look->jobs);
    look->jobs.asked_ms = now;
    return look->jobs.count;
}

/* Asks, and fills *ret. What it has of jobs lives as long as *look. */
static void ask_all(struct fleet_look *look, struct fleet_answers *ret)
{
    const struct config *config = &look->call->config;
    size_t room = 2 * config->remote_count + 1 + FLEET_JOBS_MAX;
    struct reach_ask *asks = mem_alloc(room * sizeof *asks);
    struct fleet_jobs *jobs = &look->jobs;

    *ret = (struct fleet_answers){.verb = look->verb, .list = mem_alloc(room * sizeof *ret->list)};
    ret->count = put_machines(look, asks, ret->list);
    size_t asked = find_jobs(look, ret->count);
    for (size_t i = 0; i < asked; i++)
        asks[ret->count + i] = jobs->list[i].ask;
    int64_t from = time_epoch_ms();
    reach_ask_all(asks, ret->count + asked);
    int64_t to = time_epoch_ms();
    for (size_t i = 0; i < asked; i++) {
        jobs->list[i].ask = asks[ret->count + i];
        jobs->from_ms = from;
        jobs->to_ms = to;
    }
    for (size_t i = 0; i < ret->count; i++)
        all_hosts_take(look->verb, &asks[i], from, to, &ret->list[i]);
    for (size_t i = 0; i < ret->count; i++)
        reach_ask_free(&asks[i]);
    keep_known(ret, asks, is_whole(look));
    if (is_about_slurm(look->verb))
        add_slurm(config, ret);
    else
        add_jobs(jobs, ret);
    add_unset(config, ret);
    free(asks);
}

/* Asks all machines once and prints what they say. `rows`: of the screen, for `top`. */
static void show_all(struct fleet_look *look, size_t rows)
{
    const struct call *call = look->call;
    struct fleet_answers answers;

    ask_all(look, &answers);
    look->code = first_code(&answers);
    if (call->json)
        all_hosts_print_json(&answers);
    else if (call->quiet)
        all_hosts_print_ids(&answers);
    else if (strcmp(call->cmd->name, look->verb) == 0)
        all_hosts_table(&answers);
    else
        print_top(&answers, rows);
    free_answers(&answers);
}

/* `top`: the agents of all machines, again and again. */
static void look_for_top(size_t rows, void *arg)
{
    show_all(arg, rows);
}

static int show_top(const struct call *call, int *ret_code, struct err *err)
{
    _cleanup_look_ struct fleet_look look;

    look_open(call, TOP_VERB, &look);
    if (call_opt(call, "once") == NULL && isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0)
        return all_hosts_screen(look_for_top, &look, err);
    look_for_top(0, &look);
    *ret_code = look.code;
    return 0;
}

int call_all_hosts(struct call *call, int *ret_code, struct err *err)
{
    static const char *const here_only[] = {"fix", "watch", "quota"};
    bool takes_words = strcmp(call->cmd->name, "search") == 0;

    if (brokered_is_agent())
        return err_set(err, MAS_FAILED,
                       "cannot use --all-hosts: only a person may, and this is an agent");
    if (person_check_root(NULL, "reach other hosts", err) == -1)
        return -1;
    bool named = call->session != NULL || (call->operand_count > 0 && !takes_words);
    for (size_t i = 0; i < call->given_count; i++)
        named = named || opt_offer(call->given[i].opt) == OFFER_SESSION;
    if (named) {
        (void)err_set(err, MAS_USAGE,
                      "cannot run '%s': it takes a SESSION or --all-hosts, not both",
                      call->cmd->name);
        return call_usage(call, err);
    }
    if (call_opt(call, "jobs") != NULL)
        return err_set(err, MAS_USAGE,
                       "cannot use --jobs with --all-hosts, which has the jobs of all machines");
    for (size_t i = 0; i < ARRAY_LEN(here_only); i++)
        if (call_opt(call, here_only[i]) != NULL)
            return err_set(err, MAS_USAGE, "cannot run '%s' on all hosts with --%s",
                           call->cmd->name, here_only[i]);
    if (takes_words && call->operand_count == 1 && strcmp(call->operands[0], "-") == 0)
        return err_set(err, MAS_USAGE,
                       "cannot search on all hosts for '-': standard input is only here");
    if (strcmp(call->cmd->name, "top") == 0)
        return show_top(call, ret_code, err);
    _cleanup_look_ struct fleet_look look;
    look_open(call, call->cmd->name, &look);
    show_all(&look, 0);
    *ret_code = look.code;
    return 0;
}

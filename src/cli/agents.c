/*
 * The words here are for tables of several verbs, so that each shows an agent alike. All of them
 * ask first whether its host has told its status; if not, the reason stands in its place. What
 * waits for an agent without a host, and whether its turn was cut off, is read from memory.db,
 * where errors are left to `mas history` and `mas doctor`.
 */

#include "cli/agents.h"

#include "base/number.h"
#include "base/time.h"
#include "base/utf8.h"
#include "cli/print.h"
#include "cli/table.h"
#include "memory/store.h"
#include "model/attention.h"
#include "os/file.h"
#include "os/path.h"
#include "store/team_file.h"
#include "store/workspace.h"

enum {
    NOTE_SHOWN = 100, /* bytes of a note or title */
    CODE_OLD_MS = 60 * 1000, /* figures of code that are older are shown with their age */
};

const char *agent_word(const struct roster *roster, size_t i)
{
    const struct roster_agent *agent = &roster->agents[i];
    return agent->told ? agent_state_name(agent->status.state) : roster_problem(roster, i);
}

const char *agent_colour(const struct roster *roster, size_t i)
{
    static const enum tint colours[AGENT_STATE_COUNT] = {
        [AGENT_ASLEEP] = TINT_DIM,  [AGENT_STARTING] = TINT_NEWS, [AGENT_WORKING] = TINT_GOOD,
        [AGENT_IDLE] = TINT_PLAIN,  [AGENT_WAITING] = TINT_ASKS,  [AGENT_LIMITED] = TINT_HELD,
        [AGENT_PAUSED] = TINT_HELD, [AGENT_EXITED] = TINT_DIM,    [AGENT_CRASHED] = TINT_BAD,
    };
    const struct roster_agent *agent = &roster->agents[i];
    bool red = !agent->told || attention_of(&agent->status) == ATTENTION_FAILED;
    return colour(red ? TINT_BAD : colours[agent->status.state]);
}

void agent_age(const struct roster *roster, size_t i, int64_t now_ms, char buf[24])
{
    const struct roster_agent *agent = &roster->agents[i];

    if (agent->told && agent->status.since_ms != 0)
        time_age((time_t)(agent->status.since_ms / 1000), (time_t)(now_ms / 1000), buf);
    else
        (void)snprintf(buf, 24, "-");
}

bool agents_have_code(const struct roster *roster)
{
    for (size_t i = 0; i < roster->count; i++) {
        const struct roster_agent *one = &roster->agents[i];
        if (one->agent->code == AGENT_CODE_WORKTREE &&
            roster->teams[one->team].team.project.path != NULL)
            return true;
    }
    return false;
}

/* Writes the branch that the agent has checked out, "-" if it is unknown. */
static void agent_branch(const struct roster *roster, size_t i, struct str *to)
{
    const struct code_figures *code = &roster->agents[i].status.code;

    if (code->looked_ms == 0 || code->problem[0] != '\0')
        str_add(to, "-");
    else
        str_add(to, code->branch[0] != '\0' ? code->branch : "(no branch)");
}

void agent_add_code(const struct roster *roster, size_t i, int64_t now_ms, struct str *to)
{
    const struct code_figures *code = &roster->agents[i].status.code;
    char age[24];

    if (code->looked_ms == 0) {
        str_add(to, "-");
        return;
    }
    if (code->problem[0] != '\0')
        str_addc(to, '?');
    else
        code_figures_format(code->ahead, code->behind, code->changed, to);
    if (now_ms - code->looked_ms < CODE_OLD_MS)
        return;
    time_age((time_t)(code->looked_ms / 1000), (time_t)(now_ms / 1000), age);
    str_addf(to, " (%s)", age);
}

void agent_add_code_cells(const struct roster *roster, size_t i, int64_t now_ms,
                          struct table *table)
{
    _cleanup_str_ struct str branch = STR_INIT;
    _cleanup_str_ struct str code = STR_INIT;

    agent_branch(roster, i, &branch);
    agent_add_code(roster, i, now_ms, &code);
    table_add(table, str_text(&branch), NULL);
    table_add(table, str_text(&code), NULL);
}

static void separate(struct str *to, size_t start)
{
    if (to->len > start)
        str_add(to, ", ");
}

/* Appends a note or title as one line, with " | " between its lines. Shows at most NOTE_SHOWN
 * bytes: the end of last words, else the beginning. */
static void add_words(struct str *to, const char *text, bool last)
{
    size_t len = strlen(text);

    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == ' '))
        len--;
    size_t from = last && len > NOTE_SHOWN ? len - NOTE_SHOWN : 0;
    if (from > 0)
        from = utf8_next(text, len, from - 1); /* not in the middle of a character */
    size_t end = from + str_cut(text + from, len - from, NOTE_SHOWN);
    str_add(to, from > 0 ? "..." : "");
    for (size_t i = from; i < end; i++) {
        if (text[i] == '\n')
            str_add(to, " | ");
        else
            str_addc(to, text[i]);
    }
    str_add(to, end < len ? "..." : "");
}

void agent_add_note(const struct roster *roster, size_t i, int64_t now_ms, struct str *to)
{
    const struct agent_status *status = &roster->agents[i].status;
    size_t start = to->len;
    char size[16];

    if (!roster->agents[i].told) {
        if (status->queued > 0)
            str_addf(to, "%d queued", status->queued);
        return;
    }
    bool ended = status->state == AGENT_EXITED || status->state == AGENT_CRASHED;
    if (ended && status->signal != 0)
        str_addf(to, "signal %d (%s)", status->signal, strsignal(status->signal));
    else if (ended && status->exit_code != -1)
        str_addf(to, "code %d", status->exit_code);
    if (status->restart_ms > 0) {
        int64_t left = status->restart_ms - now_ms;
        separate(to, start);
        str_addf(to, "starts again in %llds", left > 0 ? (long long)(left + 999) / 1000 : 0);
    }
    if (status->queued > 0) {
        separate(to, start);
        str_addf(to, "%d queued", status->queued);
    }
    if (status->log_lost > 0) {
        separate(to, start);
        number_format_size((uint64_t)status->log_lost, size);
        str_addf(to, "%s not logged", size);
    }
    if (status->memory[0] != '\0') {
        separate(to, start);
        str_add(to, "memory: ");
        add_words(to, status->memory, false);
    }
    if (status->permission[0] != '\0') {
        separate(to, start);
        str_add(to, "asks: ");
        add_words(to, status->asks, false);
        err_add_commands(to, " (mas approve %.8s %s)", roster->teams[roster->agents[i].team].id,
                         roster->agents[i].agent->id);
        return;
    }
    const char *words = status->note[0] != '\0'           ? status->note
                        : status->code.problem[0] != '\0' ? status->code.problem
                                                          : status->title;
    _cleanup_str_ struct str turn = STR_INIT;
    agent_turn_add(status, &turn);
    bool same = turn.len > 0 && words[0] != '\0' && strstr(turn.data, words) != NULL;
    if (turn.len > 0) {
        separate(to, start);
        add_words(to, turn.data, same && ended);
    }
    if (words[0] != '\0' && !same) {
        separate(to, start);
        add_words(to, words, ended);
    }
}

void agent_put_json(const struct roster *roster, size_t i, struct json_out *out)
{
    const struct roster_agent *one = &roster->agents[i];

    json_put_all(out, JT("id", one->agent->id), JT("role", one->agent->role),
                 JT("rank", rank_name(one->agent->rank)), JT("group", one->agent->group));
    if (one->told) {
        agent_status_put(&one->status, out);
    } else {
        json_put_all(out, JT("state", NULL), JT("problem", roster_problem(roster, i)),
                     JI("queued", one->status.queued), JT("disk", NULL));
        code_figures_put(&one->status.code, out);
    }
}

/* ---- messages that wait while the agent has no host */

/* Ignores errors; `mas history` and `mas doctor` report them. */
static size_t read_waiting(int dir, const char *id, struct store_waiting **ret)
{
    _cleanup_store_ struct store *store = NULL;
    struct err ignored = ERR_INIT;
    size_t count = 0;

    if (faccessat(dir, STORE_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == -1 ||
        store_open(dir, id, NULL, false, &store, &ignored) == -1 ||
        store_waiting(store, ret, &count, &ignored) == -1)
        return 0;
    return count;
}

void agents_read_waiting(struct roster *roster)
{
    for (size_t t = 0; t < roster->team_count; t++) {
        const struct roster_team *team = &roster->teams[t];
        struct store_waiting *waiting = NULL;
        size_t absent = 0;
        for (size_t i = team->first; i < team->first + team->count; i++)
            absent += roster->calls[i].answer == HOST_ABSENT;
        size_t count = absent > 0 ? read_waiting(team->dir, team->id, &waiting) : 0;
        for (size_t i = team->first; i < team->first + team->count; i++)
            for (size_t j = 0; j < count; j++)
                if (roster->calls[i].answer == HOST_ABSENT &&
                    strcmp(waiting[j].agent, roster->agents[i].agent->id) == 0)
                    roster->agents[i].status.queued = waiting[j].count;
        free(waiting);
    }
}

void agents_add_waiting(const struct root *root, const char *id, const char *before, struct str *to)
{
    _cleanup_close_ int dir = workspace_open(root, id);
    struct store_waiting *waiting = NULL;
    size_t count = dir != -1 ? read_waiting(dir, id, &waiting) : 0;

    for (size_t i = 0; i < count; i++)
        str_addf(to, "%s%s (%d queued)", i == 0 ? before : ", ", waiting[i].agent,
                 waiting[i].count);
    free(waiting);
}

char **agents_cut_off(const struct root *root, const char *id)
{
    _cleanup_close_ int dir = workspace_open(root, id);
    _cleanup_close_ int run = dir != -1 ? path_open_dir(dir, WORKSPACE_RUN) : -1;
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_store_ struct store *store = NULL;
    struct err ignored = ERR_INIT; /* the hosts say what is wrong with it */
    char **ids = NULL;

    if (dir == -1 || team_file_load(dir, &team, &ignored) == -1 ||
        faccessat(dir, STORE_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == -1 ||
        store_open(dir, id, NULL, false, &store, &ignored) == -1)
        return NULL;
    for (size_t i = 0; i < team.agent_count; i++) {
        struct store_turn turn = {.prompt = 0};
        _cleanup_free_ char *lock = mem_printf("%s" WORKSPACE_HOST_LOCK, team.agents[i].id);
        if (store_newest_turn(store, team.agents[i].id, &turn, &ignored) == 0 && turn.prompt != 0 &&
            (turn.stopped || !turn.over) && (run == -1 || !file_is_locked(run, lock)))
            strv_push(&ids, team.agents[i].id);
        store_turn_free(&turn);
    }
    return ids;
}

void agents_tell_cut_off(const char *label, char *const *agents)
{
    _cleanup_str_ struct str line = STR_INIT;

    if (strv_len(agents) == 0)
        return;
    str_addf(&line, "stopped in the middle of a turn:");
    for (char *const *agent = agents; *agent != NULL; agent++)
        str_addf(&line, "%s %s", agent == agents ? "" : ",", *agent);
    err_add_commands(&line, "; ask again with: mas ask %s %s --again", label, agents[0]);
    print_line(&line);
}

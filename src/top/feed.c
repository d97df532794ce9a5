/*
 * Index, root and hosts each have a time at which they are looked at next. Rows of the index are
 * matched by id, so that teams which are known keep their agents. A host is watched by a connection
 * that stays open; where descriptors are few, or it has too many watchers, it is asked from time to
 * time instead. In one turn only so many connections are made, and a host that is not there is
 * tried less and less often.
 */

#include "top/feed.h"

#include "base/time.h"
#include "model/team/team.h"
#include "os/path.h"
#include "os/proc.h"
#include "os/watch.h"
#include "store/index.h"
#include "store/team_file.h"
#include "store/workspace.h"

#include <sys/resource.h>

enum {
    FDS_KEPT = 64, /* descriptors for everything but hosts */
    TURN_FDS = 32, /* for hosts that are asked in turns */
    TURN_MS = 1000, /* between two questions to such a host */
    REST_MS = 40, /* between two turns that read the hosts */
    AT_ONCE = 128, /* attempts to connect in one turn */
    REPORTS = 1024, /* that are read in one turn */
    COMES_MS = 5000, /* the hosts of a team that was just started may come for so long */
    PAUSE_MIN_MS = 50,
    PAUSE_MAX_MS = 2000,
    INDEX_PAUSE_MS = 50, /* before the index is read, because it often changes twice */
    CHECK_MS = 2000,
};

/* ---- the index */

static bool is_wanted(const struct top_feed *feed, const struct row *row)
{
    if (row->missing)
        return false;
    if (feed->ids == NULL)
        return row->status == STATUS_ACTIVE;
    for (char **id = feed->ids; *id != NULL; id++)
        if (strcmp(*id, row->id) == 0)
            return true;
    return false;
}

static void copy_agents(struct top_feed *feed, struct top_team *to, const struct team *team)
{
    table_set_agents(feed->table, to, team->agent_count);
    for (size_t i = 0; i < team->agent_count; i++) {
        to->agents[i].id = mem_dup(team->agents[i].id);
        to->agents[i].role = mem_dup(team->agents[i].role);
        to->agents[i].has_code =
            team->project.path != NULL && team->agents[i].code == AGENT_CODE_WORKTREE;
    }
}

static void read_team(struct top_feed *feed, struct top_team *to, int dir)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    struct err err = ERR_INIT;

    if (dir == -1)
        (void)err_errno(&err, "its workspace cannot be opened");
    else if (team_file_load(dir, &team, &err) == 0)
        copy_agents(feed, to, &team);
    free(to->problem);
    to->problem = err.code != MAS_OK ? mem_dup(err.text) : NULL;
    feed->table->changed = true;
}

static void disconnect(struct top_feed *feed, struct top_agent *agent)
{
    if (agent->host.conn.fd == -1)
        return;
    loop_many_remove(feed->hosts, agent->host.conn.fd);
    host_connection_close(&agent->host);
    feed->open--;
}

static void set_running(struct top_feed *feed, struct top_team *team, bool runs)
{
    team->runs = runs;
    for (size_t i = 0; i < team->count; i++) {
        disconnect(feed, &team->agents[i]);
        table_lose(feed->table, &team->agents[i], runs ? LINK_COMES : LINK_STOPPED, NULL);
        team->agents[i].next_ms = 0;
        team->agents[i].pause_ms = PAUSE_MIN_MS;
    }
}

/* Returns true if a file, which is always replaced as a whole, is another one than before. */
static bool is_another(const struct stat *st, ino_t *file, struct timespec *at)
{
    if (st->st_ino == *file && st->st_mtim.tv_sec == at->tv_sec &&
        st->st_mtim.tv_nsec == at->tv_nsec)
        return false;
    *file = st->st_ino;
    *at = st->st_mtim;
    return true;
}

/* Reads the entries of a team, if they have changed; none of a file that is missing or damaged. */
static void follow_every(struct top_feed *feed, struct top_team *team)
{
    _cleanup_free_ char *file = mem_printf("%s/" EVERY_FILE, team->id);
    struct stat st = {.st_ino = 0};
    struct err ignored = ERR_INIT;

    (void)fstatat(feed->root.sessions, file, &st, AT_SYMLINK_NOFOLLOW);
    if (!is_another(&st, &team->every_file, &team->every_at))
        return;
    _cleanup_close_ int dir = workspace_open(&feed->root, team->id);
    every_free(&team->every);
    if (dir == -1 || every_read(dir, &team->every, &ignored) == -1)
        team->every_file = 0; /* it is tried again */
    feed->table->changed = true;
}

/* Reads the agents of a team that is new, or whose file is another one than before: agents join and
 * leave. Returns true if it has. */
static bool follow_team(struct top_feed *feed, struct top_team *team, bool is_new)
{
    _cleanup_close_ int dir = workspace_open(&feed->root, team->id);
    struct stat st = {.st_ino = team->file, .st_mtim = team->file_at};

    if (dir != -1)
        (void)fstatat(dir, WORKSPACE_CONFIG, &st, AT_SYMLINK_NOFOLLOW);
    if (!is_another(&st, &team->file, &team->file_at) && !is_new)
        return false;
    for (size_t i = 0; i < team->count; i++)
        disconnect(feed, &team->agents[i]);
    read_team(feed, team, dir);
    return true;
}

/* Returns when hosts that are missing now were expected last; monotonic ms. */
static int64_t begin_of(const struct row *row, int64_t now)
{
    time_t used;
    bool fresh = time_parse(row->activity, &used) && time(NULL) - used < COMES_MS / 1000;
    return fresh ? now : now - COMES_MS;
}

static void keep_row(struct top_feed *feed, const struct row *row, bool again)
{
    struct top_team *team = table_find(feed->table, row->id);
    const char *name = row->name[0] != '\0' ? row->name : row->tmux_name;
    bool runs = row->status == STATUS_ACTIVE;
    int64_t now = time_monotonic_ms();

    bool is_new = team == NULL;
    if (is_new)
        team = table_add_team(feed->table, row->id, name);
    if (follow_team(feed, team, is_new)) {
        team->begun_ms = begin_of(row, now);
        set_running(feed, team, runs);
    } else if (team->runs != runs) {
        team->begun_ms = now;
        set_running(feed, team, runs);
    }
    if (strcmp(team->name, name) != 0) {
        free(team->name);
        team->name = mem_dup(name);
        feed->table->changed = true;
    }
    if (again && team->runs && team_is_down(team)) /* perhaps it has just been started */
        for (size_t i = 0; i < team->count; i++)
            team->agents[i].next_ms = 0;
    team->listed = true;
    follow_every(feed, team);
}

static void remove_unlisted(struct top_feed *feed)
{
    for (size_t i = feed->table->count; i-- > 0;) {
        struct top_team *team = feed->table->teams[i];
        if (team->listed)
            continue;
        for (size_t j = 0; j < team->count; j++)
            disconnect(feed, &team->agents[j]);
        table_remove_team(feed->table, i);
    }
}

static int read_index(struct top_feed *feed, struct err *err)
{
    _cleanup_index_ struct index index = INDEX_INIT;
    bool again = feed->table->count > 0;

    feed->index_ms = -1;
    if (index_read(&feed->root, false, &index, err) == -1)
        return -1;
    feed->stopped = 0;
    for (size_t i = 0; i < feed->table->count; i++)
        feed->table->teams[i]->listed = false;
    for (size_t i = 0; i < index.count; i++) {
        if (is_wanted(feed, &index.rows[i]))
            keep_row(feed, &index.rows[i], again);
        else
            feed->stopped += !index.rows[i].missing;
    }
    remove_unlisted(feed);
    return 0;
}

/* ---- the root */

static void set_problem(struct top_feed *feed, const char *text)
{
    if ((text == NULL) == (feed->problem == NULL) &&
        (text == NULL || strcmp(text, feed->problem) == 0))
        return;
    free(feed->problem);
    feed->problem = mem_dup(text);
    feed->table->changed = true;
}

static void watch_root(struct top_feed *feed)
{
    fd_closep(&feed->notices);
    feed->notices = watch_open();
    if (feed->notices == -1)
        return; /* then it is read from time to time */
    (void)watch_add(feed->notices, feed->root.fd, WATCH_GONE | WATCH_MOVED);
    (void)watch_add(feed->notices, feed->root.sessions,
                    WATCH_CREATED | WATCH_CAME | WATCH_DELETED | WATCH_GONE | WATCH_MOVED);
}

/* Returns true if the root is still where it was. */
static bool root_stands(const struct top_feed *feed)
{
    struct stat there, ours;
    _cleanup_free_ char *sessions = mem_printf("%s/" ROOT_SESSIONS, feed->root.path);

    return feed->root.sessions != -1 && stat(sessions, &there) == 0 &&
           fstat(feed->root.sessions, &ours) == 0 && there.st_ino == ours.st_ino &&
           there.st_dev == ours.st_dev;
}

static void take_fuller(const struct login_quota *quota, void *arg)
{
    struct top_feed *feed = arg;
    int64_t now = time_epoch_ms();

    for (size_t i = 0; i < quota->count; i++) {
        const struct quota_window *window = &quota->windows[i];
        if (!quota_holds_now(window, now) ||
            (feed->quota_of[0] != '\0' && window->percent <= feed->quota.percent))
            continue;
        feed->quota = *window;
        (void)snprintf(feed->quota_of, sizeof feed->quota_of, "%s", quota->preset);
    }
}

static void look_at_quota(struct top_feed *feed)
{
    struct err ignored = ERR_INIT;

    feed->quota_of[0] = '\0';
    (void)login_quota_each(&feed->root, take_fuller, feed, &ignored);
}

/* Opens the root anew if another directory is in its place. */
static void check_root(struct top_feed *feed)
{
    struct root root = ROOT_INIT;
    struct err err = ERR_INIT;

    feed->check_ms = time_monotonic_ms() + CHECK_MS;
    look_at_quota(feed);
    for (size_t i = 0; i < feed->table->count; i++)
        follow_every(feed, feed->table->teams[i]);
    if (feed->notices == -1)
        feed->index_ms = 0;
    if (root_stands(feed)) {
        set_problem(feed, NULL);
        return;
    }
    if (!root_exists(feed->root.path) || root_open(feed->root.path, &root, &err) == -1) {
        _cleanup_free_ char *text = mem_printf("the root '%s' is gone", feed->root.path);
        set_problem(feed, text);
        return;
    }
    root_close(&feed->root);
    feed->root = root;
    watch_root(feed);
    set_problem(feed, NULL);
    feed->index_ms = 0;
}

static void on_notice(const struct watch_change *change, void *arg)
{
    struct top_feed *feed = arg;

    if ((change->what & (WATCH_GONE | WATCH_MOVED)) != 0)
        feed->check_ms = 0;
    else if (feed->index_ms == -1 &&
             (strcmp(change->name, INDEX_FILE) == 0 || change->name[0] != '.'))
        feed->index_ms = time_monotonic_ms() + INDEX_PAUSE_MS;
}

int feed_open(struct top_feed *feed, const char *path, char **ids, struct top_table *table,
              struct err *err)
{
    struct rlimit limit = {.rlim_cur = 1024};

    *feed = (struct top_feed){.root = ROOT_INIT,
                              .ids = ids,
                              .table = table,
                              .notices = -1,
                              .hosts = loop_many_open(),
                              .index_ms = -1,
                              .check_ms = time_monotonic_ms() + CHECK_MS};
    proc_raise_files(HOSTS_PLENTY_FDS);
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    feed->room =
        limit.rlim_cur > FDS_KEPT + TURN_FDS ? (size_t)limit.rlim_cur - FDS_KEPT : TURN_FDS;
    if (root_open(path, &feed->root, err) == -1)
        return -1;
    watch_root(feed);
    look_at_quota(feed);
    return read_index(feed, err);
}

void feed_close(struct top_feed *feed)
{
    fd_closep(&feed->notices);
    fd_closep(&feed->hosts);
    root_close(&feed->root);
    free(feed->problem);
}

/* ---- the hosts */

struct report {
    struct top_feed *feed;
    struct top_agent *agent;
};

static void refuse(struct top_feed *feed, struct top_agent *agent, const struct err *err)
{
    table_lose(feed->table, agent, LINK_REFUSED, err->text);
}

static bool on_frame(const struct frame *frame, const int64_t *asked, void *arg)
{
    const struct report *report = arg;
    struct top_agent *agent = report->agent;
    struct err err = ERR_INIT;
    struct agent_status status;

    (void)asked;
    if (json_get(frame->head, "event") != NULL)
        return false;
    if (hosts_reply_error(frame->head, &err) == -1 && err.code == MAS_CONFLICT && !agent->in_turns)
        agent->in_turns = true; /* too many clients watch it */
    else if (err.code != MAS_OK || agent_status_parse(frame->head, &status, &err) == -1)
        refuse(report->feed, agent, &err);
    else {
        table_tell(report->feed->table, agent, &status);
        return agent->in_turns;
    }
    return true;
}

/* The connection is over. */
static void end(struct top_feed *feed, struct top_agent *agent, enum host_answer answer,
                const struct err *err, int64_t now)
{
    bool was_told = agent->told;

    disconnect(feed, agent);
    agent->pause_ms = PAUSE_MIN_MS;
    if (answer == HOST_ANSWERED) {
        agent->next_ms = now + TURN_MS;
        if (!was_told)
            agent->next_ms = now + PAUSE_MIN_MS;
        return;
    }
    agent->next_ms = was_told ? now : now + PAUSE_MAX_MS; /* is its host gone? */
    if (!was_told)
        refuse(feed, agent, err);
}

static void turn_agent(struct top_feed *feed, struct top_agent *agent, short events, int64_t now)
{
    struct err err = ERR_INIT;
    struct report report = {.feed = feed, .agent = agent};
    enum host_answer answer = host_connection_turn(&agent->host, events, on_frame, &report, &err);

    if (answer != HOST_PENDING)
        end(feed, agent, answer, &err, now);
}

static void not_connected(struct top_feed *feed, struct top_agent *agent, enum host_answer answer,
                          const struct err *err, int64_t now)
{
    bool comes = now - agent->team->begun_ms < COMES_MS && !agent->told;

    agent->next_ms = now + agent->pause_ms;
    if (answer == HOST_LATE)
        return;
    agent->pause_ms = agent->pause_ms * 2 < PAUSE_MAX_MS ? agent->pause_ms * 2 : PAUSE_MAX_MS;
    if (answer == HOST_BROKEN)
        refuse(feed, agent, err);
    else if (!comes)
        table_lose(feed->table, agent, LINK_ABSENT, NULL);
}

static void connect_agent(struct top_feed *feed, struct top_agent *agent, int run, int64_t now)
{
    struct err err = ERR_INIT;

    if (feed->open >= feed->room) {
        agent->next_ms = now + PAUSE_MIN_MS;
        return;
    }
    if (feed->open + TURN_FDS >= feed->room)
        agent->in_turns = true;
    enum host_answer answer = host_connection_open(&agent->host, run, agent->id, &err);
    if (answer != HOST_PENDING) {
        not_connected(feed, agent, answer, &err, now);
        return;
    }
    feed->open++;
    if (!host_connection_ask(&agent->host, 0,
                             agent->in_turns ? "{\"do\":\"status\"}" : "{\"do\":\"watch\"}", NULL,
                             0) ||
        conn_unsent(&agent->host.conn) > 0 || /* a new one has room for it */
        !loop_many_add(feed->hosts, agent->host.conn.fd, agent))
        end(feed, agent, HOST_BROKEN, &err, now);
}

/* Returns true if the agent is to be connected now. */
static bool is_due(const struct top_agent *agent, int64_t now)
{
    return agent->team->runs && agent->host.conn.fd == -1 && agent->next_ms <= now;
}

static void connect_due(struct top_feed *feed, int64_t now)
{
    size_t left = AT_ONCE;

    for (size_t t = 0; t < feed->table->count && left > 0; t++) {
        struct top_team *team = feed->table->teams[t];
        int dir = -1, run = -1;
        for (size_t i = 0; i < team->count && left > 0; i++) {
            if (!is_due(&team->agents[i], now))
                continue;
            if (dir == -1) {
                dir = workspace_open(&feed->root, team->id);
                run = dir == -1 ? -1 : path_open_dir(dir, WORKSPACE_RUN);
            }
            connect_agent(feed, &team->agents[i], run, now);
            left--;
        }
        fd_closep(&run);
        fd_closep(&dir);
    }
}

int64_t feed_want(struct top_feed *feed, struct loop *loop)
{
    int64_t now = time_monotonic_ms();
    int64_t until = time_sooner(feed->check_ms, feed->index_ms);

    feed->in_turns = 0;
    feed->reads = now >= feed->rest_ms;
    if (!feed->reads)
        until = time_sooner(until, feed->rest_ms);
    loop_want(loop, feed->notices, POLLIN);
    if (feed->reads)
        loop_want(loop, feed->hosts, POLLIN);
    for (size_t t = 0; t < feed->table->count; t++) {
        struct top_team *team = feed->table->teams[t];
        for (size_t i = 0; i < team->count; i++) {
            struct top_agent *agent = &team->agents[i];
            feed->in_turns += agent->in_turns;
            if (agent->host.conn.fd == -1 && team->runs)
                until = time_sooner(until, agent->next_ms);
        }
    }
    return until;
}

static void read_hosts(struct top_feed *feed, int64_t now)
{
    struct loop_event got[REPORTS];
    size_t count = loop_many_got(feed->hosts, got, REPORTS);

    for (size_t i = 0; i < count; i++)
        turn_agent(feed, got[i].arg, got[i].events, now);
    if (count > 0)
        feed->rest_ms = now + REST_MS;
}

void feed_turn(struct top_feed *feed, struct loop *loop)
{
    int64_t now = time_monotonic_ms();
    struct err ignored = ERR_INIT;

    if (loop_got(loop, feed->hosts) != 0)
        read_hosts(feed, now);
    if (loop_got(loop, feed->notices) != 0)
        (void)watch_read(feed->notices, on_notice, feed);
    if (now >= feed->check_ms)
        check_root(feed);
    if (feed->index_ms != -1 && now >= feed->index_ms)
        (void)read_index(feed, &ignored); /* if it cannot be read, what is known stays */
    connect_due(feed, now);
}

size_t feed_pending(const struct top_feed *feed)
{
    size_t count = 0;

    for (size_t t = 0; t < feed->table->count; t++)
        for (size_t i = 0; i < feed->table->teams[t]->count; i++)
            count += feed->table->teams[t]->agents[i].link == LINK_COMES;
    return count;
}

#include "client/survey.h"

#include "base/path.h"
#include "base/time.h"
#include "store/placement.h"
#include "store/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SERVERS_AT_ONCE = 32 };

/* One tmux server and its answer. */
struct tmux_server {
    char *socket;
    struct tmux_session *sessions;
    size_t count;
    struct err failure; /* why it could not be asked; code MAS_OK: it answered */
    struct proc proc; /* the tmux client process, while `asking` */
    bool begun;
    bool asking;
};

/* Drops the sessions of other roots. */
static void keep_ours(const struct root *root, struct tmux_server *server)
{
    size_t kept = 0;
    for (size_t i = 0; i < server->count; i++) {
        if (workspace_is_ours(root, server->sessions[i].id, server->sessions[i].root)) {
            server->sessions[kept++] = server->sessions[i];
        } else {
            free(server->sessions[i].name);
            free(server->sessions[i].root);
        }
    }
    server->count = kept;
}

/* Starts to ask a server, once. A server that does not answer on its socket has no sessions. */
static void begin(struct tmux_server *server)
{
    pid_t pid;

    if (server->begun)
        return;
    server->begun = true;
    if (tmux_is_alive(server->socket, &pid, &server->failure) == 1)
        server->asking = tmux_list_start(server->socket, &server->proc, &server->failure) == 0;
}

static void collect(const struct root *root, struct tmux_server *server)
{
    if (!server->asking)
        return;
    server->asking = false; /* root NULL: only waits for the end of the process */
    if (tmux_list_finish(&server->proc, &server->sessions, &server->count, &server->failure) == 0 &&
        root != NULL)
        keep_ours(root, server);
}

/* Asks all servers, SERVERS_AT_ONCE at a time. */
static void ask_all(const struct root *root, struct tmux_server *servers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t j = i; j < count && j < i + SERVERS_AT_ONCE; j++)
            begin(&servers[j]);
        collect(root, &servers[i]);
    }
}

static void add_server(struct survey *survey, const char *socket)
{
    for (size_t i = 0; i < survey->server_count; i++)
        if (strcmp(survey->servers[i].socket, socket) == 0)
            return;
    survey->servers = mem_grow(survey->servers, survey->server_count + 1, sizeof *survey->servers);
    survey->servers[survey->server_count++] = (struct tmux_server){.socket = mem_dup(socket)};
}

/* A session whose server is unknown may have a server of its own. */
static void add_own_server(struct survey *survey, const char *tmux_name)
{
    char *socket = NULL;
    if (tmux_own_socket(tmux_name, &socket) && access(socket, F_OK) == 0)
        add_server(survey, socket);
    free(socket);
}

static void set_error(struct view *view, const char *reason)
{
    free(view->reason);
    view->reason = mem_dup(reason);
    view->status = STATUS_ERROR;
}

/* Reads the metadata of a view's session; its status replaces that of the row. */
static void check_workspace(const struct root *root, struct survey *survey, struct view *view)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    struct err err = ERR_INIT;
    struct stat st;
    _cleanup_close_ int dir = workspace_open(root, view->row.id);

    if (dir == -1) {
        (void)err_errno(&err, "its workspace cannot be opened");
        view->unreadable = err.number != ENOENT && err.number != ENOTDIR && err.number != ELOOP;
        set_error(view, err.number == ENOENT ? "its workspace is missing" : err.text);
        return;
    }
    if (fstatat(dir, WORKSPACE_SESSION, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        view->metadata = st.st_ino;
        view->written = st.st_ctim;
    }
    if (session_load(root, dir, view->row.id, &session, &err) == -1) {
        set_error(view, err.text);
        view->unreadable = err.code != MAS_DAMAGED;
        add_own_server(survey, view->row.tmux_name);
        return;
    }
    view->socket = mem_dup(session.tmux_socket);
    view->name = mem_dup(session.name);
    view->used = session_used(&session);
    view->outdated = view->row.status != session.status || view->row.mode != session.mode ||
                     strcmp(view->row.name, session.name) != 0 ||
                     strcmp(view->row.tmux_name, session.tmux_name) != 0;
    view->row.status = session.status;
    view->row.mode = session.mode;
    view->row.private = session.private;
    view->migrating = session.migrating != MIGRATING_NO;
    view->status = session.status;
    if (survey->asks_hosts && session.status == STATUS_ACTIVE)
        agent_counts_ask(&survey->counting, dir, (size_t)(view - survey->views));
    if (session.status == STATUS_ERROR)
        set_error(view, session.error[0] != '\0' ? session.error : "marked as broken");
    add_server(survey, session.tmux_socket);
}

/* Returns true while a command works on the session, whose tmux session may be starting. */
static bool is_busy(const struct root *root, const char *id)
{
    _cleanup_close_ int dir = workspace_open(root, id);
    return dir != -1 && workspace_is_locked(dir);
}

/* Returns why a server could not be asked, or NULL. If `socket` is NULL, any server counts. */
static const struct err *failure_of(const struct survey *survey, const char *socket)
{
    for (size_t i = 0; i < survey->server_count; i++)
        if (survey->servers[i].failure.code != MAS_OK &&
            (socket == NULL || strcmp(socket, survey->servers[i].socket) == 0))
            return &survey->servers[i].failure;
    return NULL;
}

static void compute(const struct root *root, struct survey *survey, struct view *view)
{
    const struct err *failure = view->live == NULL ? failure_of(survey, view->socket) : NULL;

    view->unknown = failure != NULL;
    view->failure = failure;
    if (view->live != NULL && view->row.missing)
        set_error(view, "its workspace is missing, and its tmux session runs");
    if (view->status == STATUS_ERROR)
        return;
    view->status = view->live != NULL ? STATUS_ACTIVE : STATUS_STOPPED;
    if (failure != NULL && view->socket != NULL)
        set_error(view, failure->text);
    else if (view->live == NULL)
        view->crashed = view->row.status == STATUS_ACTIVE && !is_busy(root, view->row.id);
}

/* Oldest first; of those created in the same second, in the order of the index. */
static int compare_views(const void *a, const void *b)
{
    const struct view *x = a;
    const struct view *y = b;
    int order = strcmp(x->row.created, y->row.created);
    return order != 0 ? order : (x->place > y->place) - (x->place < y->place);
}

/* The rows are nearly always in this order already. */
static void sort_views(struct survey *survey)
{
    size_t i = 1;
    while (i < survey->count && compare_views(&survey->views[i - 1], &survey->views[i]) <= 0)
        i++;
    if (i < survey->count)
        qsort(survey->views, survey->count, sizeof *survey->views, compare_views);
}

static struct view *add_view(struct survey *survey, const struct row *row)
{
    struct view *view = &survey->views[survey->count];
    *view = (struct view){.row = *row, .status = row->status, .place = survey->count++};
    if (row->missing) {
        set_error(view, "its workspace is missing");
        add_own_server(survey, row->tmux_name);
    }
    return view;
}

/* Adds a tmux session of this root without a row: the row is not written yet or is lost, or the
 * workspace is gone. */
static void add_unknown(const struct root *root, struct survey *survey,
                        const struct tmux_session *live, const char *socket)
{
    struct row row = {.id = live->id,
                      .tmux_name = live->name,
                      .created = "1970-01-01T00:00:00Z",
                      .activity = "1970-01-01T00:00:00Z",
                      .name = "",
                      .template = "",
                      .stamp = "",
                      .status = STATUS_ERROR,
                      .missing = true};
    if (index_add_unlisted(root, &survey->index, live->id))
        row = survey->index.rows[survey->index.count - 1];
    struct view *view = add_view(survey, &row);
    if (!row.missing)
        check_workspace(root, survey, view);
    view->live = live;
    view->live_socket = socket;
}

/* A tmux session and its server, in a table sorted by id. */
struct found {
    const struct tmux_session *session;
    const char *socket;
    bool matched;
};

static int compare_found(const void *a, const void *b)
{
    const struct found *x = a;
    const struct found *y = b;
    return strcmp(x->session->id, y->session->id);
}

static int compare_id(const void *id, const void *found)
{
    return strcmp(id, ((const struct found *)found)->session->id);
}

/* Assigns a view the tmux session on the server that its metadata names. */
static void match_view(const struct root *root, struct survey *survey, unsigned depth,
                       struct view *view, struct found *table, size_t live)
{
    struct found *at = bsearch(view->row.id, table, live, sizeof *table, compare_id);
    if (at == NULL)
        return;
    if (view->socket == NULL && (depth & SURVEY_ALL) == 0 && !view->row.missing)
        check_workspace(root, survey, view);
    while (at > table && strcmp(at[-1].session->id, view->row.id) == 0)
        at--;
    for (; at < table + live && strcmp(at->session->id, view->row.id) == 0; at++) {
        at->matched = true;
        if (view->socket != NULL && strcmp(view->socket, at->socket) != 0)
            continue; /* a copy on another server */
        view->live = at->session;
        view->live_socket = at->socket;
    }
}

static void match_live(const struct root *root, struct survey *survey, unsigned depth)
{
    size_t rows = survey->count;
    size_t live = 0;
    size_t n = 0;

    for (size_t i = 0; i < survey->server_count; i++)
        live += survey->servers[i].count;
    if (live == 0)
        return;
    struct found *table = mem_alloc(live * sizeof *table);
    for (size_t i = 0; i < survey->server_count; i++)
        for (size_t j = 0; j < survey->servers[i].count; j++)
            table[n++] = (struct found){.session = &survey->servers[i].sessions[j],
                                        .socket = survey->servers[i].socket};
    qsort(table, live, sizeof *table, compare_found);
    survey->views = mem_grow(survey->views, rows + live, sizeof *survey->views);
    for (size_t i = 0; i < rows; i++)
        match_view(root, survey, depth, &survey->views[i], table, live);
    for (size_t i = 0; i < live; i++)
        if (!table[i].matched)
            add_unknown(root, survey, table[i].session, table[i].socket);
    free(table);
}

/* Collects the hosts' answers, at most HOSTS_ANSWER_MS. */
static void collect_counts(struct survey *survey)
{
    struct agent_counts *totals = mem_alloc((survey->count + 1) * sizeof *totals);

    agent_counts_finish(&survey->counting, HOSTS_ANSWER_MS, totals);
    survey->asks_hosts = false;
    for (size_t i = 0; i < survey->count; i++)
        survey->views[i].counts = totals[i];
    free(totals);
}

int survey_take(const struct root *root, const struct config *config, unsigned depth,
                struct survey *ret, struct err *err)
{
    _cleanup_survey_ struct survey survey = SURVEY_INIT;
    _cleanup_free_ char *socket = NULL;

    if (tmux_shared_socket(config, &socket, err) == -1)
        return -1;
    add_server(&survey, socket);
    survey.asks_hosts = (depth & SURVEY_HOSTS) != 0;
    begin(&survey.servers[0]); /* tmux works while mas reads the index */
    if (index_read(root, (depth & SURVEY_ALL) != 0, &survey.index, err) == -1)
        return -1;
    survey.views = mem_alloc((survey.index.count + 1) * sizeof *survey.views);
    for (size_t i = 0; i < survey.index.count; i++) {
        const struct row *row = &survey.index.rows[i];
        struct view *view = add_view(&survey, row);
        /* the index does not tell whether the move of shared directories was interrupted */
        bool is_sure = row->status == STATUS_STOPPED && !placement_is_shared(row->mode);
        if (!row->missing &&
            ((depth & SURVEY_ALL) != 0 || !is_sure || !index_is_current(root, row)))
            check_workspace(root, &survey, view);
    }
    ask_all(root, survey.servers, survey.server_count);
    match_live(root, &survey, depth);
    collect_counts(&survey);
    for (size_t i = 0; i < survey.count; i++)
        compute(root, &survey, &survey.views[i]);
    sort_views(&survey);
    *ret = survey;
    survey = (struct survey)SURVEY_INIT;
    return 0;
}

/* Assigns a view that was checked late the tmux session on its own server. */
static void find_live(const struct survey *survey, struct view *view)
{
    for (size_t i = 0; i < survey->server_count && view->socket != NULL; i++) {
        const struct tmux_server *server = &survey->servers[i];
        for (size_t j = 0; strcmp(server->socket, view->socket) == 0 && j < server->count; j++)
            if (strcmp(server->sessions[j].id, view->row.id) == 0) {
                view->live = &server->sessions[j];
                view->live_socket = server->socket;
            }
    }
}

const struct view *survey_look(const struct root *root, struct survey *survey, const char *id)
{
    for (size_t i = 0; i < survey->count; i++) {
        struct view *view = &survey->views[i];
        if (strcmp(view->row.id, id) != 0)
            continue;
        if (view->socket == NULL && view->reason == NULL) {
            check_workspace(root, survey, view);
            ask_all(root, survey->servers, survey->server_count); /* the servers not asked yet */
            find_live(survey, view);
            compute(root, survey, view);
        }
        return view;
    }
    return NULL;
}

void survey_free(struct survey *survey)
{
    agent_counts_finish(&survey->counting, 0, NULL); /* if survey_take() failed half-way */
    for (size_t i = 0; i < survey->count; i++) {
        free(survey->views[i].reason);
        free(survey->views[i].socket);
        free(survey->views[i].name);
    }
    for (size_t i = 0; i < survey->server_count; i++) {
        collect(NULL, &survey->servers[i]);
        tmux_sessions_free(survey->servers[i].sessions, survey->servers[i].count);
        free(survey->servers[i].socket);
    }
    free(survey->servers);
    free(survey->views);
    index_free(&survey->index);
    *survey = (struct survey)SURVEY_INIT;
}

const char *view_name(const struct view *view)
{
    return view->name != NULL ? view->name : view->row.name;
}

time_t view_activity(const struct view *view)
{
    time_t t = 0;
    (void)time_parse(view->row.activity, &t);
    return view->live != NULL && view->live->activity > t ? view->live->activity : t;
}

size_t view_running(const struct view *view)
{
    const struct agent_counts *counts = &view->counts;
    size_t panes = view->live != NULL ? view->live->running : 0;
    return agent_counts_live(counts) + (panes > counts->told ? panes - counts->told : 0);
}

size_t view_ended(const struct view *view)
{
    return agent_counts_ended(&view->counts) + (view->live != NULL ? view->live->ended : 0);
}

/* Writes nothing for a session whose agents have no work trees, or were not looked at. */
static void put_code(const struct code_counts *code, struct json_out *out)
{
    char looked[TIME_TEXT];

    if (code->agents == 0)
        return;
    time_format((time_t)(code->looked_ms / 1000), looked);
    json_open(out, "code", '{');
    json_put_int(out, "agents", (int64_t)code->agents);
    json_put_int(out, "ahead", code->ahead);
    json_put_int(out, "behind", code->behind);
    json_put_int(out, "changed", code->changed);
    json_put(out, "looked", looked);
    json_close(out, '}');
}

void view_put_json(const struct root *root, const struct view *view, struct json_out *out)
{
    _cleanup_free_ char *dir = workspace_path(root, view->row.id, NULL);
    char activity[TIME_TEXT];

    time_format(view_activity(view), activity);
    json_put(out, "sessionId", view->row.id);
    json_put(out, "tmuxSession", view->live != NULL ? view->live->name : view->row.tmux_name);
    json_put(out, "status", status_name(view->status));
    json_put(out, "createdAt", view->row.created);
    json_put(out, "lastActivity", activity);
    json_put(out, "workingDir", dir);
    json_put(out, "mode", mode_name(view->row.mode));
    json_put(out, "name", view_name(view));
    json_put(out, "template", view->row.template);
    json_put_bool(out, "private", view->row.private);
    json_put_bool(out, "crashed", view->crashed);
    if (view->migrating)
        json_put_bool(out, "migrating", true);
    json_put_int(out, "agentsRunning", (int64_t)view_running(view));
    json_put_int(out, "agentsEnded", (int64_t)view_ended(view));
    json_open(out, "agentStates", '{');
    for (size_t i = 0; i < AGENT_STATE_COUNT; i++)
        if (view->counts.states[i] > 0)
            json_put_int(out, agent_state_name((enum agent_state)i),
                         (int64_t)view->counts.states[i]);
    json_close(out, '}');
    put_code(&view->counts.code, out);
    json_put_int(out, "attached", view->live != NULL ? view->live->attached : 0);
    if (view->reason != NULL)
        json_put(out, "reason", view->reason);
}

int survey_find_live(const struct root *root, const char *socket, const char *id,
                     struct tmux_session **ret_live, struct err *err)
{
    struct tmux_server server = {.socket = mem_dup(socket)};
    struct tmux_session *found = NULL;

    ask_all(root, &server, 1);
    free(server.socket);
    if (server.failure.code != MAS_OK) {
        *err = server.failure;
        err->code = MAS_TMUX;
        return -1;
    }
    size_t i = 0;
    while (i < server.count && strcmp(server.sessions[i].id, id) != 0)
        i++;
    if (i < server.count) {
        found = mem_alloc(sizeof *found);
        *found = server.sessions[i];
        server.sessions[i].name = NULL; /* moved */
        server.sessions[i].root = NULL;
    }
    tmux_sessions_free(server.sessions, server.count);
    *ret_live = found;
    return 0;
}

int survey_find_anywhere(const struct root *root, const struct config *config, const char *id,
                         char **ret_socket, struct tmux_session **ret_live, struct err *err)
{
    struct tmux_session *live = NULL;
    char *socket = NULL;

    if (tmux_shared_socket(config, &socket, err) == -1)
        return -1;
    int rc = survey_find_live(root, socket, id, &live, err);
    for (size_t i = 0; rc == 0 && live == NULL && i < NAME_LENGTHS; i++) {
        _cleanup_free_ char *name = session_tmux_name(id, session_name_digits[i]);
        free(socket);
        socket = NULL;
        if (tmux_own_socket(name, &socket))
            rc = survey_find_live(root, socket, id, &live, err);
    }
    if (rc == 0)
        *ret_live = live;
    if (rc == 0 && live != NULL)
        *ret_socket = socket;
    else
        free(socket);
    return rc;
}

/*
 * survey_take(): the shared server is asked first and works while the index is read. For each row
 * that is not sure, the workspace's metadata take its place, and tell which servers to ask and,
 * with asks_hosts, which hosts. Where hosts vouch for a server of their own it is spared. Then
 * tmux's sessions are matched with the views by id and socket, and compute() makes a status of all
 * that has been found.
 */

#include "client/survey.h"

#include "base/time.h"
#include "client/lost_server.h"
#include "os/machine.h"
#include "os/path.h"
#include "store/lease_clock.h"
#include "store/placement.h"
#include "store/workspace.h"

static void set_error(struct view *view, const char *reason)
{
    free(view->reason);
    view->reason = mem_dup(reason);
    view->status = STATUS_ERROR;
}

/* Notes which machine has the session. */
static int set_owner(struct survey *survey, const struct session *session, struct view *view,
                     struct err *err)
{
    bool here = true;

    if (owner_has(&survey->self, session, &here, err) == -1)
        return -1;
    view->elsewhere = !here;
    if (session->machine[0] != '\0')
        view->machine = mem_dup(machine_host(session->machine));
    view->lease_lost =
        !view->elsewhere && session->status == STATUS_ACTIVE && lease_clock_is_lost(session->lease);
    view->lost_after = session->lost_after;
    if (session->moved_to[0] != '\0')
        view->moved_to = mem_dup(session->moved_to);
    return 0;
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
        servers_add_own(&survey->servers, view->row.tmux_name);
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
    if (set_owner(survey, &session, view, &err) == -1) {
        set_error(view, err.text);
        view->unreadable = true;
    }
    bool own = survey->asks_own && strcmp(session.tmux_socket, survey->servers.list[0].socket) != 0;
    if ((survey->asks_hosts || own) && session.status == STATUS_ACTIVE && !view->elsewhere)
        agent_counts_ask(&survey->counting, dir, (size_t)(view - survey->views));
    survey->asked_own = survey->asked_own || own;
    if (session.status == STATUS_ERROR)
        set_error(view, session.error[0] != '\0' ? session.error : "marked as broken");
    if (!view->elsewhere)
        servers_add(&survey->servers, session.tmux_socket);
}

/* Returns the name of this machine, or NULL if it cannot be read. */
static const char *own_machine(struct survey *survey)
{
    if (survey->self.machine == NULL) {
        struct err ignored = ERR_INIT; /* whoever reads a session tells it */
        const char *self = NULL;
        (void)owner_machine(&survey->self, &self, &ignored);
    }
    return survey->self.machine;
}

/* Returns true unless the index shows that this machine has the session, or does not tell. */
static bool may_be_elsewhere(struct survey *survey, const struct row *row)
{
    const char *machine = index_machine(row);

    if (machine[0] == '\0')
        return false;
    const char *self = own_machine(survey);
    return self == NULL || strcmp(machine, self) != 0;
}

/* Finds out whether a session that should run has crashed, and when its agents last did something:
 * its metadata says when it was started. While a command works on it, its tmux session may be
 * starting. */
static void check_crash(const struct root *root, struct view *view)
{
    _cleanup_close_ int dir = workspace_open(root, view->row.id);

    view->crashed = dir == -1 || !workspace_is_locked(dir);
    time_t written = view->crashed && dir != -1 ? workspace_activity(dir) : 0;
    if (written > view->used)
        view->used = written;
}

/* Notes if the server of a session that seems to have crashed runs without its socket. */
static void look_for_server(const struct root *root, struct survey *survey, const struct view *view)
{
    struct tmux_server *server =
        view->socket != NULL ? servers_find(&survey->servers, view->socket) : NULL;

    if (server == NULL || server->count > 0 || server->failure.code != MAS_OK ||
        view->live != NULL || view->elsewhere || view->row.status != STATUS_ACTIVE ||
        !tmux_socket_is_gone(view->socket))
        return;
    _cleanup_close_ int dir = workspace_open(root, view->row.id);
    server->lost = dir != -1 ? lost_server_find(dir, view->socket) : 0;
    if (server->lost == 0)
        return;
    (void)err_set(&server->failure, MAS_TMUX,
                  "the tmux server on '%s', process %ld, runs, but the file of its socket is gone",
                  view->socket, (long)server->lost);
    (void)err_hint(&server->failure, "make it again with: mas doctor --fix");
}

static void compute(const struct root *root, struct survey *survey, struct view *view)
{
    if (view->elsewhere) {
        view->live = NULL; /* what is left of it here has ended or will */
        return;
    }
    const struct err *failure =
        view->live == NULL ? servers_failure(&survey->servers, view->socket) : NULL;

    view->unknown = failure != NULL;
    view->failure = failure;
    view->lost = failure != NULL && view->socket != NULL &&
                 servers_find(&survey->servers, view->socket)->lost != 0;
    if (view->live != NULL && view->row.missing)
        set_error(view, "its workspace is missing, and its tmux session runs");
    if (view->status == STATUS_ERROR)
        return;
    view->status = view->live != NULL ? STATUS_ACTIVE : STATUS_STOPPED;
    if (failure != NULL && view->socket != NULL)
        set_error(view, failure->text);
    else if (view->live == NULL && view->row.status == STATUS_ACTIVE)
        check_crash(root, view);
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
        servers_add_own(&survey->servers, row->tmux_name);
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
    size_t live = servers_live(&survey->servers);
    size_t n = 0;

    if (live == 0)
        return;
    struct found *table = mem_alloc(live * sizeof *table);
    for (size_t i = 0; i < survey->servers.count; i++) {
        const struct tmux_server *server = &survey->servers.list[i];
        for (size_t j = 0; j < server->count; j++)
            table[n++] = (struct found){.session = &server->sessions[j], .socket = server->socket};
    }
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
    for (size_t i = 0; i < survey->count; i++)
        if (totals[i].told > 0)
            view_set_counts(&survey->views[i], &totals[i]);
    free(totals);
}

/* Looks up what mas saw last of the code of sessions that do not run. */
static void add_looked(const struct root *root, struct survey *survey)
{
    for (size_t i = 0; i < survey->count; i++) {
        struct view *view = &survey->views[i];
        struct agent_counts counts = {.told = 0};
        bool is_trusted = view->socket == NULL; /* its row is all that was read of it */
        if (view->live != NULL || view->elsewhere || view->row.missing ||
            view_counts(view)->told > 0 || (is_trusted && index_has_no_code(&view->row)))
            continue;
        _cleanup_close_ int dir = workspace_open(root, view->row.id);
        if (dir != -1)
            agent_counts_add_looked(&counts, dir);
        if (counts.code.agents > 0)
            view_set_counts(view, &counts);
    }
}

/* Makes the answer of a server out of what the hosts of its session have told. */
static void answer_for(const struct root *root, struct tmux_server *server, const struct view *view)
{
    const struct agent_pane *pane = &view_counts(view)->pane;
    struct tmux_session *session = mem_alloc(sizeof *session);

    *session = (struct tmux_session){.name = mem_dup(view->row.tmux_name),
                                     .root = mem_dup(root->path),
                                     .running = view_counts(view)->told,
                                     .activity = (time_t)(pane->activity_ms / 1000)};
    memcpy(session->id, view->row.id, ID_TEXT);
    memcpy(session->target, pane->session, sizeof session->target);
    server->sessions = session;
    server->count = 1;
    server->begun = true;
}

/* Finds the servers of single sessions that need not be asked. */
static void spare_servers(const struct root *root, struct survey *survey)
{
    struct vouch *list = mem_alloc((survey->count + 1) * sizeof *list);
    const struct view **views = mem_alloc((survey->count + 1) * sizeof *views);
    size_t count = 0;

    for (size_t i = 0; i < survey->count; i++) {
        const struct view *view = &survey->views[i];
        const struct tmux_server *server = view->socket != NULL && view_counts(view)->told > 0
                                               ? servers_find(&survey->servers, view->socket)
                                               : NULL;
        if (server == NULL || server->begun || server->users != 1)
            continue;
        views[count] = view;
        list[count++] = (struct vouch){.socket = server->socket, .counts = view_counts(view)};
    }
    vouch_check(list, count);
    for (size_t i = 0; i < count; i++)
        if (list[i].good) {
            answer_for(root, servers_find(&survey->servers, list[i].socket), views[i]);
            survey->spared = true;
        }
    for (size_t i = 0; i < survey->count && !survey->asks_hosts; i++)
        view_set_counts(&survey->views[i], NULL);
    free(list);
    free(views);
}

int survey_take(const struct root *root, const struct config *config, unsigned depth,
                struct survey *ret, struct err *err)
{
    _cleanup_survey_ struct survey survey = SURVEY_INIT;
    _cleanup_free_ char *socket = NULL;

    if (tmux_shared_socket(config, &socket, err) == -1)
        return -1;
    servers_add(&survey.servers, socket);
    survey.asks_hosts = (depth & SURVEY_HOSTS) != 0;
    survey.asks_own = survey.asks_hosts || (depth & SURVEY_ALL) == 0;
    servers_begin(survey.servers.list); /* tmux works while mas reads the index */
    int rc = (depth & SURVEY_RUNNING) != 0
                 ? index_read_running(root, &survey.index, err)
                 : index_read(root, (depth & SURVEY_ALL) != 0, &survey.index, err);
    if (rc == -1)
        return -1;
    survey.views = mem_alloc((survey.index.count + 1) * sizeof *survey.views);
    for (size_t i = 0; i < survey.index.count; i++) {
        const struct row *row = &survey.index.rows[i];
        struct view *view = add_view(&survey, row);
        /* the index does not tell whether the move of shared directories was interrupted */
        bool is_sure = row->status == STATUS_STOPPED && !placement_is_shared(row->mode);
        if (!row->missing && ((depth & SURVEY_ALL) != 0 || !is_sure ||
                              !index_is_current(root, row) || may_be_elsewhere(&survey, row)))
            check_workspace(root, &survey, view);
    }
    if (survey.asked_own) {
        collect_counts(&survey);
        spare_servers(root, &survey);
    }
    survey.asks_own = false;
    servers_ask(root, &survey.servers);
    match_live(root, &survey, depth);
    collect_counts(&survey);
    if (survey.asks_hosts && (depth & SURVEY_RUNNING) == 0)
        add_looked(root, &survey);
    survey.asks_hosts = false;
    for (size_t i = 0; i < survey.count; i++)
        look_for_server(root, &survey, &survey.views[i]);
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
    for (size_t i = 0; i < survey->servers.count && view->socket != NULL; i++) {
        const struct tmux_server *server = &survey->servers.list[i];
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
            servers_ask(root, &survey->servers); /* the servers not asked yet */
            find_live(survey, view);
            look_for_server(root, survey, view);
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
        free(survey->views[i].counts);
        free(survey->views[i].reason);
        free(survey->views[i].socket);
        free(survey->views[i].name);
        free(survey->views[i].machine);
        free(survey->views[i].moved_to);
    }
    servers_free(&survey->servers);
    free(survey->views);
    owner_free(&survey->self);
    index_free(&survey->index);
    *survey = (struct survey)SURVEY_INIT;
}

/* Finds the tmux session of `id` and, unless `of` is NULL, panes. */
static int ask_server(const struct root *root, const char *socket, const char *id,
                      struct tmux_panes_of *of, struct tmux_session **ret_live, struct err *err)
{
    _cleanup_servers_ struct servers servers = {.list = NULL};
    struct tmux_session *found = NULL;

    servers_add(&servers, socket);
    struct tmux_server *server = servers.list;
    server->panes_of = of;
    servers_ask(root, &servers);
    if (server->failure.code != MAS_OK) {
        *err = server->failure;
        err->code = MAS_TMUX;
        return -1;
    }
    size_t i = 0;
    while (i < server->count && strcmp(server->sessions[i].id, id) != 0)
        i++;
    if (i < server->count) {
        found = mem_alloc(sizeof *found);
        *found = server->sessions[i];
        server->sessions[i].name = NULL; /* moved */
        server->sessions[i].root = NULL;
    }
    *ret_live = found;
    return 0;
}

int survey_find_live(const struct root *root, const char *socket, const char *id,
                     struct tmux_session **ret_live, struct err *err)
{
    return ask_server(root, socket, id, NULL, ret_live, err);
}

int survey_find_team(const struct root *root, const char *socket, const char *id,
                     struct tmux_session **ret_live, struct tmux_pane **ret_panes,
                     size_t *ret_count, struct err *err)
{
    struct tmux_panes_of of = {.id = id};
    size_t count = 0;

    if (ask_server(root, socket, id, &of, ret_live, err) == -1)
        return -1;
    for (size_t i = 0; i < of.count; i++) /* not those of a copy, whose root is another one */
        if (*ret_live != NULL && strcmp(of.panes[i].session, (*ret_live)->target) == 0)
            of.panes[count++] = of.panes[i];
    *ret_panes = of.panes;
    *ret_count = count;
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

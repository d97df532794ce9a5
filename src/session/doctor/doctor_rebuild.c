/* The part of session/doctor/doctor.h that rebuilds metadata and keeps its valid lines. */
#include "base/kv.h"
#include "base/number.h"
#include "base/time.h"
#include "os/file.h"
#include "os/machine.h"
#include "os/path.h"
#include "session/doctor/doctor_internal.h"
#include "store/owner.h"
#include "store/team_file.h"
#include "store/workspace.h"

int doctor_put_aside(int dir, const char *name, struct err *err)
{
    enum { TRIES_MAX = 1000 }; /* names within one second */
    long now = (long)time(NULL);

    for (int i = 0; i < TRIES_MAX; i++) {
        _cleanup_free_ char *aside = i == 0 ? mem_printf("%s.broken-%ld", name, now)
                                            : mem_printf("%s.broken-%ld.%d", name, now, i);
        if (path_rename_new(dir, name, dir, aside) == 0 || errno == ENOENT)
            return 0;
        if (errno != EEXIST)
            break;
    }
    return err_errno(err, "cannot rename '%s'", name);
}

/* Reads the valid lines; none if the file is about another session. *ret_text is the file. */
static void salvage(int dir, const char *id, char **ret_text, struct kv *ret)
{
    struct err ignored = ERR_INIT;
    size_t len = 0;

    if (file_read(dir, WORKSPACE_SESSION, KV_FILE_MAX, ret_text, &len, &ignored) == -1)
        return;
    kv_salvage(*ret_text, len, ret);
    const char *own = kv_get(ret, "SESSION_ID");
    if (own != NULL && strcmp(own, id) != 0)
        kv_free(ret);
}

static bool know_bool(const struct kv *kv, const char *key, bool *ret)
{
    const char *value = kv_get(kv, key);

    *ret = value == NULL || strcmp(value, "no") != 0; /* the safe choice */
    return value != NULL && (strcmp(value, "yes") == 0 || strcmp(value, "no") == 0);
}

/* Determines whether its agents were handed their first messages. The key exists only if they were,
 * between PRIVATE and SESSION_DIR: if these two are adjacent, it never existed. */
static bool know_prompted(const struct kv *kv, const char *text, bool *ret)
{
    const char *private = text != NULL && kv->count > 0 ? strstr(text, "\nPRIVATE=") : NULL;
    const char *next = private != NULL ? strchr(private + 1, '\n') : NULL;

    *ret = next == NULL || !str_starts(next, "\nSESSION_DIR=");
    return !*ret || kv_get(kv, "PROMPTED") != NULL;
}

/* Takes the name from the metadata, otherwise from the index. Returns false if neither knows it. */
static bool know_name(const struct kv *kv, const struct view *view, char **name)
{
    const char *said = kv_get(kv, "NAME");

    if (said != NULL && strcmp(said, *name) == 0)
        return true;
    if (view->row.name[0] == '\0' || session_check_name(view->row.name) != NULL)
        return false;
    free(*name);
    *name = mem_dup(view->row.name);
    return true;
}

static void add_assumed(struct str *what, bool known, const char *assumed)
{
    if (!known)
        str_addf(what, "; %s", assumed);
}

/* Fills a session with the known values; adds those that it had to assume to *what. */
static void reconstruct(int dir, const struct view *view, struct session *session, struct str *what)
{
    _cleanup_free_ char *text = NULL;
    _cleanup_kv_ struct kv kv = {.count = 0};
    const char *id = view->row.id;

    salvage(dir, id, &text, &kv);
    session->mode = view->row.mode;
    (void)time_parse(view->row.created, &session->created);
    session->activity = time(NULL);
    session->stopped = session->activity;
    session_salvage(&kv, session);
    memcpy(session->id, id, ID_TEXT);
    free(session->tmux_name);
    session->tmux_name =
        view->live != NULL ? mem_dup(view->live->name) : session_tmux_name(session->id, 8);
    char *template = team_file_template(dir);
    if (template != NULL) {
        free(session->template);
        session->template = template;
    }
    session->error[0] = '\0';
    session->migrating = MIGRATING_NO;
    if (session->store[0] == '\0' || session->lease[0] == '\0')
        session->store[0] = session->lease[0] = '\0';
    session->status = view->live != NULL ? STATUS_ACTIVE : STATUS_STOPPED;
    if (view->live != NULL)
        session->stopped = 0;
    add_assumed(what, know_name(&kv, view, &session->name), "its name is unknown, so it has none");
    _cleanup_free_ char *private = mem_printf("whether it was private is unknown, so it is private "
                                              "now; to change that: mas set %s private=no",
                                              id);
    add_assumed(what, know_bool(&kv, "PRIVATE", &session->private), private);
    add_assumed(
        what, know_prompted(&kv, text, &session->prompted),
        "whether its first messages were delivered is unknown, so mas does not send them again");
    for (size_t i = 0; i < kv.count; i++)
        if (str_starts(kv.pairs[i].key, "X_"))
            kv_put(&session->extra, kv.pairs[i].key, kv.pairs[i].value);
}

int doctor_rebuild_session(const struct doctor *doctor, int dir, const struct view *view,
                           struct str *what, struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_owner_ struct owner self = OWNER_INIT;
    bool has = true;

    reconstruct(dir, view, &session, what);
    if (owner_has(&self, &session, &has, err) == -1)
        return -1;
    if (!has) {
        str_addf(what, "; it belongs to %s", machine_host(session.machine));
        return err_set(err, MAS_CONFLICT, "only %s may write it", machine_host(session.machine));
    }
    if (!doctor->fix)
        return 0;
    free(session.tmux_socket);
    session.tmux_socket = NULL;
    if (view->live_socket != NULL)
        session.tmux_socket = mem_dup(view->live_socket);
    else if (tmux_socket(doctor->config, session.tmux_name, &session.tmux_socket, err) == -1)
        return -1;
    if (doctor_put_aside(dir, WORKSPACE_SESSION, err) == -1)
        return -1;
    return session_save(doctor->root, dir, &session, err);
}

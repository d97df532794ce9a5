/*
 * Every check reads .session anew. owner_lock() makes it twice: before the lock, which a command of
 * the other machine may hold, so that the reason is the machine and not the lock; and once it has
 * the lock, because the session may have got another owner meanwhile. owner_check_reader() knows no
 * root, and so reads just the two keys itself.
 */

#include "store/owner.h"

#include "base/kv.h"
#include "os/file.h"
#include "os/machine.h"
#include "os/path.h"
#include "store/workspace.h"

void owner_free(struct owner *owner)
{
    free(owner->machine);
    free(owner->boot);
    *owner = (struct owner)OWNER_INIT;
}

static int fail_unknown(struct err *err)
{
    return err_wrap(err, "cannot tell which machine this is");
}

int owner_machine(struct owner *self, const char **ret, struct err *err)
{
    if (self->machine == NULL && machine_identity(&self->machine, err) == -1)
        return fail_unknown(err);
    *ret = self->machine;
    return 0;
}

static int load_boot(struct owner *self, struct err *err)
{
    return self->boot == NULL && machine_boot(&self->boot, err) == -1 ? fail_unknown(err) : 0;
}

/* Returns true if both have the same machine-id. A machine without one is no other's namesake. */
static bool same_machine_id(const char *a, const char *b)
{
    size_t len = strcspn(a, " ");
    return len > 0 && len == strcspn(b, " ") && memcmp(a, b, len) == 0;
}

int owner_has(struct owner *self, const struct session *session, bool *ret, struct err *err)
{
    const char *machine = NULL;

    if (session->machine == NULL || session->machine[0] == '\0') {
        *ret = true;
        return 0;
    }
    if (owner_machine(self, &machine, err) == -1)
        return -1;
    bool has = strcmp(session->machine, machine) == 0;
    if (!has && same_machine_id(session->machine, machine)) {
        if (load_boot(self, err) == -1)
            return -1;
        has = self->boot[0] != '\0' && strcmp(session->boot, self->boot) == 0;
    }
    *ret = has;
    return 0;
}

int owner_take(struct session *session, bool anew, struct err *err)
{
    _cleanup_owner_ struct owner self = OWNER_INIT;
    const char *machine = NULL;
    bool has = false;

    if (owner_machine(&self, &machine, err) == -1 || load_boot(&self, err) == -1 ||
        owner_has(&self, session, &has, err) == -1)
        return -1;
    if (session->epoch == 0)
        session->epoch = 1;
    else if ((anew || !has) && session->epoch < EPOCH_MAX)
        session->epoch++;
    free(session->machine);
    free(session->boot);
    session->machine = TAKE_PTR(self.machine);
    session->boot = TAKE_PTR(self.boot);
    return 0;
}

/* Sets the error for a session that another machine has. */
static int refuse(const struct root *root, const struct owner *self, const struct session *session,
                  const char *what, struct err *err)
{
    const struct session_label label = session_label(root, session->id);
    const char *host = machine_host(session->machine);
    bool namesake = same_machine_id(session->machine, self->machine);

    (void)err_set(err, MAS_CONFLICT, "cannot %s session '%s': it %s %s",
                  strcmp(what, "rm") == 0 ? "remove" : what, label.text,
                  session->status == STATUS_ACTIVE ? "runs on" : "belongs to", host);
    return namesake
               ? err_hint(err,
                          "do it on %s; if this machine was called %s before, take the session "
                          "over with: mas start --takeover --fenced %s",
                          host, host, label.text)
               : err_hint(err,
                          "do it on %s; if %s is gone, take the session over with: mas start "
                          "--takeover %s",
                          host, host, label.text);
}

int owner_check(const struct root *root, int dir, const char *id, const char *what, struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_owner_ struct owner self = OWNER_INIT;
    struct err why = ERR_INIT;
    bool has = true;

    if (session_load(root, dir, id, &session, &why) == -1) {
        if (why.code == MAS_DAMAGED)
            return 0;
        *err = why;
        return -1;
    }
    if (owner_has(&self, &session, &has, err) == -1)
        return -1;
    return has ? 0 : refuse(root, &self, &session, what, err);
}

int owner_check_reader(int dir, struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_owner_ struct owner self = OWNER_INIT;
    _cleanup_free_ char *text = NULL;
    struct err why = ERR_INIT;
    _cleanup_kv_ struct kv kv = {.count = 0};
    size_t len = 0;
    bool has = true;

    if (file_read(dir, WORKSPACE_SESSION, KV_FILE_MAX, &text, &len, &why) == -1) {
        if (why.number == 0 || why.number == ENOENT)
            return 0; /* it is damaged, and nobody's */
        *err = why;
        return -1;
    }
    if (kv_parse(text, len, &kv, &why) == 0)
        session_salvage(&kv, &session);
    if (owner_has(&self, &session, &has, err) == -1)
        return -1;
    if (has)
        return 0;
    const char *host = machine_host(session.machine);
    (void)err_set(err, MAS_CONFLICT, "cannot read its conversations: it belongs to %s", host);
    return err_hint(err, "do it on %s", host);
}

int owner_lock(const struct root *root, int dir, const char *id, int wait_ms, const char *what,
               int *ret_fd, bool *ret_elsewhere, struct err *err)
{
    _cleanup_close_ int lock = -1;

    if (root_check(root, err) == -1)
        return -1;
    /* before the lock, which a command of the other machine may hold; and again under it */
    bool elsewhere = owner_check(root, dir, id, what, err) == -1;
    int rc = elsewhere ? -1 : workspace_lock(dir, wait_ms, what, &lock, err);

    if (rc == 0) {
        elsewhere = owner_check(root, dir, id, what, err) == -1;
        rc = elsewhere ? -1 : 0;
    }
    if (ret_elsewhere != NULL)
        *ret_elsewhere = elsewhere;
    if (rc == 0)
        *ret_fd = TAKE_FD(lock);
    return rc;
}

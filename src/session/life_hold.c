/* The part of session/life_internal.h that all others begin and end with: the lock of a session,
 * and its metadata. */
#include "base/file.h"
#include "session/life_internal.h"
#include "store/index.h"
#include "store/owner.h"
#include "store/reserve.h"
#include "store/workspace.h"

int life_lock(const struct life *life, int dir, const char *id, int wait_ms, const char *who,
              int *ret_lock, struct err *err)
{
    bool elsewhere = false;
    int rc = life->takeover == LIFE_TAKEOVER_NO
                 ? owner_lock(life->root, dir, id, wait_ms, who, ret_lock, &elsewhere, err)
                 : workspace_lock(dir, wait_ms, who, ret_lock, err);
    bool may_be_gone = rc == 0 || err->code == MAS_FAILED;

    if (may_be_gone && !file_is_named(life->root->sessions, id, dir, NULL)) {
        if (rc == 0)
            fd_closep(ret_lock);
        return err_set(err, MAS_NOT_FOUND,
                       "cannot %s session '%s': another command has just removed it", who, id);
    }
    return rc == 0 || elsewhere
               ? rc
               : err_wrap(err, "cannot lock session '%s'", session_label(life->root, id).text);
}

int life_hold(const struct life *life, const char *id, int wait_ms, const char *who, int *ret_dir,
              int *ret_lock, struct err *err)
{
    int dir = workspace_open(life->root, id);
    if (dir == -1) {
        if (errno != ENOENT)
            return err_errno(err, "cannot open session '%s'", id);
        (void)err_set(err, MAS_DAMAGED, "cannot %s session '%s': its workspace is missing", who,
                      id);
        return err_hint(err, "check it with: mas doctor");
    }
    if (life_lock(life, dir, id, wait_ms, who, ret_lock, err) == -1) {
        (void)close(dir);
        return -1;
    }
    *ret_dir = dir;
    return 0;
}

int life_load(const struct life *life, int dir, const char *id, const char *what,
              struct session *ret, struct err *err)
{
    if (session_load(life->root, dir, id, ret, err) == 0)
        return 0;
    (void)err_wrap(err, "cannot %s session '%s'", what, session_label(life->root, id).text);
    return err_hint(err, "check it with: mas doctor");
}

static int record(const struct life *life, int dir, const struct session *session, struct err *err)
{
    _cleanup_close_ int lock = -1;
    if (session_save(life->root, dir, session, err) == -1 ||
        root_lock(life->root, &lock, err) == -1)
        return -1;
    return index_update(life->root, session->id, session, err);
}

int life_record(const struct life *life, int dir, const struct session *session, struct err *err)
{
    struct err why = ERR_INIT;

    if (record(life, dir, session, &why) == 0)
        return 0;
    if (reserve_give(dir, RESERVE_RECORD, &why))
        return record(life, dir, session, err);
    *err = why;
    return -1;
}

void life_undo_record(const struct life *life, int dir, const char *id, const struct str *before)
{
    _cleanup_session_ struct session old = SESSION_INIT;
    _cleanup_close_ int lock = -1;
    struct err ignored = ERR_INIT;

    if (file_replace(dir, WORKSPACE_SESSION, before->data, before->len, 0600, &ignored) == 0 &&
        session_load(life->root, dir, id, &old, &ignored) == 0 &&
        root_lock(life->root, &lock, &ignored) == 0)
        (void)index_update(life->root, id, &old, &ignored);
}

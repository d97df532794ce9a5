/* The part of session/life_internal.h for the names of a session. In tmux it is called after its
 * id, with as many digits as make the name unique; a session in the root's directories
 * (store/placement.h) has a fixed name. */
#include "session/legacy.h"
#include "session/life_internal.h"
#include "store/index.h"
#include "store/placement.h"
#include "tmux/tmux.h"

enum { FIXED_NAME_TRIES = 3 }; /* for a tmux name that was taken and is free again */

static bool has_fixed_name(const struct session *session)
{
    return placement_is_shared(session->mode);
}

int life_set_tmux_name(const struct life *life, struct session *session, size_t digits,
                       struct err *err)
{
    char *name = NULL;
    char *socket = NULL;

    if (!has_fixed_name(session))
        name = session_tmux_name(session->id, digits);
    else if (legacy_tmux_name(&name, err) == -1)
        return -1;
    /* in a job of Slurm that matters when it starts, see leave_shared_server() */
    if ((session->status == STATUS_STOPPED
             ? tmux_configured_socket(life->config, name, &socket, err)
             : tmux_socket(life->config, name, &socket, err)) == -1) {
        free(name);
        return -1;
    }
    free(session->tmux_name);
    free(session->tmux_socket);
    session->tmux_name = name;
    session->tmux_socket = socket;
    return 0;
}

int life_choose_name(const struct life *life, struct session *session, size_t from, size_t staged,
                     struct index_facts *facts, struct err *err)
{
    const char *name = session->name[0] != '\0' ? session->name : NULL;

    if (has_fixed_name(session)) {
        if (index_ask(life->root, session->tmux_name, name, staged, facts, err) == -1 ||
            legacy_check_free(life->root, err) == -1)
            return -1;
        if (!facts->tmux_name_taken)
            return 0;
        (void)err_set(err, MAS_CONFLICT,
                      "cannot create a legacy session: another session is called '%s' in tmux",
                      session->tmux_name);
        return err_hint(err, "see which with: mas list --all, or set SESSION_NAME");
    }
    for (size_t i = from; i < NAME_LENGTHS; i++) {
        if (life_set_tmux_name(life, session, session_name_digits[i], err) == -1 ||
            index_ask(life->root, session->tmux_name, name, staged, facts, err) == -1)
            return -1;
        if (!facts->tmux_name_taken)
            return 0;
    }
    return err_set(err, MAS_CONFLICT, "cannot name session '%s' in tmux: all its names are in use",
                   session->id);
}

int life_name_conflict(const char *name, struct err *err)
{
    (void)err_set(err, MAS_CONFLICT, "cannot name a session '%s': another session has that name",
                  name);
    return err_hint(err, "see it with: mas show %s", name);
}

int life_check_names(const struct life *life, struct session *session, struct err *err)
{
    struct index_facts facts;
    _cleanup_close_ int lock = -1;

    if (session->name[0] == '\0' && !has_fixed_name(session))
        return 0;
    if (root_lock(life->root, &lock, err) == -1 ||
        (has_fixed_name(session)
             ? life_choose_name(life, session, 0, 0, &facts, err)
             : index_ask(life->root, NULL, session->name, 0, &facts, err)) == -1)
        return -1;
    return facts.name_taken ? life_name_conflict(session->name, err) : 0;
}

int life_rename(const struct life *life, int dir, struct session *session, size_t from,
                struct err *err)
{
    struct index_facts facts;
    _cleanup_close_ int lock = -1;

    if (has_fixed_name(session)) {
        if (legacy_check_tmux(life->root, session, "start", err) == -1)
            return -1;
        return from < FIXED_NAME_TRIES ? 0
                                       : err_set(err, MAS_CONFLICT,
                                                 "cannot start the legacy session: other tmux "
                                                 "sessions keep taking its name");
    }
    if (root_lock(life->root, &lock, err) == -1 ||
        life_choose_name(life, session, from, 0, &facts, err) == -1)
        return -1;
    fd_closep(&lock);
    return life_record(life, dir, session, err);
}

void life_normalise_name(struct session *session)
{
    if (str_is_word(session->tmux_name, TMUX_NAME_MAX))
        return;
    free(session->tmux_name);
    session->tmux_name = has_fixed_name(session)
                             ? mem_dup(LEGACY_TMUX_NAME)
                             : session_tmux_name(session->id, session_name_digits[0]);
}

/*
 * The metadata of one session: the file .session in its workspace, in shell format (see base/kv.h).
 * This file is authoritative. Its STATUS is the intended status; client/survey.h reports the actual
 * one.
 */
#pragma once

#include "base/id.h"
#include "base/kv.h"
#include "model/setting.h"
#include "store/placement.h"
#include "store/root.h"
#include "store/workspace.h"

enum { SESSION_NAME_MAX = 64, TMUX_NAME_MAX = 255 }; /* bytes */
enum { SESSION_PATHS = 3 };
enum { MACHINE_TEXT_MAX = 400 }; /* bytes of MACHINE, BOOT and MOVED_TO */
#define EPOCH_MAX UINT64_C(999999999999)

enum status { STATUS_ACTIVE, STATUS_STOPPED, STATUS_ERROR, STATUS_COUNT };

/* Whether `migrate` works on a session, or was killed doing so, and the status it will leave. */
enum migrating { MIGRATING_NO, MIGRATING_STOPPED, MIGRATING_ACTIVE };

/* What MOVED_TO may be besides the name of a host, see session/leave.h */
#define MOVED_GIVEN_UP '?' /* after the name */
#define MOVED_ARRIVING "(arriving)"
#define MOVED_ARRIVING_FROM "(arriving from " /* the name of a host, and ")" */
#define MOVED_PULLED ':' /* in the name of a machine that is no host here */

struct session {
    char id[ID_TEXT];
    char *tmux_name;
    char *tmux_socket; /* absolute path */
    char *name; /* "" if it has none */
    char *template;
    char *error; /* ERROR; "" if there is none */
    /* Which machine has the session, see store/owner.h; "" and 0: not yet said */
    char *machine; /* machine_identity() */
    char *boot; /* machine_boot() when it got the session */
    uint64_t epoch; /* 1 for the first machine, and one more for each that follows */
    char *store; /* where its lease is, an absolute path; "": it has none (store/lease.h) */
    char *lease; /* the token of its lease; "": it has never had one */
    char *moved_to; /* where the session has gone, in words for people; "" if it is still here */
    time_t lost_after; /* the save it was restored from was made while it ran; 0: none was */
    enum mode mode;
    enum status status;
    enum migrating migrating;
    bool private;
    bool prompted; /* the first messages of its agents were handed to them */
    time_t created;
    long created_nsec; /* fraction of that second */
    time_t activity;
    time_t stopped; /* 0: never */
    char *paths[SESSION_PATHS]; /* as the file has them */
    bool moved; /* one of them is another place */
    struct kv extra; /* the user's keys, which begin with X_ */
    /* Names of unknown keys, or NULL. mas drops them when it rewrites the file, because a shell
     * that sources the file would set, for example, PATH from it. */
    char *strange;
};

#define SESSION_INIT                                                                               \
    {                                                                                              \
        .id = ""                                                                                   \
    }

/* Reads the .session of session `id` from the directory `dir`. Fails with MAS_DAMAGED if the file
 * is missing, not a regular file, not in the format that mas writes, or about another session; with
 * MAS_FAILED if it cannot be read at the moment. The caller releases *ret with session_free(). */
int session_load(const struct root *root, int dir, const char *id, struct session *ret,
                 struct err *err);
/* Replaces the file durably. */
int session_save(const struct root *root, int dir, const struct session *session, struct err *err);
/* Appends the text of the file to `to`. */
void session_format(const struct root *root, const struct session *session, struct str *to);
/* Takes what is there and good from the pairs of a damaged file, with all that it does not say as
 * it is, or "". */
void session_salvage(const struct kv *kv, struct session *session);
void session_free(struct session *session);
#define _cleanup_session_ __attribute__((cleanup(session_free)))

/* How messages refer to a session: by its name, which is unique in its root, or by its id if it has
 * no name or its metadata cannot be read. Use it for messages and for commands in them that users
 * can paste:
 *
 *     err_set(err, MAS_CONFLICT, "cannot stop '%s'", session_label(root, id).text); */
struct session_label {
    char text[SESSION_NAME_MAX + 1];
};
struct session_label session_label(const struct root *root, const char *id);

/* Fills *ret with the variables that describe the session to every process of the team and to `mas
 * env`: MAS_ROOT, MAS_SESSION_ID and so on. *ret must be zeroed; the caller releases it with
 * kv_free(). */
void session_env(const struct root *root, const struct session *session, struct kv *ret);

/* Returns when the session was last used: the later of its last activity and its last stop. */
time_t session_used(const struct session *session);

/* The names of statuses and modes. */
extern const struct value_type status_type;
const char *status_name(enum status status);
const char *mode_name(enum mode mode);

/* Returns true for a MOVED_TO of a session that is on its way to here. */
bool session_arrives(const char *moved_to);

/* Returns NULL for a valid session name, otherwise a description of a valid one. A name must not be
 * an id or the beginning of an id, in upper or lower case, because survey_select() reads four hex
 * digits as an id. */
const char *session_check_name(const char *name);

/* Number of hex digits in the tmux name of a session: 8, or more if another session has the same
 * ones. */
enum { NAME_LENGTHS = 5 };
extern const size_t session_name_digits[NAME_LENGTHS];

/* Returns the tmux name of a session: "mas-" and the first `digits` characters of the id. The
 * caller frees it. */
char *session_tmux_name(const char *id, size_t digits);

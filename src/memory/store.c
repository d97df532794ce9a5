/*
 * Opening checks who has the session, opens the file, settles the schema, and for a writer ends in
 * one transaction what a killed one has left open. A damaged file is set aside under a lock, after
 * a second look, so that of many processes that see the damage one renames it: the log first,
 * because SQLite would drop a log without its database. Whoever opens the store next makes a new
 * one.
 */

#include "memory/store.h"

#include "base/id.h"
#include "base/time.h"
#include "memory/store_internal.h"
#include "os/file.h"
#include "os/path.h"
#include "store/owner.h"

#include <sys/file.h>

static const char *const role_names[ROLE_COUNT] = {"user", "agent",      "thought", "tool",
                                                   "plan", "permission", "mode",    "note"};
static const char *const state_names[] = {"open", "done", "interrupted", "failed"};
static const char *const outcome_names[] = {"fresh", "resumed", "loaded", "injected"};

const char *store_role_name(enum store_role role)
{
    return role_names[role];
}

bool store_role_parse(const char *text, enum store_role *ret)
{
    for (unsigned i = 0; i < ROLE_COUNT; i++) {
        if (strcmp(text, role_names[i]) == 0) {
            *ret = (enum store_role)i;
            return true;
        }
    }
    return false;
}

const char *store_state_name(enum store_state state)
{
    return state_names[state];
}

const char *store_outcome_name(enum store_outcome outcome)
{
    return outcome_names[outcome];
}

/* ---- open and close */

/* Ends what a killed writer of this agent has left open. */
static int mend(struct store *store, struct err *err)
{
    return store_mend(store, err) == -1 ? -1 : store_usage_mend(store, err);
}

int store_failed(struct err *err)
{
    if (err->code == MAS_DAMAGED)
        (void)err_hint(err, "set it aside, so that the team can continue, with: mas doctor --fix");
    return -1;
}

int store_open(int dir, const char *session_id, const char *agent, bool write, struct store **ret,
               struct err *err)
{
    _cleanup_store_ struct store *store = mem_alloc(sizeof *store);

    store->session_id = mem_dup(session_id);
    store->agent = write ? mem_dup(agent) : NULL;
    store->write = write;
    if (owner_check_reader(dir, err) == -1 ||
        db_open(dir, STORE_FILE, write ? DB_CREATE : DB_READ, &store->db, err) == -1 ||
        store_settle(store->db, write, &store->version, err) == -1)
        return store_failed(err);
    if (store->version == 0)
        return err_set(err, MAS_NOT_FOUND, "cannot open '" STORE_FILE "': it is empty");
    if (store->agent != NULL) {
        int rc = store_begin(store, SYNC_FULL, err);
        if (rc == -1 || store_end(store, mend(store, err), err) == -1)
            return -1;
    }
    *ret = TAKE_PTR(store);
    return 0;
}

void store_close(struct store *store)
{
    if (store == NULL)
        return;
    db_close(store->db);
    free(store->session_id);
    free(store->agent);
    free(store->open);
    free(store);
}

void store_closep(struct store **store)
{
    store_close(*store);
}

/* ---- damage */

/* Checks what no constraint expresses: names and ids in mas's format, and a query in each
 * conversation. */
static int check_conversations(struct store *store, struct err *err)
{
    _cleanup_reset_ sqlite3_stmt *s = db_query(store->db, err,
                                               "SELECT uuid, agent, EXISTS (SELECT 1 FROM query q"
                                               " WHERE q.conversation = c.id) FROM conversation c",
                                               "");
    int rc;

    while ((rc = db_step(store->db, s, err)) == 1) {
        if (id_is_valid(db_text(s, 0)) && str_is_word(db_text(s, 1), STORE_AGENT_MAX) &&
            sqlite3_column_int(s, 2) != 0)
            continue;
        return err_set(err, MAS_DAMAGED,
                       "cannot trust '" STORE_FILE "': it contains an invalid conversation");
    }
    return rc;
}

int store_check(struct store *store, struct err *err)
{
    int64_t strangers;

    if (db_check(store->db, err) == -1 || check_conversations(store, err) == -1 ||
        db_number(store->db, 0, &strangers, err,
                  "SELECT count(*) FROM message m JOIN query q ON q.id = m.query"
                  " JOIN conversation c ON c.id = q.conversation WHERE m.agent <> c.agent",
                  "") == -1)
        return -1;
    if (strangers > 0)
        return err_set(err, MAS_DAMAGED,
                       "cannot trust '" STORE_FILE "': a message belongs to another agent");
    return 0;
}

/* Returns 1 if damaged, 0 if not, -1 if that cannot be determined. */
static int is_damaged(int dir, struct err *err)
{
    _cleanup_store_ struct store *store = NULL;
    struct err why = ERR_INIT;

    if (store_open(dir, "", NULL, false, &store, &why) == -1) {
        if (why.code == MAS_DAMAGED)
            return 1;
        if (why.code == MAS_NOT_FOUND)
            return 0;
        *err = why;
        return -1;
    }
    if (store_check(store, &why) == 0)
        return 0;
    if (why.code == MAS_DAMAGED)
        return 1;
    *err = why;
    return -1;
}

/* Returns a name that is free with every suffix. */
static char *free_name(int dir)
{
    char now[TIME_TEXT];
    struct stat st;

    time_format(time(NULL), now);
    for (int i = 0;; i++) {
        char *name = i == 0 ? mem_printf(STORE_FILE ".damaged-%s", now)
                            : mem_printf(STORE_FILE ".damaged-%s.%d", now, i);
        _cleanup_free_ char *log = mem_printf("%s-wal", name);
        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == -1 &&
            fstatat(dir, log, &st, AT_SYMLINK_NOFOLLOW) == -1)
            return name;
        free(name);
    }
}

/* Moves the log first: without its database SQLite would discard it, while the database without its
 * log is only older. The shared memory in -shm is not worth keeping. */
static int move_aside(int dir, const char *name, struct err *err)
{
    static const char *const parts[] = {"-wal", "-journal", ""};

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        _cleanup_free_ char *from = mem_printf(STORE_FILE "%s", parts[i]);
        _cleanup_free_ char *to = mem_printf("%s%s", name, parts[i]);
        if (renameat(dir, from, dir, to) == -1 && errno != ENOENT)
            return err_errno(err, "cannot set '%s' aside", from);
    }
    if (unlinkat(dir, STORE_FILE "-shm", 0) == -1 && errno != ENOENT && errno != EISDIR)
        return err_errno(err, "cannot remove '" STORE_FILE "-shm'");
    return 0;
}

int store_set_aside(int dir, char **ret_name, struct err *err)
{
    /* Thirteen processes may find the damage at once; the second must not set the new file
     * aside. */
    _cleanup_close_ int lock = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock == -1 || flock(lock, LOCK_EX) == -1)
        return err_errno(err, "cannot lock a workspace");
    int damaged = is_damaged(dir, err);
    if (damaged == -1)
        return -1;
    if (damaged == 0) {
        *ret_name = NULL;
        return 0;
    }
    _cleanup_free_ char *name = free_name(dir);
    if (move_aside(dir, name, err) == -1)
        return -1;
    if (fsync(lock) == -1 && errno != EINVAL)
        return err_errno(err, "cannot sync a directory");
    *ret_name = TAKE_PTR(name);
    return 0;
}

/* ---- what is lost */

bool store_had_talks(int dir, const char *agent)
{
    enum { LOG_MAX = 64 << 20 };
    _cleanup_close_ int logs = path_open_dir(dir, WORKSPACE_LOGS);
    _cleanup_free_ char *log = NULL;
    _cleanup_free_ char *words =
        agent != NULL ? mem_printf(" agent=%s conversation ", agent) : mem_dup(" conversation ");
    struct err ignored = ERR_INIT;
    size_t len = 0;

    return logs != -1 && file_read(logs, WORKSPACE_LOG, LOG_MAX, &log, &len, &ignored) == 0 &&
           memmem(log, len, words, strlen(words)) != NULL;
}

bool store_knows(struct store *store, const char *agent)
{
    struct err ignored = ERR_INIT;
    int64_t count = 0;

    return db_number(store->db, 0, &count, &ignored,
                     "SELECT count(*) FROM conversation WHERE agent = ?1", "t", agent) == 0 &&
           count > 0;
}

/* Returns the newest file that was set aside; NULL: there is none. */
static char *find_set_aside(int dir)
{
    static const char *const parts[] = {"-wal", "-journal"};
    _cleanup_strv_ char **names = NULL;
    struct err ignored = ERR_INIT;
    const char *newest = NULL;

    if (path_list(dir, &names, &ignored) == -1)
        return NULL;
    for (char **name = names; name != NULL && *name != NULL; name++)
        if (str_starts(*name, STORE_FILE ".damaged-") && !str_ends(*name, parts[0]) &&
            !str_ends(*name, parts[1]) && (newest == NULL || strcmp(*name, newest) > 0))
            newest = *name;
    return newest != NULL ? mem_dup(newest) : NULL;
}

char *store_loss(int dir)
{
    _cleanup_free_ char *aside = find_set_aside(dir);
    struct stat st, log;
    bool missing = fstatat(dir, STORE_FILE, &st, AT_SYMLINK_NOFOLLOW) == -1 && errno == ENOENT;
    bool empty =
        !missing && st.st_size == 0 &&
        (fstatat(dir, STORE_FILE "-wal", &log, AT_SYMLINK_NOFOLLOW) == -1 || log.st_size == 0);

    if (aside != NULL)
        return mem_printf("an earlier " STORE_FILE " was damaged and is kept as %s", aside);
    return (missing || empty) && store_had_talks(dir, NULL)
               ? mem_printf(STORE_FILE " is %s, and what was said before with it",
                            missing ? "missing" : "empty")
               : NULL;
}

/*
 * A database is compared as a whole with what the schema of its version makes in memory, so that
 * one with other tables, or with triggers, is refused before it is used. A writer makes the tables,
 * or those of an older version like them, and sets the version in one transaction, under the write
 * lock, where both are read once more: a kill leaves the file as it was. A reader takes an older
 * version as it is, and so does an older mas that has had it open since before.
 */

#include "memory/store_internal.h"

/* "mas" and the number of the kind of file. */
#define APPLICATION_ID 0x6d617301
#define VERSION 2 /* of the schema */

/* What makes each version of the one before; what is released never changes. Short columns come
 * first, so that paging through history does not read the long texts that it skips. Numbers are
 * never reused. */
static const char *const steps[] = {
    "CREATE TABLE conversation ("
    " id INTEGER PRIMARY KEY,"
    " uuid TEXT NOT NULL UNIQUE CHECK (length(uuid) = 36),"
    " agent TEXT NOT NULL,"
    " current INTEGER NOT NULL,"
    " started INTEGER NOT NULL,"
    " mode TEXT NOT NULL DEFAULT '',"
    " model TEXT NOT NULL DEFAULT '',"
    " options TEXT NOT NULL DEFAULT '{}'"
    ") STRICT;"
    "CREATE UNIQUE INDEX conversation_current ON conversation (agent) WHERE current = 1;"
    "CREATE TABLE query ("
    " id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " conversation INTEGER NOT NULL REFERENCES conversation,"
    " number INTEGER NOT NULL,"
    " started INTEGER NOT NULL,"
    " ended INTEGER NOT NULL DEFAULT 0,"
    " injected INTEGER NOT NULL DEFAULT 1,"
    " reason TEXT NOT NULL DEFAULT '',"
    " mode TEXT NOT NULL DEFAULT '',"
    " UNIQUE (conversation, number)"
    ") STRICT;"
    "CREATE TABLE message ("
    " id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " query INTEGER NOT NULL REFERENCES query,"
    " agent TEXT NOT NULL,"
    " role INTEGER NOT NULL CHECK (role BETWEEN 0 AND 7),"
    " state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 3),"
    " time INTEGER NOT NULL,"
    " trigger INTEGER NOT NULL DEFAULT 0,"
    " stop_reason TEXT,"
    " sender TEXT,"
    " key TEXT,"
    " tags TEXT NOT NULL DEFAULT '',"
    " text TEXT NOT NULL DEFAULT '',"
    " data TEXT"
    ") STRICT;"
    "CREATE INDEX message_query ON message (query);"
    "CREATE INDEX message_agent ON message (agent);"
    "CREATE INDEX message_open ON message (agent) WHERE state = 0;"
    "CREATE TABLE piece ("
    " message INTEGER NOT NULL REFERENCES message,"
    " number INTEGER NOT NULL,"
    " text TEXT NOT NULL,"
    " PRIMARY KEY (message, number)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE agent_session ("
    " id INTEGER PRIMARY KEY,"
    " query INTEGER NOT NULL REFERENCES query,"
    " started INTEGER NOT NULL,"
    " ended INTEGER NOT NULL DEFAULT 0,"
    " outcome INTEGER NOT NULL CHECK (outcome BETWEEN 0 AND 3),"
    " agent_session TEXT NOT NULL,"
    " program TEXT NOT NULL DEFAULT '',"
    " note TEXT NOT NULL DEFAULT '',"
    " session TEXT NOT NULL,"
    " directory TEXT NOT NULL,"
    " machine TEXT NOT NULL"
    ") STRICT;"
    "CREATE INDEX agent_session_query ON agent_session (query);"
    "CREATE TABLE rung ("
    " agent TEXT NOT NULL,"
    " program TEXT NOT NULL,"
    " rung TEXT NOT NULL,"
    " failures INTEGER NOT NULL DEFAULT 0,"
    " failed INTEGER NOT NULL DEFAULT 0,"
    " worked INTEGER NOT NULL DEFAULT 0,"
    " why TEXT NOT NULL DEFAULT '',"
    " PRIMARY KEY (agent, program, rung)"
    ") STRICT, WITHOUT ROWID;"
    /* messages that wait to be typed at a terminal */
    "CREATE TABLE input ("
    " id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " agent TEXT NOT NULL,"
    " sender TEXT,"
    " enter INTEGER NOT NULL,"
    " begun INTEGER NOT NULL,"
    " note INTEGER NOT NULL," /* mas has written it */
    " text TEXT NOT NULL,"
    " data TEXT"
    ") STRICT;"
    "CREATE INDEX input_agent ON input (agent);"
    /* What agents use: a row for each turn, and for what was told outside of one. A column is NULL
     * if the agent does not tell it. What an agent counts cumulatively, in an agent session, is in
     * `counter` with the newest value; a row has only what was added to that. */
    "CREATE TABLE usage ("
    " id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " query INTEGER NOT NULL REFERENCES query,"
    " agent TEXT NOT NULL,"
    " prompt INTEGER UNIQUE,"
    " session TEXT NOT NULL,"
    " agent_session TEXT NOT NULL,"
    " model TEXT NOT NULL,"
    " started INTEGER NOT NULL,"
    " ended INTEGER,"
    " worked INTEGER,"
    " total INTEGER,"
    " input INTEGER,"
    " output INTEGER,"
    " thought INTEGER,"
    " cached_read INTEGER,"
    " cached_write INTEGER,"
    " used INTEGER,"
    " size INTEGER"
    ") STRICT;"
    "CREATE INDEX usage_session ON usage (agent, agent_session);"
    "CREATE TABLE cost ("
    " usage INTEGER NOT NULL REFERENCES usage,"
    " currency TEXT NOT NULL,"
    " amount INTEGER NOT NULL,"
    " PRIMARY KEY (usage, currency)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE counter ("
    " agent TEXT NOT NULL,"
    " agent_session TEXT NOT NULL,"
    " unit TEXT NOT NULL,"
    " value INTEGER NOT NULL,"
    " restarted INTEGER NOT NULL DEFAULT 0,"
    " PRIMARY KEY (agent, agent_session, unit)"
    ") STRICT, WITHOUT ROWID;"
    /* how far the transcripts of a program have been read */
    "CREATE TABLE transcript ("
    " agent TEXT NOT NULL,"
    " agent_session TEXT NOT NULL,"
    " file TEXT NOT NULL,"
    " offset INTEGER NOT NULL,"
    " tail INTEGER NOT NULL,"
    " once INTEGER NOT NULL,"
    " mark INTEGER NOT NULL,"
    " PRIMARY KEY (agent, agent_session, file)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE budget ("
    " agent TEXT NOT NULL,"
    " kind TEXT NOT NULL,"
    " amount INTEGER NOT NULL,"
    " currency TEXT NOT NULL DEFAULT '',"
    " PRIMARY KEY (agent, kind)"
    ") STRICT, WITHOUT ROWID;",
    "ALTER TABLE usage ADD COLUMN account TEXT NOT NULL DEFAULT '';",
};
_Static_assert(ARRAY_LEN(steps) == VERSION, "a step for each version");

static int mark(struct db *db, struct err *err)
{
    char sql[96];

    (void)snprintf(sql, sizeof sql, "PRAGMA application_id = %d; PRAGMA user_version = %d;",
                   APPLICATION_ID, VERSION);
    return db_exec(db, sql, err);
}

/* Refuses what is not ours. *ret_version is 0 if it is empty. */
static int look(struct db *db, int *ret_version, struct err *err)
{
    _cleanup_str_ struct str schema = STR_INIT;
    int64_t application, version, things;
    bool same;

    if (db_number(db, 0, &application, err, "PRAGMA application_id", "") == -1 ||
        db_number(db, 0, &version, err, "PRAGMA user_version", "") == -1 ||
        db_number(db, 0, &things, err, "SELECT count(*) FROM sqlite_schema", "") == -1)
        return -1;
    *ret_version = (int)version;
    if (application == 0 && version == 0 && things == 0)
        return 0;
    if (application != APPLICATION_ID || version < 1)
        return err_set(err, MAS_DAMAGED, "cannot use '" STORE_FILE "': it was not created by mas");
    if (version > VERSION)
        return err_set(err, MAS_FAILED,
                       "cannot use '" STORE_FILE "': a newer version of mas wrote it");
    for (int64_t i = 0; i < version; i++)
        str_add(&schema, steps[i]);
    if (db_same_schema(db, str_text(&schema), &same, err) == -1)
        return -1;
    return same
               ? 0
               : err_set(err, MAS_DAMAGED, "cannot use '" STORE_FILE "': it has an unknown schema");
}

/* Another process may have done it meanwhile, so it is looked at again under the write lock. */
static int upgrade(struct db *db, int *ret_version, struct err *err)
{
    if (db_begin(db, err) == -1)
        return -1;
    int rc = look(db, ret_version, err);
    for (; rc == 0 && *ret_version < VERSION; (*ret_version)++)
        rc = db_exec(db, steps[*ret_version], err);
    if (rc == -1 || mark(db, err) == -1) {
        db_rollback(db);
        return -1;
    }
    return db_commit(db, err);
}

int store_settle(struct db *db, bool write, int *ret_version, struct err *err)
{
    /* One snapshot, because others may be creating the tables. */
    if (db_exec(db, "BEGIN", err) == -1)
        return -1;
    int rc = look(db, ret_version, err);
    db_rollback(db);
    return rc == 0 && *ret_version < VERSION && write ? upgrade(db, ret_version, err) : rc;
}

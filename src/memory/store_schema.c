/*
 * A change of the schema is one more step at the end. A database is compared as a whole with what
 * the steps make in memory for its version, so that one with other tables, or with triggers, is
 * refused before it is used. The missing steps and the new version go in one transaction, under the
 * write lock, where the version is read once more: a kill leaves the old schema.
 */

#include "memory/store_internal.h"

/* "mas" and the number of the kind of file. */
#define APPLICATION_ID 0x6d617301

/* Short columns come first, so that paging through history does not read the long texts that it
 * skips. Numbers are never reused. */
static const char version_1[] =
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
    " note TEXT NOT NULL DEFAULT ''"
    ") STRICT;"
    "CREATE INDEX agent_session_query ON agent_session (query);"
    "CREATE TABLE rung ("
    " program TEXT NOT NULL,"
    " rung TEXT NOT NULL,"
    " failures INTEGER NOT NULL,"
    " PRIMARY KEY (program, rung)"
    ") STRICT, WITHOUT ROWID;";

/* An agent session records where it was opened, and resume methods are counted per agent. */
static const char version_2[] =
    "ALTER TABLE agent_session ADD COLUMN session TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE agent_session ADD COLUMN directory TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE agent_session ADD COLUMN machine TEXT NOT NULL DEFAULT '';"
    "DROP TABLE rung;"
    "CREATE TABLE rung ("
    " agent TEXT NOT NULL,"
    " program TEXT NOT NULL,"
    " rung TEXT NOT NULL,"
    " failures INTEGER NOT NULL DEFAULT 0,"
    " failed INTEGER NOT NULL DEFAULT 0,"
    " worked INTEGER NOT NULL DEFAULT 0,"
    " why TEXT NOT NULL DEFAULT '',"
    " PRIMARY KEY (agent, program, rung)"
    ") STRICT, WITHOUT ROWID;";

/* Messages that wait to be typed at a terminal. */
static const char version_3[] = "CREATE TABLE input ("
                                " id INTEGER PRIMARY KEY AUTOINCREMENT,"
                                " agent TEXT NOT NULL,"
                                " sender TEXT,"
                                " enter INTEGER NOT NULL,"
                                " begun INTEGER NOT NULL,"
                                " text TEXT NOT NULL"
                                ") STRICT;"
                                "CREATE INDEX input_agent ON input (agent);";

/* What agents use: a row for each turn, and for what was told outside of one. A column is NULL if
 * the agent does not tell it. What an agent counts cumulatively, in an agent session, is in
 * `counter` with the newest value; a row has only what was added to that. */
static const char version_4[] = "CREATE TABLE usage ("
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
                                "CREATE TABLE budget ("
                                " agent TEXT NOT NULL,"
                                " kind TEXT NOT NULL,"
                                " amount INTEGER NOT NULL,"
                                " currency TEXT NOT NULL DEFAULT '',"
                                " PRIMARY KEY (agent, kind)"
                                ") STRICT, WITHOUT ROWID;";

/* Of the messages that wait, those that mas has written. */
static const char version_5[] = "ALTER TABLE input ADD COLUMN note INTEGER NOT NULL DEFAULT 0;";

static const char *const steps[] = {version_1, version_2, version_3, version_4, version_5};
static const struct store_schema ours = {.steps = steps, .version = ARRAY_LEN(steps)};

int store_version(void)
{
    return ours.version;
}

struct schema_upgrade {
    const struct store_schema *schema;
    int from, to;
};

static int run_steps(struct db *db, void *arg, struct err *err)
{
    const struct schema_upgrade *upgrade = arg;

    for (int i = upgrade->from; i < upgrade->to; i++) {
        if (db_exec(db, upgrade->schema->steps[i], err) == -1)
            return -1;
    }
    return 0;
}

static int mark(struct db *db, int version, struct err *err)
{
    char sql[96];

    (void)snprintf(sql, sizeof sql, "PRAGMA application_id = %d; PRAGMA user_version = %d;",
                   APPLICATION_ID, version);
    return db_exec(db, sql, err);
}

/* Returns the version; 0 for an empty database. */
static int read_version(struct db *db, const struct store_schema *schema, int *ret, struct err *err)
{
    int64_t application, version, things;
    bool same;

    if (db_number(db, 0, &application, err, "PRAGMA application_id", "") == -1 ||
        db_number(db, 0, &version, err, "PRAGMA user_version", "") == -1 ||
        db_number(db, 0, &things, err, "SELECT count(*) FROM sqlite_schema", "") == -1)
        return -1;
    if (application == 0 && version == 0 && things == 0) {
        *ret = 0;
        return 0;
    }
    if (application != APPLICATION_ID || version < 1)
        return err_set(err, MAS_DAMAGED, "cannot use '" STORE_FILE "': it was not created by mas");
    if (version > schema->version)
        return err_set(err, MAS_FAILED,
                       "cannot use '" STORE_FILE "': a newer version of mas wrote it");
    struct schema_upgrade upgrade = {.schema = schema, .to = (int)version};
    if (db_same_schema(db, run_steps, &upgrade, &same, err) == -1)
        return -1;
    if (!same)
        return err_set(err, MAS_DAMAGED, "cannot use '" STORE_FILE "': it has an unknown schema");
    *ret = (int)version;
    return 0;
}

/* Another process may have done it meanwhile, so the version is read again under the write lock. */
static int carry(struct db *db, const struct store_schema *schema, struct err *err)
{
    struct schema_upgrade upgrade = {.schema = schema, .to = schema->version};

    if (db_begin(db, err) == -1)
        return -1;
    if (read_version(db, schema, &upgrade.from, err) == -1 || run_steps(db, &upgrade, err) == -1 ||
        (upgrade.from < upgrade.to && mark(db, upgrade.to, err) == -1)) {
        db_rollback(db);
        return -1;
    }
    return db_commit(db, err);
}

int store_settle(struct db *db, const struct store_schema *schema, bool write, int *ret_version,
                 struct err *err)
{
    int version;

    if (schema == NULL)
        schema = &ours;
    /* One snapshot, because others may be creating the tables. */
    if (db_exec(db, "BEGIN", err) == -1)
        return -1;
    int rc = read_version(db, schema, &version, err);
    db_rollback(db);
    if (rc == -1)
        return -1;
    if (write && version < schema->version && carry(db, schema, err) == -1)
        return -1;
    *ret_version = version;
    return 0;
}

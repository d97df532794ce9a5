/*
 * Prompts at set times (`mas every`), and errands (session/errand/errand.h): the entries, which are
 * in their sessions.
 *
 *     every.json              in a workspace, 600: its entries
 *     every.env               likewise: the environment that a start by an entry gets, that of the
 *                             newest one with --start, or of an errand; no archive has it
 *     sessions/.every         the next number
 *     sessions/.every.lock    the lock of a tick, see session/every.h
 *
 * All but the lock are replaced as a whole under the metadata lock; readers take none. The next
 * number is written before the entry that gets the one before it: a kill leaves out a number, and
 * none is used twice. Entries that come with an archive get numbers of this root, and are paused,
 * since a stranger may have made the archive.
 */
#pragma once

#include "base/id.h"
#include "model/member.h"
#include "model/team/team.h"
#include "store/root.h"

#define EVERY_FILE "every.json"
#define EVERY_ENV "every.env"
#define EVERY_NUMBERS ".every"
#define EVERY_LOCK ".every.lock"
#define EVERY_TAG "every:" /* with which the first tag of a run's prompt begins */
#define EVERY_SKIPPED "skipped: the run before still goes on" /* a `why` that is no failure */

enum {
    EVERY_MAX = 128, /* entries of a session */
    EVERY_TEXT_MAX = 16 * 1024, /* bytes of a prompt */
    EVERY_WHY_MAX = 400, /* of why the last attempt failed */
    EVERY_DATA_MAX = 16 * 1024, /* of what an errand keeps for itself */
    EVERY_OVER_MAX = 16, /* errands of a session that are over, and still listed */
    EVERY_FILE_MAX = 16 << 20,
    EVERY_ENV_MAX = 8 << 20,
};

/* From EVERY_GOAL on: errands. */
enum every_kind { EVERY_CALENDAR, EVERY_SPAN, EVERY_AT, EVERY_AFTER, EVERY_GOAL, EVERY_WATCH };

struct every_entry {
    int64_t number;
    enum every_kind kind;
    char *when; /* a calendar; a span; a time; SESSION/AGENT, by its id; the check of a goal; what
                 * is watched */
    char agent[TEAM_WORD_MAX + 1];
    char *text;
    bool start; /* a session that does not run is started */
    bool paused; /* it came with an archive, and is never due; a run by a person changes that */
    int64_t made_ms; /* times are ms since 1970, 0: never */
    int64_t next_ms; /* of EVERY_AFTER 0 */
    int64_t seen; /* of EVERY_AFTER: the prompt of the last turn whose end counted */
    int64_t ran_ms, runs, skipped; /* skipped: the run before still went on */
    int64_t late; /* seconds by which the last run was late, because it was missed */
    int64_t prompt; /* the number of its prompt in memory.db; 0: none, or it is not told */
    int64_t given_ms; /* the time of a run that may have been given, and is not recorded; 0 */
    char *why; /* why the last attempt failed, or it waits; "" */
    /* Of errands alone, whose `runs` are rounds: */
    char *over; /* how it has ended; "": it goes on */
    char *budget; /* as a kind of errand writes it; "": none */
    char *data; /* JSON, of that kind; "": none */
    int64_t rounds_max, until_ms; /* 0: no limit */
};

struct every {
    struct every_entry *at;
    size_t count;
};
#define EVERY_INIT                                                                                 \
    {                                                                                              \
        .at = NULL                                                                                 \
    }

/* Of an entry, for people's programs, which also get `start` and `paused`, as true or false. */
extern const struct member every_members[];

/* Reads the entries in the workspace `dir`; a missing file has none. Fails with MAS_DAMAGED. The
 * caller releases *ret. */
int every_read(int dir, struct every *ret, struct err *err);
void every_free(struct every *every);
#define _cleanup_every_ __attribute__((cleanup(every_free)))
void every_entry_free(struct every_entry *entry);
#define _cleanup_every_entry_ __attribute__((cleanup(every_entry_free)))
/* Returns the entry with this number, or NULL. */
struct every_entry *every_find(const struct every *every, int64_t number);
/* Takes over the entries that came with an archive. Those of a damaged file stay: none of them
 * runs. */
int every_arrive(const struct root *root, int dir, struct err *err);

/* Returns the word for its kind, such as "goal". */
const char *every_kind_name(const struct every_entry *entry);
/* Returns true if the entry is an errand; and if it is one that goes on. */
bool every_is_errand(const struct every_entry *entry);
bool every_goes_on(const struct every_entry *entry);
/* Returns true unless the entry is over or paused: a tick may have something to do for it. */
bool every_needs_tick(const struct every_entry *entry);
/* Returns true if the entry needs a look: its last attempt has failed, or it is over and has not
 * come to what it was for. What a watch that goes on says is how its pull request stands. */
bool every_has_failed(const struct every_entry *entry);

/* Adds an entry, and sets its number. With `env`, which may be NULL, also that environment. Drops
 * the oldest errands that are over beyond EVERY_OVER_MAX. Fails with MAS_CONFLICT if there are
 * EVERY_MAX. */
int every_add(const struct root *root, int dir, struct every_entry *entry, char *const *env,
              struct err *err);
/* Replaces the entry of this number, or, with `gone`, removes it; then, with the last one that
 * needs it, the environment, too. Fails with MAS_NOT_FOUND if it was removed. */
int every_change(const struct root *root, int dir, const struct every_entry *entry, bool gone,
                 struct err *err);
/* Removes the entries of an agent that leaves its team. Those of a damaged file stay. */
int every_remove_agent(const struct root *root, int dir, const char *agent, struct err *err);
/* Writes a record to the data of an entry, and reads it from there. What is read is filled with
 * defaults, also on failure. */
void every_put_data(struct every_entry *entry, const struct member *members, const void *record);
int every_read_data(const struct every_entry *entry, const struct member *members, void *record,
                    struct err *err);
/* Reads the environment into a vector, for strv_free(). NULL: there is none. */
int every_env(int dir, char ***ret, struct err *err);
/* Lists the ids of all sessions that have entries; NULL: none has. The caller releases *ret with
 * strv_free(). */
int every_sessions(const struct root *root, char ***ret, struct err *err);

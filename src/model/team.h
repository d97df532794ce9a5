/*
 * A team: its agents, the windows they stand in, and who may write to whom.
 *
 * It is read from a template's template.ini once, when a session is made, and from then on from the
 * session's own config.json, so that later changes of the template do not touch the session.
 */
#ifndef MAS_MODEL_TEAM_H
#define MAS_MODEL_TEAM_H

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "model/diagnostic.h"
#include "model/preset.h"

#include <stdbool.h>
#include <stddef.h>

enum { TEAM_AGENTS_MAX = 256, TEAM_WINDOWS_MAX = 64 };
enum { /* bytes */
       TEAM_WORD_MAX = 32,
       TEAM_DESCRIPTION_MAX = 1024,
       TEAM_ROLE_MAX = 64,
       TEAM_MODEL_MAX = 256,
       TEAM_COMMAND_MAX = 8192,
       TEAM_SYSTEM_MAX = 65536
};

enum rank { RANK_META, RANK_MANAGER, RANK_WORKER, RANK_COUNT };

/* Whom a rank may write to; a set of these bits. */
enum reach {
    REACH_MANAGER = 1, /* the manager of the sender's own unit */
    REACH_UNIT = 2, /* everybody in the sender's unit */
    REACH_WORKERS = 4, /* the workers of the sender's unit */
    REACH_MANAGERS = 8, /* every manager */
    REACH_META = 16,
    REACH_ALL = 32,
};

struct agent {
    char *id; /* [A-Za-z0-9_-]{1,32}, like group */
    char *role; /* words for people, at most 64 bytes */
    char *group; /* its unit */
    char *preset; /* "" for the team's, like the next two */
    char *model;
    char *command;
    char *system; /* first words of every fresh context */
    char *prompt; /* its first message; "" where it has none */
    enum start start; /* START_UNSET: as its preset says */
    enum rank rank;
    size_t window; /* index into team.windows */
    int line; /* where it stands in template.ini; 0: that was not read */
};

struct window {
    char *name;
    char *layout; /* see model/layout.h */
    size_t *agents; /* indexes into team.agents, in the order of the panes */
    size_t count;
    int line; /* like an agent's */
};

struct team {
    char *description;
    char *preset; /* "" for the one of mas.ini */
    struct agent *agents;
    size_t agent_count;
    struct window *windows;
    size_t window_count;
    unsigned rules[RANK_COUNT]; /* sets of enum reach */
};

#define TEAM_INIT                                                                                  \
    {                                                                                              \
        .description = NULL                                                                        \
    }

/* Reads template.ini from fd and checks that it makes a whole team (MAS_DAMAGED with file, line).
 */
int team_read_ini(int fd, const char *file, struct team *ret, struct err *err);
/* The same, but finds all that is wrong, and warns of rules that mean nobody. *ret, which must be
 * TEAM_INIT, is the team as far as it could be read: whole where there are no errors. -1 where the
 * file cannot be read at all. */
int team_check_ini(int fd, const char *file, struct diagnostics *diagnostics, struct team *ret,
                   struct err *err);

/* Writes the members "description", "preset", "windows", "team", "rules" of an object. */
void team_put_json(const struct team *team, struct json_out *out);
int team_from_json(const struct json *object, struct team *ret, struct err *err);

void team_free(struct team *team);
#define _cleanup_team_ __attribute__((cleanup(team_free)))

/* NULL where there is none of that id. */
const struct agent *team_agent(const struct team *team, const char *id);
/* true if an agent has a first message. */
bool team_has_prompts(const struct team *team);
const char *rank_name(enum rank rank);
/* The set of enum reach by which the first may write to the second. */
unsigned team_reach(const struct agent *from, const struct agent *to);
/* Appends the words of a set of enum reach, "manager, unit"; nothing where it is empty. */
void team_add_reach(struct str *to, unsigned set);

#endif

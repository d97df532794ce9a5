/*
 * A team: its agents, their windows, and which agents may write to each other.
 *
 * mas reads a team from template.ini once, when it creates a session, and after that from the
 * session's own config.json. Later changes of the template therefore do not affect the session.
 */
#pragma once

#include "base/json.h"
#include "model/budget.h"
#include "model/diagnostic.h"
#include "model/limits.h"
#include "model/preset.h"

enum { TEAM_AGENTS_MAX = 256, TEAM_WINDOWS_MAX = 64, TEAM_TURNS_MAX = 1000 };
enum { /* bytes */
       TEAM_WORD_MAX = 32,
       TEAM_DESCRIPTION_MAX = 1024,
       TEAM_ROLE_MAX = 64,
       TEAM_MODEL_MAX = 256,
       TEAM_COMMAND_MAX = 8192,
       TEAM_SYSTEM_MAX = 65536,
       TEAM_PATH_MAX = 4096,
       TEAM_OID_MAX = 64,
       TEAM_LABEL_MAX = 64
};

enum rank { RANK_META, RANK_MANAGER, RANK_WORKER, RANK_COUNT };

/* What an agent gets of the session's project; see code/repo.h. */
enum agent_code {
    AGENT_CODE_NONE,
    AGENT_CODE_VIEW, /* the work tree that all readers share */
    AGENT_CODE_WORKTREE, /* a repository and a branch of its own */
    AGENT_CODE_COUNT
};

/* The working directory of an agent. */
enum agent_cwd {
    AGENT_CWD_UNSET, /* its work tree if it has one of its own, otherwise its unit */
    AGENT_CWD_UNIT,
    AGENT_CWD_CODE,
    AGENT_CWD_COUNT
};

/* Agents that a rank may write to; a set of these bits. */
enum reach {
    REACH_MANAGER = 1, /* the manager of the sender's unit */
    REACH_UNIT = 2, /* everyone in the sender's unit */
    REACH_WORKERS = 4, /* the workers of the sender's unit */
    REACH_MANAGERS = 8, /* every manager */
    REACH_META = 16,
    REACH_ALL = 32,
};

struct agent {
    char *id; /* [A-Za-z0-9_-]{1,32}, as is group */
    char *role; /* text for people, at most 64 bytes */
    char *group; /* the name of its unit */
    char *preset; /* "" for the team's; this also applies to the next two */
    char *model;
    char *accounts; /* as accounts_type; "": those of its preset */
    char *command;
    char *system; /* first text of every fresh context */
    char *prompt; /* its first message; "" if it has none */
    struct budget budget; /* its own */
    struct limit_set limits; /* likewise; LIMIT_SESSION is not set */
    enum start start; /* START_UNSET: as its preset says */
    char *hibernate; /* as hibernate_type; "": as its preset says */
    enum agent_code code;
    enum agent_cwd cwd;
    enum wall_level wall; /* WALL_UNSET: as its preset says */
    bool team_units; /* behind a wall it may write to the units of all agents */
    enum rank rank;
    size_t window; /* index into team.windows */
    char *grown_by; /* the agent that has added it to the team; "": none has */
    int line; /* in template.ini; 0: unknown */
};

struct window {
    char *name;
    char *layout; /* see model/team/layout.h */
    size_t *agents; /* indexes into team.agents, in pane order */
    size_t count;
    int line; /* as in struct agent */
};

/* The git repository that a team works on. */
struct team_project {
    char *path; /* absolute; NULL: none, and so are the others */
    char *onto; /* the branch of it to land on, "refs/heads/..."; "" none */
    char *base; /* the commit to begin with */
    char *label; /* the part of branch names that tells sessions apart */
    char *check; /* the command of its check, in place of [code] check; "": none of its own */
};

struct team {
    char *description;
    char *preset; /* "" for the default preset of mas.ini */
    int turns; /* of its agents at the same time; 0: any number */
    int grow; /* how many agents its managers may add */
    char *grow_presets; /* a list of those that these may have; "" none */
    char *wants; /* DIR[@REF] in template.ini; "" none */
    struct team_project project; /* set when the session is created */
    struct budget budget; /* of all agents together */
    enum wall_level wall; /* of all agents; WALL_UNSET: each agent's own */
    struct agent *agents;
    size_t agent_count;
    struct window *windows;
    size_t window_count;
    unsigned rules[RANK_COUNT]; /* for each rank, a set of enum reach */
};

#define TEAM_INIT                                                                                  \
    {                                                                                              \
        .description = NULL                                                                        \
    }

/* Reads template.ini from `fd` and checks that it defines a complete team. Fails with MAS_DAMAGED
 * and names file and line. The caller releases *ret with team_free(). */
int team_read_ini(int fd, const char *file, struct team *ret, struct err *err);
/* Like team_read_ini(), but reports all problems and warns about rules that match no agent. *ret
 * must be TEAM_INIT; it receives as much of the team as could be read, and all of it if there are
 * no errors. Returns -1 if the file cannot be read at all. */
int team_check_ini(int fd, const char *file, struct diagnostics *diagnostics, struct team *ret,
                   struct err *err);

/* Writes the members "description", "preset", "project" (if it has one), "windows", "team" and
 * "rules" into an open object. */
void team_put_json(const struct team *team, struct json_out *out);
/* Reads these members back. Fails with MAS_DAMAGED. The caller releases *ret with team_free(). */
int team_from_json(const struct json *object, struct team *ret, struct err *err);

/* Makes the team of a session one that a new session can have: it wants the project from the branch
 * on, as it is by then, with the same check. */
void team_want_again(struct team *team);

void team_free(struct team *team);
#define _cleanup_team_ __attribute__((cleanup(team_free)))

/* What the id of a new agent is, for messages, and whether a text is one. Programs would take one
 * with a leading '-' for an option. Teams that have such an agent are read, so that it can go. */
#define TEAM_AGENT_ID "1 to 32 " STR_WORD_CHARS ", the first not -"
bool team_is_agent_id(const char *text);
/* Returns the agent with this id, or NULL. The team owns it. */
const struct agent *team_agent(const struct team *team, const char *id);
/* Makes a team of one agent one of `count` equal ones, which are called 1, 2, and so on. */
void team_repeat(struct team *team, size_t count);
/* Returns NULL, or what valid values of this key of an agent are. */
const char *agent_check(const char *key, const char *value);
/* Adds an agent to the unit of the one with the index `like`, in its window if that has room at
 * this size, else in a window of its own. It works with code as that one does, and everything else
 * of it is unset; with `same`, all but its first message is as of that one. A team without rules,
 * which has become larger than one, gets those of a team with one manager. Returns NULL, or why the
 * team cannot have it. */
const char *team_grow(struct team *team, const char *id, size_t like, bool same, int columns,
                      int rows);
/* Takes an agent out of a team that has others. */
void team_shrink(struct team *team, const char *id);
/* Returns true if any agent has a first message. */
bool team_has_prompts(const struct team *team);
/* Returns "meta", "manager" or "worker". */
const char *rank_name(enum rank rank);
/* Returns true if the agent starts in its work tree. */
bool agent_starts_in_code(const struct agent *agent);
/* Returns the set of enum reach under which the first agent may write to the second. */
unsigned team_reach(const struct agent *from, const struct agent *to);
/* Appends the names of a set of enum reach, "manager, unit"; nothing if the set is empty. */
void team_add_reach(struct str *to, unsigned set);

/*
 * The plan of a wall: what one program of an agent may reach, and what holds each part of that.
 *
 *     wall_plan_make(&subject, &probe, &plan, err)   looks at settings, files and the machine
 *     wall_bwrap(&plan, &command, err)               wall/bwrap.h: puts bubblewrap around it
 *     ... start command.argv with command.fds ...
 *     wall_plan_free(&plan)
 *
 * A plan is made for each start, because it holds descriptors: what an agent can move or replace,
 * such as its unit, or what is in a directory of wall.write, also of another agent, is opened here
 * without following links, and bubblewrap binds the descriptor.
 *
 * Where a plan looks at a file, ask whether the agent may have written it: what it may write is
 * opened beneath a descriptor, without following a link, and its first line is not believed
 * (plan_program.c). test/wall/asked.bats tries this.
 */
#pragma once

#include "model/team/team.h"
#include "model/wall.h"
#include "store/config.h"
#include "store/placement.h"
#include "store/root.h"
#include "wall/probe.h"

/* The home that an agent shares with the programs that it asks its host for: wall/plan_home.c. */
struct wall_shared {
    bool made;
    char **places; /* on which each of their walls mounts something; below the home */
};

/* Whose program is to be walled in. Nothing of it is owned. */
struct wall_subject {
    const struct root *root;
    const struct config *config;
    const char *id; /* of the session */
    enum mode mode;
    int dir; /* the workspace */
    const struct team *team;
    const struct agent *agent;
    const struct preset *preset;
    const char *enter; /* path of mas-wall */
    char *const *env; /* of the user, which says where the home and programs are */
    char *const *inside_env; /* what the program would get without a wall: an agent may say it */
    char *const *argv; /* the agent's command, whose files are there too */
    const char *program; /* path of its program */
    bool is_approved; /* a person has said yes to what this file says */
    /* The plan of the agent itself (is_first) makes it, those of other programs use it. NULL: this
     * program has a home of its own. */
    struct wall_shared *shared;
    bool is_first;
};

/* What says which level an agent has; the first of these that says something. */
enum wall_source {
    WALL_BY_SESSION, /* --wall, which the session keeps */
    WALL_BY_AGENT, /* its template or config.json */
    WALL_BY_PRESET, /* wall.level */
    WALL_BY_SETTING, /* [wall] level */
    WALL_BY_HOME, /* wall.home: a preset that says what it needs of the home is tried */
    WALL_BY_NOTHING,
};

/* Returns the level for an agent. */
enum wall_level wall_level_of(const struct config *config, const struct team *team,
                              const struct agent *agent, const struct preset *preset);
enum wall_source wall_source_of(const struct config *config, const struct team *team,
                                const struct agent *agent, const struct preset *preset);
/* Appends "wall.level of preset 'claude'". */
void wall_source_describe(const struct config *config, enum wall_source source,
                          const struct preset *preset, struct str *to);

enum wall_mount_kind {
    WALL_MOUNT_READ,
    WALL_MOUNT_WRITE,
    WALL_MOUNT_EMPTY, /* an empty directory in memory */
    WALL_MOUNT_HIDDEN, /* an empty file or directory instead of what is there */
    WALL_MOUNT_COPY, /* a copy of the file */
    WALL_MOUNT_LINK, /* a symbolic link to `from` */
};

struct wall_mount {
    enum wall_mount_kind kind;
    char *path; /* where it is inside; absolute */
    char *from; /* what is there: a path; NULL: `fd` */
    int fd;
};

/* A directory that an agent of the root can write, and with it all that is below. */
struct wall_written {
    dev_t device;
    ino_t inode;
};

struct wall_plan {
    struct wall_report report;
    bool nested;
    char *bwrap; /* path of bubblewrap; NULL: it is not used */
    char *enter; /* path of mas-wall */
    bool landlock; /* the kernel has it */
    bool alone; /* Landlock holds the files, without bubblewrap */
    bool cut; /* the network: a namespace with nothing in it; alone: no sockets for it */
    struct wall_way { /* and the way out of it, for the hosts of a list */
        char *program; /* path of mas-network; NULL: there is none */
        char *tinyproxy; /* its path */
        char *hosts;
        char *log; /* path */
    } way;
    char *home; /* the home directory inside; NULL: none */
    char *user_home; /* if that is another one: the user's */
    struct wall_written *written; /* see plan_open() */
    size_t written_count;
    char **left_out; /* paths that plan_open() refused; NULL: none */
    struct wall_mount *mounts; /* sorted: what is above comes first */
    size_t count;
    char **env; /* what the program gets instead of subject->inside_env */
};

#define WALL_PLAN_INIT                                                                             \
    {                                                                                              \
        .mounts = NULL                                                                             \
    }

/* Makes the plan. With WALL_REQUIRE, fails if a part cannot be held; the error says why, and the
 * hint what to do. With WALL_OFF the plan only reports that. The caller releases *ret with
 * wall_plan_free(). */
int wall_plan_make(const struct wall_subject *subject, const struct wall_probe *probe,
                   struct wall_plan *ret, struct err *err);
void wall_plan_free(struct wall_plan *plan);
#define _cleanup_wall_plan_ __attribute__((cleanup(wall_plan_free)))

/* Fills *ret with what would hold the agent at its next start, as far as that can be told without
 * looking at its files, limits and disk. If it would not start, `missing` says why. */
void wall_foresee(const struct wall_subject *subject, const struct wall_probe *probe,
                  struct wall_report *ret);

/* Removes what the programs of an agent have left in /tmp and in their home. `dir` is the
 * workspace. */
void wall_own_clear(int dir, const char *agent);
void wall_shared_free(struct wall_shared *shared);

/* Fails if the agent's wall.network names hosts, and what that needs is missing. */
int wall_network_check(const struct config *config, const struct agent *agent,
                       const struct preset *preset, const char *enter, char *const *env,
                       struct err *err);

/* Adds what is at a path, or open at `fd`, which the plan takes over. `from` is copied. */
void wall_plan_mount(struct wall_plan *plan, enum wall_mount_kind kind, const char *path,
                     const char *from, int fd);
/* Returns true if the path is in the plan, or below something in it. */
bool wall_plan_has(const struct wall_plan *plan, const char *path);

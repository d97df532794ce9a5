/*
 * The options of a new session, which `mas new` and `mas run` share; `mas start` has --wall, too.
 */
#pragma once

#include "cmd.h"
#include "model/wall.h"
#include "session/life.h"

/* Rows of a table of options. */
#define WALL_OPTION                                                                                \
    {                                                                                              \
        0, "wall", "[=LEVEL]",                                                                     \
            "put walls around the agents: try (without LEVEL), require, off, or default"           \
    }
/* clang-format off */
#define NEW_OPTIONS                                                                                \
    {'n', "name", "NAME", "name the session"},                                         \
    {'t', "template", "TEMPLATE", "the template of the team"},                     \
    {0, "agent", "PRESET", "run all agents of the team with this preset"},           \
    {0, "account", "ACCOUNT[,ACCOUNT]...", "log in with these accounts, the next while one is limited"},                                                                                  \
    {0, "project", "DIR[@REF]", "work on this git repository, from HEAD or REF on"},   \
    {0, "with-changes", NULL, "begin with what is changed and not committed there"},   \
    {0, "setup", "ANSWER", "yes or no: allow the project's .mas/setup, or do without a setup"},                                                                                  \
    {'c', "config", "FILE", "first messages and presets of agents, or a session's config.json"},   \
    {'p', "prompt", "AGENT=TEXT", "the first message of an agent; may be repeated"},   \
    {0, "private", NULL, "make the session private: share no memory"},                 \
    {0, "limit", "KIND=AMOUNT", "limit disk, memory, CPUs or processes; may be repeated"},                                                                                  \
    WALL_OPTION
/* clang-format on */

/* What the options point to. */
struct new_given {
    char **prompts;
    struct life_setup setup;
    struct session_limits limits;
    enum wall_level level;
    const enum wall_level *wall; /* for struct life */
};

#define NEW_GIVEN_INIT                                                                             \
    {                                                                                              \
        .setup = {.wish = LIFE_SETUP_AS_ANSWERED }                                                 \
    }

/* Reads them into *ret and *given, which must outlive it. */
int new_options_read(const struct call *call, struct life_options *ret, struct new_given *given,
                     struct err *err);
/* Reads --wall. *ret_given is `ret`, or NULL without the option. */
int wall_option_read(const struct call *call, enum wall_level *ret,
                     const enum wall_level **ret_given, struct err *err);
/* Warns if the project has a setup that does not run although nobody has declined it. */
void new_options_warn(const struct new_given *given, const struct session *session);
void new_given_free(struct new_given *given);
#define _cleanup_new_given_ __attribute__((cleanup(new_given_free)))

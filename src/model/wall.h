/*
 * Walls: what an agent may reach, as settings, presets and templates ask for it, and as its host
 * reports it. src/wall/ puts them up.
 */
#pragma once

#include "base/json.h"
#include "base/value.h"

enum wall_level {
    WALL_UNSET, /* as the next place says: agent, preset, mas.ini */
    WALL_OFF,
    WALL_TRY, /* what this machine can hold */
    WALL_REQUIRE, /* the agent does not start with less than was asked for */
    WALL_LEVEL_COUNT
};

/* "off", "try" or "require". */
extern const struct value_type wall_level_type;
/* Returns this word; "" for WALL_UNSET. */
const char *wall_level_name(enum wall_level level);

/* The parts of a wall. */
enum wall_part {
    WALL_FILES,
    WALL_PROCESSES,
    WALL_CALLS, /* of the system */
    WALL_SIGNALS,
    WALL_NETWORK,
    WALL_RESOURCES,
    WALL_DISK,
    WALL_PART_COUNT
};

/* The names for people, such as "system calls". */
extern const char *const wall_part_names[WALL_PART_COUNT];

/* How a path below the user's home appears in the home of an agent. */
enum wall_home_kind {
    WALL_HOME_WRITE, /* NAME: the user's own, to read and write */
    WALL_HOME_READ, /* NAME:ro */
    WALL_HOME_COPY, /* NAME:copy: a copy of the file, made at each start */
    WALL_HOME_OWN, /* NAME:own: a directory of the agent itself, which the session keeps */
};

struct wall_home {
    const char *path; /* below the home directory */
    enum wall_home_kind kind;
};

enum { WALL_PATHS_MAX = 64, WALL_PATH_MAX = 1024 };

/* What a preset or the settings say of walls. */
struct wall_options {
    enum wall_level level;
    struct wall_home *home;
    size_t home_count;
    char *home_words; /* its paths */
    char **read, **write; /* paths that are there too: absolute, or "~/..."; NULL: none */
    char *network; /* "open", "none" or a list of hosts; "": not said */
    bool nested; /* programs may make user namespaces */
};

/* Returns NULL, or what valid paths of walls are. */
const char *wall_check_paths(const char *text);
/* Of a whole struct wall_options, which gets its home; of its paths; of its network. */
extern const struct value_type wall_home_type, wall_paths_type, wall_network_type;
void wall_options_free(struct wall_options *options);

enum { WALL_HOLDER_MAX = 64, WALL_WHY_MAX = 1024 };

/* What holds each part for an agent that runs. */
struct wall_report {
    enum wall_level level; /* WALL_UNSET: unknown */
    bool asked[WALL_PART_COUNT];
    char held_by[WALL_PART_COUNT][WALL_HOLDER_MAX]; /* "": nothing; network: also "open" */
    bool sandbox_off; /* the program was told to leave a sandbox of its own off */
    char missing[WALL_WHY_MAX]; /* why something that was asked for is not held; "": all is */
};

/* Says that a part is held. */
void wall_report_hold(struct wall_report *report, enum wall_part part, const char *by);
/* Returns true if both say the same. */
bool wall_report_equal(const struct wall_report *a, const struct wall_report *b);
/* Writes the member "wall"; null if nothing is known. */
void wall_report_put(const struct wall_report *report, struct json_out *out);
/* Reads such an object; NULL: unknown. */
void wall_report_parse(const struct json *object, struct wall_report *ret);
/* Appends "files: bubblewrap, network: open", or "off". */
void wall_report_describe(const struct wall_report *report, struct str *to);
/* The same of a wall that is not up yet: without resources and disk, which its host looks at. */
void wall_report_foretell(const struct wall_report *report, struct str *to);

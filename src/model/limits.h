/*
 * Limits: how much disk space, memory, CPUs and processes a session or an agent may use. The kernel
 * holds the last three (host/resources.c), mas measures the disk (model/disk.h).
 *
 * A limit is said in mas.ini, in a preset, in the template, or by a person for one session; the
 * nearest place counts (store/limits/session_limits.h). What a person says is in the session's
 * limits.json, what the template says in its config.json. Behind a wall an agent has neither.
 */
#pragma once

#include "base/json.h"
#include "base/value.h"

enum limit_kind {
    LIMIT_SESSION, /* bytes on disk, of the whole session */
    LIMIT_AGENT, /* bytes on disk, of an agent's own directories */
    LIMIT_MEMORY, /* bytes, of the processes of an agent together; the next two likewise */
    LIMIT_CPUS, /* hundredths of a CPU */
    LIMIT_PROCESSES, /* and threads */
    LIMIT_KIND_COUNT
};

/* What limits can be: bytes, and processes as many as the kernel can have. */
#define LIMIT_SIZE_MAX (UINT64_C(1) << 50)
#define LIMIT_MEMORY_MIN (UINT64_C(16) << 20)
enum { LIMIT_PROCESSES_MAX = 4194304, LIMIT_CPUS_MAX = 4096 };

enum { LIMIT_TEXT = 40, LIMIT_FROM_MAX = 160 };

/* 0: not set; -1: there is no limit. */
struct limit_set {
    int64_t of[LIMIT_KIND_COUNT];
};

/* The limits that hold for an agent, and where each comes from: "preset 'claude'", "mas set". */
struct limits_held {
    struct limit_held {
        int64_t amount; /* 0: there is no limit */
        char from[LIMIT_FROM_MAX]; /* "": nobody has said anything */
        int64_t used; /* 0 or less: unknown, as it always is between mas and its hosts */
    } of[LIMIT_KIND_COUNT];
};

/* Returns "session", "agent", "memory", "cpus" or "processes"; the reverse takes the first `len`
 * bytes of a text, and returns false for any other one. */
const char *limit_kind_name(enum limit_kind kind);
bool limit_kind_parse(const char *text, size_t len, enum limit_kind *ret);

/* An amount, or "none"; 0 is none, too. */
extern const struct value_type limit_types[LIMIT_KIND_COUNT];
/* Parses one. Returns NULL, or a description of valid values. */
const char *limit_parse(enum limit_kind kind, const char *text, int64_t *ret);
/* Writes an amount so that limit_parse() reads it back; "" if it is not set. */
void limit_write(enum limit_kind kind, int64_t amount, char buf[LIMIT_TEXT]);
/* Writes an amount for people: "1.5G", "0.5", "none". */
void limit_format(enum limit_kind kind, int64_t amount, char buf[LIMIT_TEXT]);
/* Returns true if a preset or an agent can have such a limit: not that of the whole session. */
bool limit_is_of_agent(enum limit_kind kind);

/* Writes the member `key`, an object of texts, if a limit is set. */
void limit_set_put(const char *key, const struct limit_set *set, struct json_out *out);
/* Reads such an object, which may be missing. Returns false if it is not valid. */
bool limit_set_read(const struct json *object, struct limit_set *ret);

/* Writes the member "limits", an object with the amount and the origin of each limit that holds,
 * and with what is used if that is known; null if there is none. */
void limits_held_put(const struct limits_held *held, struct json_out *out);
/* Reads such an object; nothing is limited if it is NULL. */
void limits_held_parse(const struct json *object, struct limits_held *ret);
/* Appends "memory 512M of 2G (preset 'claude'), cpus 1.5 (mas set)"; nothing if there is no
 * limit. */
void limits_held_describe(const struct limits_held *held, struct str *to);
/* Returns true if any limit holds. */
bool limits_held_any(const struct limits_held *held);

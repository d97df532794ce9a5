/*
 * The register of who waits: sessions/.waiting, a line for each agent that needs a person, so that
 * `mas next` need not ask the hosts of all sessions. Each host enters its agent and removes it. The
 * register is a cache: a host may have been killed, so a reader asks the host of an entry before it
 * believes it, and a register that is missing, damaged or incomplete is made again from the answers
 * of all hosts. It is not synced.
 *
 *     MASWAITING1 all
 *     550e8400-e29b-41d4-a716-446655440000 11 1766044800123
 *
 * "some" instead of "all" says that agents may be missing.
 */
#pragma once

#include "base/id.h"
#include "model/team/team.h"
#include "store/root.h"

#define WAITING_FILE ".waiting"
#define WAITING_LOCK ".waiting.lock"

enum {
    WAITING_MAX = 8192, /* entries; further ones are dropped, and the register says "some" */
    WAITING_FILE_MAX = 1 << 20, /* bytes */
};

struct waiting {
    char session[ID_TEXT];
    char agent[TEAM_WORD_MAX + 1];
    int64_t since_ms; /* since 1970 */
};

struct waiting_list {
    struct waiting *entries; /* who has waited longest comes first */
    size_t count;
    bool complete; /* nobody else waits */
};

/* Reads the register; one that cannot be read, or that mas would not write, is empty and not
 * complete. The caller releases *ret with waiting_free(). */
void waiting_read(const struct root *root, struct waiting_list *ret);
void waiting_free(struct waiting_list *list);
#define _cleanup_waiting_ __attribute__((cleanup(waiting_free)))

/* Enters an agent, or changes its entry; `since_ms` 0: removes it. Waits at most wait_ms for other
 * writers: fails with MAS_CONFLICT (after a wait MAS_TIMEOUT) if one is at work. */
int waiting_set(const struct root *root, const char *session, const char *agent, int64_t since_ms,
                int wait_ms, struct err *err);
/* Removes the entries in `gone` that have not changed since they were read, adds those in `found`
 * that are missing and, with `complete`, declares the register complete. */
int waiting_update(const struct root *root, const struct waiting_list *gone,
                   const struct waiting_list *found, bool complete, struct err *err);
/* Append an entry to a list in memory; bring such a list into the order of a register. */
void waiting_add(struct waiting_list *list, const char *session, const char *agent,
                 int64_t since_ms);
void waiting_sort(struct waiting_list *list);

/*
 * Every change reads the whole file, changes the list and replaces the file by a rename, under a
 * lock of its own; if nothing differs, nothing is written. Readers take no lock and see the old
 * file or the new one. A writer that is killed leaves .waiting.new, which the next one removes.
 */

#include "store/limits/waiting.h"

#include "os/file.h"

#define HEAD "MASWAITING1 "
#define FRESH WAITING_FILE ".new"

enum { UPDATE_WAIT_MS = 1000 };

void waiting_free(struct waiting_list *list)
{
    free(list->entries);
    *list = (struct waiting_list){.count = 0};
}

static int compare(const void *a, const void *b)
{
    const struct waiting *x = a;
    const struct waiting *y = b;

    if (x->since_ms != y->since_ms)
        return x->since_ms < y->since_ms ? -1 : 1;
    int by_session = strcmp(x->session, y->session);
    return by_session != 0 ? by_session : strcmp(x->agent, y->agent);
}

void waiting_sort(struct waiting_list *list)
{
    if (list->count > 1)
        qsort(list->entries, list->count, sizeof *list->entries, compare);
}

static struct waiting *find(const struct waiting_list *list, const char *session, const char *agent)
{
    for (size_t i = 0; list->entries != NULL && i < list->count; i++)
        if (strcmp(list->entries[i].agent, agent) == 0 &&
            strcmp(list->entries[i].session, session) == 0)
            return &list->entries[i];
    return NULL;
}

static void drop(struct waiting_list *list, struct waiting *entry)
{
    list->count--; /* the last entry takes its place */
    *entry = entry[list->count - (size_t)(entry - list->entries)];
}

void waiting_add(struct waiting_list *list, const char *session, const char *agent,
                 int64_t since_ms)
{
    struct waiting *entry;

    list->entries = mem_room(list->entries, list->count, sizeof *list->entries);
    entry = &list->entries[list->count++];
    *entry = (struct waiting){.since_ms = since_ms};
    (void)snprintf(entry->session, sizeof entry->session, "%s", session);
    (void)snprintf(entry->agent, sizeof entry->agent, "%s", agent);
}

static bool parse_time(const char *text, int64_t *ret)
{
    size_t len = strspn(text, "0123456789");

    if (len == 0 || len > 15 || text[len] != '\0' || text[0] == '0')
        return false;
    *ret = strtoll(text, NULL, 10);
    return true;
}

static bool parse_line(char *line, struct waiting_list *ret)
{
    char *save = NULL;
    const char *session = strtok_r(line, " ", &save);
    const char *agent = strtok_r(NULL, " ", &save);
    const char *since = strtok_r(NULL, "", &save);
    int64_t ms;

    if (since == NULL || !id_is_valid(session) || !str_is_word(agent, TEAM_WORD_MAX) ||
        !parse_time(since, &ms) || ret->count == WAITING_MAX)
        return false;
    waiting_add(ret, session, agent, ms);
    return true;
}

static bool parse(char *text, size_t len, struct waiting_list *ret)
{
    char *save = NULL;

    if (len == 0 || text[len - 1] != '\n' || strlen(text) != len || !str_starts(text, HEAD))
        return false;
    char *line = strtok_r(text, "\n", &save);
    const char *extent = line + strlen(HEAD);
    ret->complete = strcmp(extent, "all") == 0;
    if (!ret->complete && strcmp(extent, "some") != 0)
        return false;
    while ((line = strtok_r(NULL, "\n", &save)) != NULL)
        if (!parse_line(line, ret))
            return false;
    return true;
}

void waiting_read(const struct root *root, struct waiting_list *ret)
{
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    size_t len = 0;

    *ret = (struct waiting_list){.count = 0};
    if (file_read(root->sessions, WAITING_FILE, WAITING_FILE_MAX, &text, &len, &ignored) == -1)
        return;
    if (!parse(text, len, ret))
        waiting_free(ret);
    waiting_sort(ret);
}

/* Replaces the file. The caller holds the lock. */
static int write_list(const struct root *root, struct waiting_list *list, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;

    if (list->count > WAITING_MAX) { /* who has waited longest stays */
        waiting_sort(list);
        list->count = WAITING_MAX;
        list->complete = false;
    }
    str_addf(&text, HEAD "%s\n", list->complete ? "all" : "some");
    for (size_t i = 0; i < list->count; i++)
        str_addf(&text, "%s %s %" PRId64 "\n", list->entries[i].session, list->entries[i].agent,
                 list->entries[i].since_ms);
    (void)unlinkat(root->sessions, FRESH, 0); /* of a writer that was killed */
    if (file_create(root->sessions, FRESH, text.data, text.len, 0600, err) == -1)
        return -1;
    if (renameat(root->sessions, FRESH, root->sessions, WAITING_FILE) == -1)
        return err_errno(err, "cannot replace '%s'", WAITING_FILE);
    return 0;
}

int waiting_set(const struct root *root, const char *session, const char *agent, int64_t since_ms,
                int wait_ms, struct err *err)
{
    _cleanup_waiting_ struct waiting_list list = {.count = 0};
    _cleanup_close_ int lock = -1;

    if (file_lock(root->sessions, WAITING_LOCK, wait_ms, "host", &lock, err) == -1)
        return -1;
    waiting_read(root, &list);
    struct waiting *entry = find(&list, session, agent);
    if (entry == NULL ? since_ms == 0 : entry->since_ms == since_ms)
        return 0;
    if (entry == NULL)
        waiting_add(&list, session, agent, since_ms);
    else if (since_ms == 0)
        drop(&list, entry);
    else
        entry->since_ms = since_ms;
    return write_list(root, &list, err);
}

int waiting_update(const struct root *root, const struct waiting_list *gone,
                   const struct waiting_list *found, bool complete, struct err *err)
{
    _cleanup_waiting_ struct waiting_list list = {.count = 0};
    _cleanup_close_ int lock = -1;
    bool changed;

    if (file_lock(root->sessions, WAITING_LOCK, UPDATE_WAIT_MS, "next", &lock, err) == -1)
        return -1;
    waiting_read(root, &list);
    changed = complete && !list.complete;
    list.complete = list.complete || complete;
    for (size_t i = 0; i < gone->count; i++) {
        const struct waiting *old = &gone->entries[i];
        struct waiting *entry = find(&list, old->session, old->agent);
        if (entry == NULL || entry->since_ms != old->since_ms)
            continue;
        drop(&list, entry);
        changed = true;
    }
    for (size_t i = 0; i < found->count; i++) {
        const struct waiting *one = &found->entries[i];
        if (find(&list, one->session, one->agent) != NULL)
            continue;
        waiting_add(&list, one->session, one->agent, one->since_ms);
        changed = true;
    }
    return changed ? write_list(root, &list, err) : 0;
}

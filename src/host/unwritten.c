/*
 * Writes of a host that could not be made, as on a full disk. Those to memory.db are kept in their
 * order and tried again, and everything that comes after them waits behind them. What else a host
 * writes later, such as a mark in run/, it knows itself; it calls unwritten_note(), and has a
 * function among those of unwritten_tick(). The status says why, as long as anything is left.
 *
 * A message that was not added yet has a number below 0, which is translated once memory.db has
 * given it one.
 */
#include "host/unwritten.h"

#include "base/time.h"
#include "host/server.h"
#include "host/talk/event.h"
#include "memory/store.h"

enum {
    AGAIN_MS = 1000,
    BYTES_MAX = 8 << 20, /* with so many the agent is not read any more */
};

static void write_free(struct unwritten_write *write)
{
    for (size_t i = 0; i < WRITE_TEXTS; i++)
        free((char *)(uintptr_t)write->text[i]);
}

static void drop_first(struct host_unwritten *unwritten, size_t count)
{
    if (count == 0)
        return; /* there may be no array yet */
    for (size_t i = 0; i < count; i++)
        write_free(&unwritten->writes[i]);
    unwritten->count -= count;
    memmove(unwritten->writes, unwritten->writes + count,
            unwritten->count * sizeof *unwritten->writes);
    if (unwritten->count == 0)
        unwritten->bytes = 0;
}

void unwritten_drop(struct host *host)
{
    struct host_unwritten *unwritten = &host->unwritten;

    drop_first(unwritten, unwritten->count);
    free(unwritten->writes);
    free(unwritten->numbers);
    unwritten->writes = NULL;
    unwritten->numbers = NULL;
    unwritten->added = 0;
    unwritten->why[0] = '\0';
}

static void keep(struct host_unwritten *unwritten, const struct unwritten_write *write)
{
    unwritten->writes = mem_room(unwritten->writes, unwritten->count, sizeof *unwritten->writes);
    struct unwritten_write *kept = &unwritten->writes[unwritten->count++];
    *kept = *write;
    for (size_t i = 0; i < WRITE_TEXTS; i++) {
        size_t len = i > 0 && write->text[i] != NULL ? strlen(write->text[i]) : write->len;
        kept->text[i] = write->text[i] != NULL ? mem_dupn(write->text[i], len) : NULL;
        unwritten->bytes += write->text[i] != NULL ? len : 0;
    }
}

/* Returns true for an error that another try will not mend. */
static bool is_final(const struct err *err)
{
    return err->code == MAS_DAMAGED || err->code == MAS_NOT_FOUND || err->code == MAS_USAGE;
}

/* Returns the number in the store of one that unwritten_write() has returned. */
static int64_t number_in_store(const struct host_unwritten *unwritten, int64_t number)
{
    return number < 0 && (size_t)-number <= unwritten->added ? unwritten->numbers[-number - 1]
                                                             : number;
}

static int run(struct store *store, struct host_unwritten *unwritten, struct unwritten_write *write,
               struct err *err)
{
    struct unwritten_write now = *write;

    now.number = number_in_store(unwritten, write->number);
    now.trigger = number_in_store(unwritten, write->trigger);
    if (now.run(store, &now, err) == -1)
        return -1;
    if (write->number < 0 && now.number > 0)
        unwritten->numbers[-write->number - 1] = now.number;
    write->number = now.number;
    return 0;
}

/* Gives a message that is added later a number of its own. */
static int64_t invent(struct host_unwritten *unwritten)
{
    unwritten->numbers = mem_room(unwritten->numbers, unwritten->added, sizeof *unwritten->numbers);
    unwritten->numbers[unwritten->added++] = 0;
    return -(int64_t)unwritten->added;
}

void unwritten_note(struct host *host, const struct err *err)
{
    struct host_unwritten *unwritten = &host->unwritten;

    unwritten->again = time_monotonic_ms() + AGAIN_MS;
    (void)snprintf(unwritten->why, sizeof unwritten->why, "not written: %s", err->text);
    server_mark_dirty(host);
}

int64_t unwritten_write(struct host *host, struct store *store, const struct unwritten_write *write,
                        struct err *err)
{
    struct host_unwritten *unwritten = &host->unwritten;
    struct unwritten_write now = *write;

    if (unwritten->count == 0) {
        if (store != NULL && run(store, unwritten, &now, err) == 0)
            return now.number;
        if (is_final(err))
            return 0;
        unwritten_note(host, err);
    }
    if (now.adds)
        now.number = invent(unwritten);
    keep(unwritten, &now);
    return now.number;
}

int unwritten_flush(struct host *host, struct store *store, struct err *err)
{
    struct host_unwritten *unwritten = &host->unwritten;
    size_t done = 0;

    while (done < unwritten->count) {
        struct err why = ERR_INIT;
        if (run(store, unwritten, &unwritten->writes[done], &why) == -1) {
            if (why.code == MAS_DAMAGED) {
                *err = why;
                return -1; /* the caller drops them all */
            }
            if (!is_final(&why))
                break;
            host_log(host, why.text);
        }
        done++;
    }
    drop_first(unwritten, done);
    return 0;
}

void unwritten_close(struct host *host)
{
    const struct host_unwritten *unwritten = &host->unwritten;

    if (unwritten->count > 0) {
        _cleanup_free_ char *words = mem_printf("%zu writes to %s are lost; %s", unwritten->count,
                                                STORE_FILE, unwritten->why);
        host_log(host, words);
    }
    unwritten_drop(host);
}

bool unwritten_holds(struct host *host)
{
    return host->unwritten.count > 0;
}

bool unwritten_is_full(const struct host *host)
{
    return host->unwritten.bytes > BYTES_MAX;
}

int64_t unwritten_tick(struct host *host, unwritten_try *const tries[], size_t count, int64_t now)
{
    static const char words[] = "what could not be written is there now";
    struct host_unwritten *unwritten = &host->unwritten;
    bool all = true;

    if (unwritten->why[0] == '\0')
        return -1;
    if (now < unwritten->again)
        return unwritten->again;
    for (size_t i = 0; i < count; i++)
        all = tries[i](host) && all;
    unwritten->again = now + AGAIN_MS;
    if (!all)
        return unwritten->again;
    unwritten->why[0] = '\0';
    host_log(host, words);
    if (host->talk != NULL)
        event_tell_text(host, "note", 0, 0, words, strlen(words));
    server_mark_dirty(host);
    return -1;
}

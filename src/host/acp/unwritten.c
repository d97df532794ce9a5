/*
 * Writes that memory.db has not taken, as on a full disk. They are kept in their order and tried
 * again, and everything that comes after them waits behind them. A message that was not added yet
 * has a number below 0, which is translated once memory.db has given it one.
 */
#include "host/acp/conversation.h"

#include "base/str.h"
#include "base/time.h"
#include "host/acp/turn_side.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    AGAIN_MS = 1000,
    BYTES_MAX = 8 << 20, /* with so many the agent is not read any more */
};

static void write_free(struct unwritten_write *write)
{
    for (size_t i = 0; i < WRITE_TEXTS; i++)
        free((char *)(uintptr_t)write->text[i]);
}

static void drop_first(struct unwritten *unwritten, size_t count)
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

void unwritten_drop(struct unwritten *unwritten)
{
    drop_first(unwritten, unwritten->count);
    free(unwritten->writes);
    free(unwritten->numbers);
    *unwritten = (struct unwritten){.count = 0};
}

int64_t unwritten_number(const struct unwritten *unwritten, int64_t number)
{
    return number < 0 && (size_t)-number <= unwritten->added ? unwritten->numbers[-number - 1]
                                                             : number;
}

static void keep(struct unwritten *unwritten, const struct unwritten_write *write)
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

static int run(struct store *store, struct unwritten *unwritten, struct unwritten_write *write,
               struct err *err)
{
    struct unwritten_write now = *write;

    now.number = unwritten_number(unwritten, write->number);
    if (now.run(store, &now, err) == -1)
        return -1;
    if (write->number < 0 && now.number > 0)
        unwritten->numbers[-write->number - 1] = now.number;
    write->number = now.number;
    return 0;
}

/* Gives a message that is added later a number of its own. */
static int64_t invent(struct unwritten *unwritten)
{
    unwritten->numbers = mem_room(unwritten->numbers, unwritten->added, sizeof *unwritten->numbers);
    unwritten->numbers[unwritten->added++] = 0;
    return -(int64_t)unwritten->added;
}

int64_t memory_write(struct host *host, const struct unwritten_write *write)
{
    struct conversation_memory *memory = &host->conversation->memory;
    struct unwritten *unwritten = &memory->unwritten;
    struct unwritten_write now = *write;
    struct err err = ERR_INIT;

    if (memory->store == NULL)
        return 0;
    if (unwritten->count == 0) {
        if (run(memory->store, unwritten, &now, &err) == 0)
            return now.number;
        unwritten->again = time_monotonic_ms() + AGAIN_MS;
        (void)snprintf(unwritten->why, sizeof unwritten->why, "not written: %s", err.text);
        memory_failed(host, &err);
        if (is_final(&err))
            return 0;
    }
    if (now.adds)
        now.number = invent(unwritten);
    keep(unwritten, &now);
    server_mark_dirty(host);
    return now.number;
}

/* Writes what has waited, as far as that is possible now. */
static void flush(struct host *host)
{
    struct conversation_memory *memory = &host->conversation->memory;
    struct unwritten *unwritten = &memory->unwritten;
    struct err err = ERR_INIT;
    size_t done = 0;

    while (memory->store != NULL && done < unwritten->count) {
        if (run(memory->store, unwritten, &unwritten->writes[done], &err) == 0) {
            done++;
            continue;
        }
        if (err.code == MAS_DAMAGED) { /* forgets all that is kept for it */
            memory_failed(host, &err);
            return;
        }
        if (!is_final(&err))
            break;
        host_log(host, err.text);
        done++;
    }
    drop_first(unwritten, done);
    if (done == 0 || unwritten->count > 0)
        return;
    event_say(host, false, "what could not be written to " STORE_FILE " is there now");
    host_log(host, "what could not be written to " STORE_FILE " is there now");
    server_mark_dirty(host);
}

int64_t unwritten_tick(struct host *host, int64_t now)
{
    struct unwritten *unwritten = &host->conversation->memory.unwritten;

    if (unwritten->count > 0 && now >= unwritten->again) {
        flush(host);
        unwritten->again = now + AGAIN_MS;
    }
    return unwritten->count > 0 ? unwritten->again : -1;
}

void unwritten_close(struct host *host)
{
    struct unwritten *unwritten = &host->conversation->memory.unwritten;

    if (unwritten->count > 0)
        flush(host);
    if (unwritten->count > 0) {
        _cleanup_free_ char *words = mem_printf("%zu writes to %s are lost; %s", unwritten->count,
                                                STORE_FILE, unwritten->why);
        host_log(host, words);
    }
    unwritten_drop(unwritten);
}

bool unwritten_holds(struct host *host)
{
    return host->conversation->memory.unwritten.count > 0;
}

bool unwritten_is_full(const struct conversation *conversation)
{
    return conversation->memory.unwritten.bytes > BYTES_MAX;
}

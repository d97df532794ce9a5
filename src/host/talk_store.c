#include "host/talk.h"

#include "base/str.h"
#include "host/state.h"

#include <stdio.h>

static int open_store(struct host *host, struct err *err)
{
    struct talk *talk = host->talk;
    struct store *store = NULL;

    if (store_open(host->dir, host->session.id, host->agent->id, true, &store, err) == -1)
        return -1;
    if (store_enter(store, CHOICE_CURRENT, NULL, &talk->place, err) == -1) {
        store_close(store);
        return -1;
    }
    talk->store = store;
    if (talk_read_queue(host, err) == 0)
        return 0;
    talk->store = NULL;
    store_place_free(&talk->place);
    store_close(store);
    return -1;
}

/* Puts a damaged database out of the way. */
static int set_aside(struct host *host, struct err *err)
{
    _cleanup_free_ char *name = NULL;

    if (store_set_aside(host->dir, &name, err) == -1)
        return -1;
    _cleanup_free_ char *words =
        mem_printf("%s was damaged and is kept as %s; a new one was begun", STORE_FILE, name);
    host_log(host, words);
    talk_say(host, false, "%s", words);
    return 0;
}

static int need_store(struct host *host, bool *ret_aside, struct err *err)
{
    struct talk *talk = host->talk;

    if (talk->store != NULL)
        return 0;
    if (open_store(host, err) == 0)
        return 0;
    *ret_aside = err->code == MAS_DAMAGED && set_aside(host, err) == 0;
    if (*ret_aside && open_store(host, err) == 0)
        return 0;
    (void)snprintf(talk->store_error, sizeof talk->store_error, "%s", err->text);
    return -1;
}

int talk_need_store(struct host *host, struct err *err)
{
    bool aside = false;
    return need_store(host, &aside, err);
}

/* The conversation of a new store is that of the agent's session: it still knows what was said. */
static void begin_anew(struct host *host, bool said)
{
    struct talk *talk = host->talk;
    struct err err = ERR_INIT;

    if (talk->session != NULL && talk_keep_session(host, STORE_FILE " was set aside", &err) == -1)
        host_log(host, err.text);
    if (!said) /* another one of the team, or doctor, has done it */
        talk_say(host, false, STORE_FILE " was set aside; a new one was begun");
}

bool talk_renew_store(struct host *host, struct err *err)
{
    if (err->code != MAS_DAMAGED || host->talk->store == NULL)
        return false;
    talk_store_failed(host, err);
    if (host->talk->store == NULL)
        return false;
    *err = (struct err)ERR_INIT;
    return true;
}

void talk_store_failed(struct host *host, const struct err *err)
{
    struct talk *talk = host->talk;
    bool said = talk->turn.unkept;
    struct err again = ERR_INIT;

    talk->turn.unkept = true;
    if (!said)
        host_log(host, err->text);
    if (err->code == MAS_DAMAGED) {
        store_close(talk->store);
        talk->store = NULL;
        store_place_free(&talk->place);
        talk->place = (struct store_place){.query = 0};
        talk->turn.answer = talk->turn.thought = talk->turn.plan = 0;
        for (size_t i = 0; i < talk->turn.tool_count; i++)
            talk->turn.tools[i].number = 0;
        for (size_t i = 0; i < talk->count; i++)
            talk->queue[i].conversation[0] = '\0';
        bool aside = false;
        if (need_store(host, &aside, &again) == 0) {
            begin_anew(host, aside);
            return;
        }
    }
    if (!said)
        talk_say(host, false, "what is said now cannot be kept: %s", err->text);
}

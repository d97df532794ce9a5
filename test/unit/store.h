/*
 * What the tests of the store share: a workspace of their own, a store in it, short calls.
 */
#pragma once

#include "place.h"

#include "memory/store.h"

#define SESSION "550e8400-e29b-41d4-a716-446655440000"

UNIT_MAYBE static struct store *opened(const struct place *place, const char *agent)
{
    struct store *store = NULL;
    struct err err = ERR_INIT;

    WELL(store_open(place->dir, SESSION, agent, agent != NULL, &store, &err));
    return store;
}

/* The current query of the writer's agent. */
UNIT_MAYBE static int64_t query_of(struct store *store)
{
    struct store_place place = {.query = 0};
    struct err err = ERR_INIT;

    WELL(store_enter(store, CHOICE_CURRENT, NULL, &place, &err));
    int64_t query = place.query;
    store_place_free(&place);
    return query;
}

UNIT_MAYBE static int64_t add(struct store *store, int64_t query, enum store_role role,
                              enum store_state state, const char *text, int64_t trigger)
{
    struct err err = ERR_INIT;
    int64_t number = 0;
    struct store_message message = {
        .role = role, .state = state, .text = text, .len = strlen(text), .trigger = trigger};

    WELL(store_add(store, query, &message, SYNC_CHUNK, &number, &err));
    return number;
}

/* A prompt and its answer, ended. */
UNIT_MAYBE static int64_t turn(struct store *store, int64_t query, const char *prompt,
                               const char *answer)
{
    struct err err = ERR_INIT;
    int64_t number = add(store, query, ROLE_USER, MESSAGE_OPEN, prompt, 0);

    (void)add(store, query, ROLE_AGENT, MESSAGE_OPEN, answer, number);
    WELL(store_end_turn(store, query, number, "end_turn", MESSAGE_DONE, NULL, &err));
    return number;
}

/* Messages as lines: role, state, text. */
UNIT_MAYBE static bool add_row(const struct store_item *item, void *arg)
{
    struct str *to = arg;

    str_addf(to, "%s %s %s %.*s\n", item->agent, store_role_name(item->role),
             store_state_name(item->state), (int)item->len, item->text);
    return true;
}

UNIT_MAYBE static void check_rows(struct store *store, const struct store_filter *filter,
                                  const char *want)
{
    _cleanup_str_ struct str rows = STR_INIT;
    struct err err = ERR_INIT;

    WELL(store_read(store, filter, add_row, &rows, &err));
    CHECK_STR(str_text(&rows), want);
}

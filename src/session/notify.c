#include "session/notify.h"

#include "client/roster.h"
#include "memory/store.h"
#include "model/message.h"
#include "session/launch.h"

enum { ACCEPT_MS = 10000 }; /* time for a host to accept a text */

static bool on_reply(struct host_call *call, const struct frame *reply, void *arg)
{
    (void)arg;
    (void)hosts_reply_error(reply->head, &call->err);
    return true;
}

/* Adds a prompt that waits, as the host of an ACP agent does. */
static int keep_prompt(struct store *store, const char *from, const char *text, struct err *err)
{
    const struct store_message message = {.role = ROLE_USER,
                                          .state = MESSAGE_OPEN,
                                          .text = text,
                                          .len = strlen(text),
                                          .sender = from};
    struct store_place place = {.query = 0};
    int64_t number = 0;

    if (store_enter(store, CHOICE_CURRENT, NULL, &place, err) == -1)
        return -1;
    int rc = store_add(store, place.query, &message, SYNC_FULL, &number, err);
    store_place_free(&place);
    return rc;
}

/* Adds a text that the next host of the agent delivers. */
static int keep(const struct config *config, const struct roster *roster, const char *from,
                const char *text, struct err *err)
{
    const struct roster_team *team = &roster->teams[0];
    const struct agent *agent = roster->agents[0].agent;
    const struct preset *preset = NULL;
    _cleanup_strv_ char **argv = NULL;
    _cleanup_store_ struct store *store = NULL;
    const struct store_input input = {.agent = agent->id,
                                      .sender = from,
                                      .enter = true,
                                      .note = true,
                                      .text = text,
                                      .len = strlen(text)};
    int64_t number = 0;

    if (launch_command(config, &team->team, agent, "/bin/sh", &argv, &preset, err) == -1)
        return -1;
    bool acp = preset->protocol == PROTOCOL_ACP;
    if (store_open(team->dir, team->id, acp ? agent->id : NULL, true, &store, err) == -1)
        return -1;
    return acp ? keep_prompt(store, from, text, err) : store_input_add(store, &input, &number, err);
}

int notify_agent(const struct root *root, const struct config *config, const char *id,
                 const char *agent, const char *from, const char *text, struct err *err)
{
    _cleanup_roster_ struct roster roster = ROSTER_INIT;
    _cleanup_str_ struct str head = STR_INIT;
    struct roster_team team;
    struct err why = ERR_INIT;

    if (roster_open(root, id, &team, err) == -1 || roster_add(&roster, &team, agent, err) == -1)
        return -1;
    message_request(&(struct message_options){.from = from, .note = true}, &head);
    const struct roster_request request = {
        .what = "send to", .head = head.data, .body = text, .body_len = strlen(text)};
    if (roster_ask_live(root, &roster, &request, &why) == -1)
        return why.code == MAS_CONFLICT ? keep(config, &roster, from, text, err) : (*err = why, -1);
    hosts_finish(roster.calls, roster.asked, ACCEPT_MS, on_reply, NULL);
    enum host_answer answer = roster.calls[0].answer;
    return answer == HOST_ENDED || answer == HOST_ABSENT
               ? keep(config, &roster, from, text, err)
               : roster_failure(&roster, 0, "send to", err);
}

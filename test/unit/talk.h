/*
 * What the tests of a talk share: a host with a session of its own, whose agent does only what the
 * test says, and a client that listens.
 */
#pragma once

#include "root.h"

#include "host/acp/conversation.h"
#include "host/backend.h"
#include "host/talk/event.h"
#include "host/talk/memory.h"
#include "host/talk/parts.h"
#include "host/talk/permission.h"
#include "host/talk/queue.h"
#include "host/talk/said.h"

struct world {
    struct place place;
    struct root root;
    struct team team;
    struct agent agent;
    struct preset preset;
    struct config config;
    struct host host;
    union { /* the talk is its first member */
        struct talk talk;
        struct conversation conversation;
    };
    int dir;
    bool open;
    /* what the agent does and says of itself */
    bool ready, rests;
    const char *awake; /* what keeps it awake; NULL: nothing */
    struct str calls; /* what was asked of it, one after the other */
};

static struct world *the_world;

static void do_show(struct host *host, const char *event, const char *text, size_t len)
{
    (void)host, (void)event, (void)text, (void)len;
}

static bool do_is_ready(const struct host *host)
{
    (void)host;
    return the_world->ready;
}

static void call(const char *name, const char *what)
{
    str_addf(&the_world->calls, "%s(%s)", name, what);
}

static void do_send(struct host *host)
{
    call("send", host->talk->turn.prompt.text);
}

static void do_succeeds(struct host *host)
{
    (void)host;
    call("succeeds", "");
}

static bool do_cancel(struct host *host)
{
    call("cancel", "");
    return host->talk->turn.on;
}

static const char *do_model(const struct host *host)
{
    (void)host;
    return "m1";
}

static int do_permit(struct host *host, size_t index, const struct word *option,
                     const struct verdict *verdict, struct answered_permission *ret,
                     struct err *err)
{
    (void)ret, (void)err;
    call("permit", option->id);
    permission_close(host, index, option, verdict->by);
    return 0;
}

static void do_refuse(struct host *host, const struct asked_permission *permission)
{
    (void)host;
    call("refuse", permission->ticket);
}

static enum agent_state do_unready(const struct host *host)
{
    (void)host;
    return AGENT_STARTING;
}

static const char *do_note(const struct host *host)
{
    (void)host;
    return "";
}

static int do_check_mode(const struct host *host, const char *mode, struct err *err)
{
    (void)host;
    return strcmp(mode, "none") == 0 ? err_set(err, MAS_NOT_FOUND, "it has no such mode") : 0;
}

static void do_cut_off(struct host *host)
{
    (void)host;
    call("cut_off", "");
}

static void do_leave(struct host *host, int64_t turn, bool cleared)
{
    (void)host;
    str_addf(&the_world->calls, "leave(%d%s)", (int)turn, cleared ? " cleared" : "");
}

static bool do_is_at_rest(const struct host *host)
{
    (void)host;
    return the_world->rests;
}

static bool do_is_kept_awake(const struct host *host, struct str *why)
{
    (void)host;
    if (the_world->awake != NULL)
        str_add(why, the_world->awake);
    return the_world->awake != NULL;
}

static void do_keep_session(struct host *host, const char *note)
{
    (void)host;
    call("keep_session", note != NULL ? note : "");
}

static void do_forget_numbers(struct host *host)
{
    (void)host;
    call("forget_numbers", "");
}

static const struct talk_ops talk_ops = {.show = do_show,
                                         .is_ready = do_is_ready,
                                         .send = do_send,
                                         .succeeds = do_succeeds,
                                         .cancel = do_cancel,
                                         .model = do_model,
                                         .permit = do_permit,
                                         .refuse = do_refuse,
                                         .unready = do_unready,
                                         .note = do_note,
                                         .check_mode = do_check_mode,
                                         .cut_off = do_cut_off,
                                         .leave = do_leave,
                                         .is_at_rest = do_is_at_rest,
                                         .is_kept_awake = do_is_kept_awake,
                                         .keep_session = do_keep_session,
                                         .forget_numbers = do_forget_numbers};

static void do_say(struct host *host, const char *words)
{
    (void)host, (void)words;
}

static const struct backend world_backend = {.kind = BACKEND_ACP, .say = do_say};

/* Begins the host, as after a kill of the one before. */
UNIT_MAYBE static void world_open(struct world *world)
{
    struct host *host = &world->host;

    *host = (struct host){.root = world->root,
                          .config = world->config,
                          .team = world->team,
                          .agent = &world->agent,
                          .preset = &world->preset,
                          .dir = world->dir,
                          .run = path_open_dir(world->dir, WORKSPACE_RUN),
                          .backend = &world_backend,
                          .conversation = &world->conversation,
                          .talk = &world->talk};
    memcpy(host->session.id, ID(0), ID_TEXT);
    host->child.phase = CHILD_RUNS;
    host->server.clients[0] = (struct client){.conn = CONN_INIT, .kind = CLIENT_LISTENS};
    host->server.count = 1;
    world->conversation = (struct conversation){.talk.ops = &talk_ops};
    world->talk.session = mem_dup("S1");
    world->open = true;
    parts_open(host);
    str_clear(&world->calls);
    conn_discard(&host->server.clients[0].conn);
}

/* Frees a turn, as a kill would. */
UNIT_MAYBE static void world_drop_turn(struct turn *turn)
{
    queue_free_prompt(&turn->prompt);
    for (size_t i = 0; i < turn->steered_count; i++)
        queue_free_prompt(&turn->steered[i]);
    free(turn->steered);
    said_free_tools(&turn->tools);
    free(turn->plan_text);
}

/* Ends it. */
UNIT_MAYBE static void world_close(struct world *world)
{
    struct host *host = &world->host;

    if (!world->open)
        return;
    while (world->talk.permissions.count > 0)
        permission_close(host, 0, NULL, "cancelled");
    world_drop_turn(&world->talk.turn);
    parts_close(host);
    free(world->talk.session);
    fd_closep(&host->run);
    for (size_t i = 0; i < host->server.count; i++)
        conn_close(&host->server.clients[i].conn);
    str_free(&host->notify.waiting);
    world->open = false;
}

UNIT_MAYBE static void world_free(struct world *world)
{
    world_close(world);
    config_free(&world->config);
    preset_free(&world->preset);
    str_free(&world->calls);
    fd_closep(&world->dir);
    root_close(&world->root);
    place_free(&world->place);
}
#define _cleanup_world_ __attribute__((cleanup(world_free)))

/* Makes it; the host is not begun. */
UNIT_MAYBE static bool world_make(struct world *world)
{
    static char none[] = "", id[] = "w1";
    struct err err = ERR_INIT;

    *world = (struct world){.place = place_make(),
                            .root = ROOT_INIT,
                            .config = CONFIG_INIT,
                            .agent = {.id = id,
                                      .role = none,
                                      .group = none,
                                      .preset = none,
                                      .model = none,
                                      .command = none,
                                      .system = none,
                                      .prompt = none,
                                      .hibernate = none},
                            .team = {.description = none, .preset = none, .wants = none},
                            .dir = -1,
                            .ready = true,
                            .rests = true};
    the_world = world;
    root_clear_env(&world->place);
    preset_make(&world->preset, "fake");
    world->team.agents = &world->agent;
    world->team.agent_count = 1;
    if (!root_make(&world->place, &world->root) || !root_put_session(&world->root, ID(0), NULL) ||
        !WELL(config_load(NULL, false, &world->config, NULL, &err)))
        return false;
    world->dir = workspace_open(&world->root, ID(0));
    return CHECK_INT(mkdirat(world->dir, WORKSPACE_RUN, 0700), 0) &&
           CHECK_INT(mkdirat(world->dir, WORKSPACE_LOGS, 0700), 0);
}

/* A test's own world, begun. */
#define A_WORLD                                                                                    \
    _cleanup_world_ struct world world;                                                            \
    REQUIRE(world_make(&world));                                                                   \
    world_open(&world);                                                                            \
    UNIT_MAYBE struct host *host = &world.host;                                                    \
    UNIT_MAYBE struct talk *talk = &world.talk;                                                    \
    UNIT_MAYBE struct err err = ERR_INIT

/* What the client that listens was told since the last call: events as lines, bodies as they are.
 * Ids of messages are only numbers. The caller frees it. */
UNIT_MAYBE static char *told(struct world *world, size_t index)
{
    struct conn *conn = &world->host.server.clients[index].conn;
    struct frames frames = {.at = 0};
    struct frame frame = {.head = NULL};
    struct str text = STR_INIT;
    struct err err = ERR_INIT;

    frames_feed(&frames, str_text(&conn->out) + conn->sent, conn_unsent(conn));
    while (frames_next(&frames, &frame, &err) == 1) {
        struct json_out out = {.to = &text};
        json_put_node(&out, NULL, frame.head);
        str_addf(&text, " %.*s\n", (int)frame.body_len, frame.body != NULL ? frame.body : "");
        frame_free(&frame);
    }
    frames_free(&frames);
    conn_discard(conn);
    char *ret = mem_dup(str_text(&text));
    char *to = ret;
    for (const char *at = ret; *at != '\0';) {
        if (str_starts(at, ID(0) ":"))
            at += strlen(ID(0) ":");
        else
            *to++ = *at++;
    }
    *to = '\0';
    str_free(&text);
    return ret;
}

#define CHECK_TOLD(text_)                                                                          \
    do {                                                                                           \
        _cleanup_free_ char *told_ = told(&world, 0);                                              \
        CHECK_STR(told_, (text_));                                                                 \
    } while (0)

#define CHECK_CALLS(text_)                                                                         \
    do {                                                                                           \
        CHECK_STR(str_text(&world.calls), (text_));                                                \
        str_clear(&world.calls);                                                                   \
    } while (0)

/* Messages of the store as lines: role, state, end, sender, text. */
UNIT_MAYBE static bool world_row(const struct store_item *item, void *arg)
{
    struct str *to = arg;

    str_addf(to, "%s %s", store_role_name(item->role), store_state_name(item->state));
    if (item->stop_reason != NULL)
        str_addf(to, " %s", item->stop_reason);
    if (item->sender != NULL)
        str_addf(to, " from %s", item->sender);
    str_addf(to, " %.*s\n", (int)item->len, item->text);
    return true;
}

/* What is stored, with these roles; 0: any. The caller frees it. */
UNIT_MAYBE static char *stored(const struct world *world, unsigned roles)
{
    const struct store_filter filter = {.roles = roles};
    struct str rows = STR_INIT;
    struct err err = ERR_INIT;

    WELL(store_read(world->talk.memory.store, &filter, world_row, &rows, &err));
    char *ret = mem_dup(str_text(&rows));
    str_free(&rows);
    return ret;
}

#define CHECK_STORED(roles_, text_)                                                                \
    do {                                                                                           \
        _cleanup_free_ char *rows_ = stored(&world, (roles_));                                     \
        CHECK_STR(rows_, (text_));                                                                 \
    } while (0)

/* Queues a prompt of a person. Returns its number. */
UNIT_MAYBE static int64_t queue_text(struct world *world, const char *text)
{
    const struct new_prompt prompt = {.text = text, .len = strlen(text), .from = "-"};
    struct err err = ERR_INIT;
    int64_t number = 0;

    WELL(queue_add(&world->host, &prompt, &number, &err));
    return number;
}

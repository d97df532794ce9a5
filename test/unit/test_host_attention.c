/* What a person knows of an agent, and whom the host of it serves. */
#include "talk.h"

#include "host/server.h"
#include "store/limits/waiting.h"

#include <sys/socket.h>

static struct agent_status status_of(enum agent_state state)
{
    static char none[] = "";

    return (struct agent_status){.state = state, .note = none, .exit_code = -1};
}

/* A turn of the host's loop: the agent is in this state now. */
static struct agent_status now_is(struct host *host, struct agent_status now)
{
    attention_update(host, &now);
    host->told = now;
    host->told.turn_why = NULL;
    return now;
}

TEST(a_program_has_done_something_once_it_was_idle_before)
{
    A_WORLD;

    struct agent_status now = now_is(host, status_of(AGENT_STARTING));
    (void)now_is(host, status_of(AGENT_WORKING));
    now = now_is(host, status_of(AGENT_IDLE)); /* its greeting */
    CHECK_INT(now.turn, TURN_NONE);
    CHECK_INT(now.done_ms, 0);
    (void)now_is(host, status_of(AGENT_WORKING));
    now = now_is(host, status_of(AGENT_IDLE));
    CHECK_INT(now.turn, TURN_DONE);
    CHECK(now.done_ms > 0);
    CHECK_INT(host->attention.class, ATTENTION_DONE);
    attention_seen(host);
    now = now_is(host, status_of(AGENT_IDLE));
    CHECK(now.seen_ms >= now.done_ms);
    CHECK_INT(host->attention.class, ATTENTION_IDLE);
    /* a new process greets again */
    (void)now_is(host, status_of(AGENT_WORKING));
    (void)now_is(host, status_of(AGENT_STARTING));
    int64_t done = host->attention.done_ms;
    (void)now_is(host, status_of(AGENT_WORKING));
    (void)now_is(host, status_of(AGENT_IDLE));
    CHECK_INT(host->attention.done_ms, done);
    /* one that speaks ACP tells its turns */
    struct agent_status acp = status_of(AGENT_WORKING);
    acp.tells = true;
    (void)now_is(host, acp);
    acp.state = AGENT_IDLE;
    (void)now_is(host, acp);
    CHECK_INT(host->attention.done_ms, done);
}

TEST(an_end_by_itself_with_an_error_is_a_failure)
{
    static const struct {
        int exit_code;
        int64_t restart_ms;
        bool asked, turn_failed;
        enum turn_outcome turn;
    } table[] = {
        {3, 0, false, false, TURN_FAILED}, {0, 0, false, false, TURN_DONE},
        {3, 99, false, false, TURN_DONE}, /* it starts again */
        {3, 0, true, false, TURN_NONE},    {3, 0, false, true, TURN_FAILED},
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        A_WORLD;
        char note[] = "last words";
        struct agent_status works = status_of(AGENT_WORKING);
        works.tells = table[i].turn_failed; /* only these tell their turns */
        (void)now_is(host, works);
        host->child.asked = table[i].asked;
        if (table[i].turn_failed)
            attention_turn_ended(host, TURN_FAILED, "the turn");
        struct agent_status end = status_of(AGENT_EXITED);
        end.tells = works.tells;
        end.exit_code = table[i].exit_code;
        end.restart_ms = table[i].restart_ms;
        end.note = note;
        end = now_is(host, end);
        CHECK_INT(host->attention.turn, table[i].turn);
        if (i == 0)
            CHECK(strstr(host->attention.why, "3") != NULL &&
                  str_ends(host->attention.why, ": last words"));
        int64_t done = host->attention.done_ms;
        end = status_of(AGENT_EXITED);
        end.exit_code = table[i].exit_code;
        host->attention.done_ms = 1;
        (void)now_is(host, end); /* once */
        CHECK_INT(host->attention.done_ms, 1);
        CHECK(done > 0 || table[i].turn == TURN_NONE);
    }
}

TEST(why_a_turn_failed_is_cut_at_a_character)
{
    A_WORLD;
    _cleanup_str_ struct str why = STR_INIT;

    while (why.len < AGENT_NOTE_MAX + 10)
        str_add(&why, "\303\244");
    attention_turn_ended(host, TURN_FAILED, why.data);
    size_t len = strlen(host->attention.why);
    CHECK(len >= AGENT_NOTE_MAX - 2 && len < AGENT_NOTE_MAX);
    CHECK(str_is_utf8(host->attention.why, len));
    attention_turn_ended(host, TURN_DONE, NULL);
    CHECK_STR(host->attention.why, "");
}

/* Whoever has asked sees the end; who only listens does not see a failure. */
TEST(it_is_seen_by_persons_who_follow_it)
{
    static const struct {
        enum client_kind kind;
        enum peer_kind whose;
        bool asked, agent, pane;
        bool seen[2]; /* a turn that is done, that has failed */
    } table[] = {
        {CLIENT_ASKS, PEER_PERSON, false, false, false, {true, true}},
        {CLIENT_LISTENS, PEER_PERSON, true, false, false, {true, true}},
        {CLIENT_LISTENS, PEER_PERSON, false, false, false, {true, false}},
        {CLIENT_LISTENS, PEER_PERSON, true, false, true, {false, false}}, /* the pane itself */
        {CLIENT_ASKS, PEER_AGENT, false, false, false, {false, false}},
        {CLIENT_ASKS, PEER_PERSON, false, true, false, {false, false}}, /* in an agent's name */
        {CLIENT_WATCHES, PEER_PERSON, true, false, false, {false, false}},
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        for (int failed = 0; failed < 2; failed++) {
            A_WORLD;
            struct client *clients = host->server.clients;
            clients[0].kind = CLIENT_WATCHES;
            clients[1] = (struct client){.conn = CONN_INIT,
                                         .kind = table[i].kind,
                                         .whose = table[i].whose,
                                         .asked = table[i].asked,
                                         .agent = &world.agent,
                                         .peer = {.pid = 77},
                                         .from = table[i].agent ? "w2" : NULL};
            clients[2] = (struct client){.conn = CONN_INIT, .kind = CLIENT_NEW};
            host->server.count = 3;
            host->pane_program = table[i].pane ? 77 : 0;
            attention_turn_ended(host, failed ? TURN_FAILED : TURN_DONE, NULL);
            CHECK_INT(host->attention.seen_ms >= host->attention.done_ms, table[i].seen[failed]);
            for (int k = 0; k < 3; k++) /* watchers are told */
                CHECK_INT(clients[k].dirty, table[i].seen[failed]);
        }
    }
}

TEST(tmux_is_asked_only_if_it_matters)
{
    A_WORLD;

    (void)snprintf(host->pane_id, sizeof host->pane_id, "%%1");
    host->server.clients[0].kind = CLIENT_WATCHES;
    (void)now_is(host, status_of(AGENT_IDLE));
    attention_answered(host, true); /* there was nothing to see */
    CHECK_INT(host->attention.seen_ms, 0);
    attention_keys(host);
    CHECK(!attention_asks(host));
    struct agent_status waits = status_of(AGENT_WAITING);
    (void)now_is(host, waits);
    CHECK_INT(host->attention.class, ATTENTION_NEEDED);
    CHECK(attention_asks(host) && !host->attention.known && !host->attention.looked);
    attention_asked(host);
    CHECK(!attention_asks(host) && !host->attention.known);
    attention_answered(host, false);
    CHECK(host->attention.known && !host->attention.looked);
    attention_keys(host); /* nobody has looked: the keys may be by somebody who does */
    CHECK(attention_asks(host) && !host->attention.known);
    attention_answered(host, false); /* an answer to the look before is none */
    CHECK(!host->attention.known);
    attention_asked(host);
    attention_answered(host, true);
    CHECK(host->attention.known && host->attention.looked);
    attention_keys(host);
    CHECK(!attention_asks(host));
    /* without a pane there is nobody to ask */
    host->pane_id[0] = '\0';
    (void)now_is(host, status_of(AGENT_WORKING));
    (void)now_is(host, waits);
    CHECK(!attention_asks(host) && host->attention.known && !host->attention.looked);
}

TEST(the_register_says_who_waits)
{
    A_WORLD;
    _cleanup_waiting_ struct waiting_list list = {.count = 0};

    host->attention.class = ATTENTION_NEEDED;
    host->told.since_ms = 5000;
    CHECK_INT(register_tick(host, 100), -1);
    waiting_read(&world.root, &list);
    REQUIRE(list.count == 1);
    CHECK_STR(list.entries[0].agent, "w1");
    CHECK_INT(list.entries[0].since_ms, 5000);
    waiting_free(&list);
    host->attention.class = ATTENTION_FAILED;
    host->attention.done_ms = 6000;
    CHECK_INT(register_tick(host, 100), -1);
    waiting_read(&world.root, &list);
    REQUIRE(list.count == 1);
    CHECK_INT(list.entries[0].since_ms, 6000);
    waiting_free(&list);
    /* the next host knows what this one has left */
    host->entry.since_ms = 0;
    register_open(host);
    CHECK_INT(host->entry.since_ms, 6000);
    host->leaving = true;
    CHECK_INT(register_tick(host, 100), -1);
    waiting_read(&world.root, &list);
    CHECK_INT(list.count, 0);
    host->leaving = false;
    CHECK_INT(register_tick(host, 100), -1);
    register_close(host);
    waiting_free(&list);
    waiting_read(&world.root, &list);
    CHECK_INT(list.count, 0);
    CHECK_INT(host->entry.since_ms, 0);
}

/* ---- clients */

static void put_status(const struct host *host, struct str *head)
{
    (void)host;
    str_add(head, "{\"s\":1}");
}

TEST(clients_that_come_late_get_the_first_frames)
{
    A_WORLD;
    struct client late = {.conn = CONN_INIT};
    struct client_event event;

    event_open(&event, "e");
    event_tell(host, &event, NULL, 0, 0); /* nothing is kept now */
    server_tell_early(host, &late, SERVER_LISTENERS);
    CHECK_INT(conn_unsent(&late.conn), 0);
    host->server.early_until = INT64_MAX;
    CHECK_INT(server_tick(host, 5), -1);
    event_open(&event, "e");
    event_tell(host, &event, "body", 4, 0);
    server_tell_message(host, "-", "hello", 5);
    CHECK_INT(server_tick(host, 5), INT64_MAX);
    server_tell_early(host, &late, SERVER_LISTENERS);
    CHECK_STR(late.conn.out.data, "{\"event\":\"e\",\"bytes\":4}\nbody");
    conn_close(&late.conn);
    server_tell_early(host, &late, SERVER_WATCHERS);
    CHECK_STR(late.conn.out.data, "{\"event\":\"prompt\",\"from\":\"-\",\"bytes\":5}\nhello");
    conn_close(&late.conn);
    /* texts have a limit, other events have room behind it */
    _cleanup_free_ char *text = mem_alloc(300 * 1024);
    memset(text, 'x', 300 * 1024);
    for (int i = 0; i < 3; i++) {
        event_open(&event, "e");
        event_tell(host, &event, text, 300 * 1024, 0);
    }
    size_t kept = host->server.early[SERVER_LISTENERS].len;
    CHECK(kept > 256 * 1024 && kept < 257 * 1024);
    host->server.early_until = 50;
    CHECK_INT(server_tick(host, 49), 50);
    CHECK_INT(server_tick(host, 50), -1);
    CHECK_INT(host->server.early[SERVER_LISTENERS].len, 0);
    CHECK_INT(host->server.early[SERVER_WATCHERS].len, 0);
}

TEST(watchers_that_want_messages_get_them)
{
    A_WORLD;
    struct client *clients = host->server.clients;

    host->server.count = 4;
    for (size_t i = 0; i < 4; i++)
        clients[i] = (struct client){.conn = CONN_INIT, .kind = CLIENT_WATCHES, .messages = i < 3};
    clients[1].kind = CLIENT_LISTENS;
    _cleanup_free_ char *text = mem_alloc(2 << 20);
    memset(text, 'x', 2 << 20);
    server_tell_message(host, "w2", text, 2 << 20);
    for (size_t i = 0; i < 4; i++)
        CHECK_INT(conn_unsent(&clients[i].conn) > 0, i == 0 || i == 2);
    size_t unsent = conn_unsent(&clients[0].conn);
    conn_discard(&clients[2].conn);
    server_tell_message(host, "w2", "y", 1); /* one has left too much unread */
    CHECK_INT(conn_unsent(&clients[0].conn), unsent);
    CHECK(conn_unsent(&clients[2].conn) > 0);
    CHECK(server_is_watched(host));
    for (size_t i = 0; i < 4; i++)
        clients[i].kind = CLIENT_LISTENS;
    CHECK(!server_is_watched(host));
}

TEST(a_refusal_ends_all_connections_but_those_that_listen)
{
    A_WORLD;
    struct client *client = &host->server.clients[1];

    for (int listens = 0; listens < 2; listens++) {
        *client = (struct client){.conn = CONN_INIT, .kind = listens ? CLIENT_LISTENS : CLIENT_NEW};
        host->server.count = 2;
        (void)err_set(&err, MAS_CONFLICT, "not now");
        if (listens)
            (void)err_hint(&err, "later");
        server_refuse(client, &err);
        CHECK_INT(client->kind, listens ? CLIENT_LISTENS : CLIENT_LEAVES);
        _cleanup_free_ char *head =
            mem_printf("{\"ok\":false,\"code\":%d,\"why\":\"not now\"%s} \n", MAS_CONFLICT,
                       listens ? ",\"hint\":\"later\"" : "");
        _cleanup_free_ char *said = told(&world, 1);
        CHECK_STR(said, head);
        conn_close(&client->conn);
    }
    *client = (struct client){.conn = CONN_INIT, .kind = CLIENT_ASKS, .prompt = 4};
    CHECK(server_asker(host, 4) == client && server_asker(host, 5) == NULL);
    server_release_asker(host, 5);
    CHECK_INT(client->kind, CLIENT_ASKS);
    server_release_asker(host, 4);
    CHECK_INT(client->kind, CLIENT_LEAVES);
    CHECK(server_asker(host, 4) == NULL);
}

/* A watcher gets the newest status once it has read the one before. */
TEST(a_status_goes_to_who_has_read_the_one_before)
{
    A_WORLD;
    int pair[2];
    struct client *client = &host->server.clients[0];

    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    *client = (struct client){.conn = {.fd = pair[0]}, .kind = CLIENT_WATCHES};
    char buf[64];
    server_flush(host, put_status); /* nothing is new */
    CHECK_INT(read(pair[1], buf, sizeof buf), -1);
    server_mark_dirty(host);
    server_flush(host, put_status);
    CHECK_INT(read(pair[1], buf, sizeof buf), 8);
    CHECK(memcmp(buf, "{\"s\":1}\n", 8) == 0);
    CHECK(!client->dirty);
    server_flush(host, put_status);
    CHECK_INT(read(pair[1], buf, sizeof buf), -1);
    client->kind = CLIENT_LISTENS; /* only watchers */
    server_mark_dirty(host);
    server_flush(host, put_status);
    CHECK_INT(read(pair[1], buf, sizeof buf), -1);
    client->kind = CLIENT_LEAVES; /* it leaves once its answer is written */
    CHECK_INT(host->server.count, 1);
    conn_add(&client->conn, &(struct str){.data = (char *)(uintptr_t) "{}", .len = 2}, NULL, 0);
    server_flush(host, put_status);
    CHECK_INT(host->server.count, 0);
    CHECK_INT(read(pair[1], buf, sizeof buf), 3);
    CHECK_INT(read(pair[1], buf, sizeof buf), 0);
    (void)close(pair[1]);
}

TEST(so_many_clients_may_watch)
{
    A_WORLD;
    static const enum client_kind kinds[] = {CLIENT_WATCHES, CLIENT_ASKS, CLIENT_LISTENS};

    for (size_t i = 0; i < SERVER_CLIENTS_MAX; i++)
        host->server.clients[i] = (struct client){
            .conn = CONN_INIT, .kind = i < SERVER_WATCHERS_MAX - 1 ? kinds[i % 3] : CLIENT_NEW};
    host->server.count = SERVER_CLIENTS_MAX;
    CHECK(server_lets_watch(host));
    host->server.clients[SERVER_WATCHERS_MAX - 1].kind = CLIENT_WATCHES;
    CHECK(!server_lets_watch(host));
    /* one that does not read makes room */
    struct client *deaf = &host->server.clients[20];
    conn_add(&deaf->conn, &(struct str){.data = (char *)(uintptr_t) "{}", .len = 2}, NULL, 0);
    CHECK(server_lets_watch(host));
    CHECK_INT(deaf->kind, CLIENT_LEAVES);
}

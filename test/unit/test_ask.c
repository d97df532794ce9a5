/*
 * What is asked of hosts: who waits for a person, what becomes of a text. The hosts are played by
 * one other process.
 */
#include "root.h"

#include "client/roster.h"
#include "client/sending.h"
#include "client/view.h"
#include "client/who_waits.h"
#include "os/sock.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static bool is_frozen; /* the clock: no host is late, however slow this machine is */

int clock_gettime(clockid_t clock, struct timespec *ret)
{
    if (!is_frozen)
        return (int)syscall(SYS_clock_gettime, clock, ret);
    *ret = (struct timespec){.tv_sec = 1000000};
    return 0;
}

enum { HOSTS_MAX = 48, ANSWERS_MAX = 2 };

/* Hosts, each with what it answers: frames one after the other; NULL: no more. */
static struct host {
    int listener, fd;
    const char *answers[ANSWERS_MAX];
} hosts[HOSTS_MAX];
static size_t host_count;
static pid_t player;

/* Makes run/ of a session and listens for an agent there. */
static void add_host(const struct root *root, const char *id, const char *agent, const char *answer,
                     const char *then)
{
    _cleanup_free_ char *run = mem_printf("%s/run", id);
    _cleanup_free_ char *name = mem_printf("%s.sock", agent);
    _cleanup_close_ int dir = path_make_below(root->sessions, run, 0700);
    struct err err = ERR_INIT;

    hosts[host_count] = (struct host){
        .listener = sock_listen(dir, name, &err), .fd = -1, .answers = {answer, then}};
    CHECK(hosts[host_count].listener != -1);
    host_count++;
}

static void play(void)
{
    struct pollfd in[HOSTS_MAX];
    char chunk[4096];

    for (;;) {
        for (size_t i = 0; i < host_count; i++)
            in[i] = (struct pollfd){.fd = hosts[i].fd != -1 ? hosts[i].fd : hosts[i].listener,
                                    .events = POLLIN};
        if (poll(in, host_count, -1) <= 0)
            continue;
        for (size_t i = 0; i < host_count; i++) {
            struct host *host = &hosts[i];
            pid_t peer;
            if ((in[i].revents & (POLLIN | POLLHUP)) == 0)
                continue;
            if (host->fd == -1) {
                host->fd = sock_accept(host->listener, &peer);
                continue;
            }
            if (read(host->fd, chunk, sizeof chunk) <= 0) {
                fd_closep(&host->fd);
                continue;
            }
            for (size_t j = 0; j < ANSWERS_MAX && host->answers[j] != NULL; j++)
                (void)!write(host->fd, host->answers[j], strlen(host->answers[j]));
        }
    }
}

static void begin(void)
{
    (void)fflush(stdout);
    is_frozen = true;
    player = fork();
    if (player != 0)
        return;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    play();
}

static void end(void)
{
    is_frozen = false;
    (void)kill(player, SIGKILL);
    CHECK_INT(waitpid(player, NULL, 0), player);
    for (size_t i = 0; i < host_count; i++)
        fd_closep(&hosts[i].listener);
    host_count = 0;
}

/* A host's answer. `kept` holds them all. */
static const char *status(enum agent_state state, const char *pane, bool failed, char ***kept)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};
    struct agent_status is = {.state = state,
                              .since_ms = 1000,
                              .done_ms = failed ? 5000 : 0,
                              .turn = failed ? TURN_FAILED : TURN_NONE,
                              .exit_code = -1,
                              .title = mem_dup(""),
                              .memory = mem_dup(""),
                              .note = mem_dup(""),
                              .turn_why = mem_dup("")};

    (void)snprintf(is.pane, sizeof is.pane, "%s", pane);
    json_open(&out, NULL, '{');
    json_put_bool(&out, "ok", true);
    agent_status_tell(&is, &out);
    json_close(&out, '}');
    str_add(&text, "\n");
    agent_status_free(&is);
    strv_push(kept, str_text(&text));
    return (*kept)[strv_len(*kept) - 1];
}

/* ---- who waits */

/* Enters an agent that waits since `since`, with its host; `answer` NULL: it has none. */
static void enter(const struct root *root, const char *agent, int since, const char *answer)
{
    struct err err = ERR_INIT;

    CHECK(root_put_session(root, ID(1), NULL));
    WELL(waiting_set(root, ID(1), agent, since, 1000, &err));
    if (answer != NULL)
        add_host(root, ID(1), agent, answer, NULL);
}

/* Declares the register complete. */
static void complete(const struct root *root)
{
    struct waiting_list none = {.count = 0};
    struct err err = ERR_INIT;

    WELL(waiting_update(root, &none, &none, true, &err));
}

/* The agent that is found, and who is left in the register. */
static const char *find(const struct root *root, const char *here_id, const char *here,
                        struct str *to)
{
    struct config config = CONFIG_INIT;
    struct waiter waiter = {.since_ms = 0};
    _cleanup_waiting_ struct waiting_list list = {.count = 0};
    struct err err = ERR_INIT;
    int found = who_waits(root, &config, here_id, here, &waiter, &err);

    str_clear(to);
    if (found == -1)
        str_add(to, err.text);
    else
        str_add(to, found == 1 ? waiter.agent : "-");
    waiting_read(root, &list);
    str_add(to, list.complete ? " of" : " of some");
    for (size_t i = 0; i < list.count; i++)
        str_addf(to, " %s", list.entries[i].agent);
    return str_text(to);
}

#define CHECK_FIND(here_id, here, want) CHECK_STR(find(&root, here_id, here, &text), want)

TEST(whoever_has_waited_longest_is_found)
{
    A_ROOT;
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_strv_ char **kept = NULL;

    enter(&root, "c", 300, status(AGENT_WAITING, "%3", false, &kept));
    enter(&root, "a", 100, status(AGENT_WAITING, "%1", false, &kept));
    enter(&root, "b", 200, status(AGENT_CRASHED, "%2", false, &kept));
    complete(&root);
    begin();
    CHECK_FIND("", "", "a of a b c");
    CHECK_FIND(ID(1), "%9", "a of a b c"); /* here is nobody who waits */
    CHECK_FIND(ID(1), "%1", "b of a b c");
    CHECK_FIND(ID(1), "%2", "c of a b c");
    CHECK_FIND(ID(1), "%3", "a of a b c"); /* after the last one the first */
    CHECK_FIND(ID(2), "%1", "a of a b c"); /* another session's pane */
    CHECK_FIND("", "%1", "a of a b c");
    CHECK_FIND(ID(1), "", "a of a b c");
    end();
    /* one whose pane is unknown is not the one that is looked at from nowhere */
    enter(&root, "a", 100, status(AGENT_WAITING, "", false, &kept));
    add_host(&root, ID(1), "b", status(AGENT_WAITING, "", false, &kept), NULL);
    add_host(&root, ID(1), "c", status(AGENT_WAITING, "", false, &kept), NULL);
    begin();
    CHECK_FIND(ID(1), "", "a of a b c");
    end();
}

TEST(only_those_are_found_whose_hosts_say_so)
{
    A_ROOT;
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_strv_ char **kept = NULL;

    enter(&root, "a", 100, status(AGENT_IDLE, "%1", false, &kept));
    enter(&root, "b", 200, NULL); /* killed */
    enter(&root, "c", 300, "{\"ok\":true,\"state\":\"no such\"}\n");
    enter(&root, "d", 400, status(AGENT_WAITING, "%4", false, &kept));
    enter(&root, "e", 500, "{\"ok\":false,\"code\":1,\"why\":\"x\"}\n");
    complete(&root);
    begin();
    CHECK_FIND(ID(1), "%4", "d of d"); /* nobody else waits */
    CHECK_FIND("", "", "d of d");
    end();
    CHECK_FIND("", "", "- of");
}

TEST(a_host_that_is_late_stays_in_the_register)
{
    A_ROOT;
    _cleanup_str_ struct str text = STR_INIT;

    enter(&root, "a", 100, "");
    complete(&root);
    begin();
    is_frozen = false;
    CHECK_FIND("", "", "- of a");
    end();
}

TEST(turns_that_have_failed_come_after_all_who_wait)
{
    A_ROOT;
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_strv_ char **kept = NULL;

    enter(&root, "a", 100, status(AGENT_IDLE, "%1", true, &kept));
    enter(&root, "b", 200, status(AGENT_IDLE, "%2", true, &kept));
    enter(&root, "c", 300, status(AGENT_WAITING, "%3", false, &kept));
    complete(&root);
    begin();
    CHECK_FIND("", "", "c of a b c");
    CHECK_FIND(ID(1), "%3", "a of a b c");
    CHECK_FIND(ID(1), "%1", "b of a b c");
    CHECK_FIND(ID(1), "%2", "c of a b c");
    end();
}

/* Hosts are asked 16 at a time. */
TEST(the_one_that_waits_may_be_the_last_of_many)
{
    for (int count = 15; count <= 17; count++) {
        A_ROOT;
        _cleanup_str_ struct str text = STR_INIT;
        _cleanup_strv_ char **kept = NULL;
        for (int i = 0; i < count; i++) {
            _cleanup_free_ char *agent = mem_printf("i%d", i);
            enter(&root, agent, i + 1, status(AGENT_IDLE, "%1", false, &kept));
        }
        enter(&root, "first", 100, status(AGENT_WAITING, "%1", false, &kept));
        enter(&root, "second", 200, status(AGENT_WAITING, "%2", false, &kept));
        complete(&root);
        begin();
        CHECK_FIND(ID(1), "%1", "second of first second");
        CHECK_FIND(ID(1), "%2", "first of first second");
        end();
    }
}

/* ---- what becomes of a text */

#define TEAM                                                                                       \
    "{\"team\":[{\"id\":\"a\",\"role\":\"r\",\"rank\":\"worker\",\"group\":\"g\"},"                \
    "{\"id\":\"b\",\"role\":\"r\",\"rank\":\"worker\",\"group\":\"g\"},"                           \
    "{\"id\":\"c\",\"role\":\"r\",\"rank\":\"worker\",\"group\":\"g\"}],"                          \
    "\"windows\":[{\"name\":\"w\",\"agents\":[\"a\",\"b\",\"c\"],\"layout\":\"tiled\"}]}"

static int taken;

static void on_taken(void)
{
    taken++;
}

/* Opens the session for a sending, to all agents or one. */
static bool prepare(const struct root *root, const char *target, struct sending *sending)
{
    struct roster_team team;
    struct err err = ERR_INIT;

    return WELL(roster_open(root, ID(1), &team, &err)) &&
           WELL(roster_add(&sending->roster, &team, target, &err));
}

/* What each agent made of it. */
static const char *outcomes(const struct sending *sending, struct str *to)
{
    str_clear(to);
    for (size_t i = 0; i < sending->roster.count; i++) {
        struct err err = ERR_INIT;
        int rc = sending_failure(sending, i, &err);
        str_addf(to, "%s %s%s%s: %d %s\n", sending->roster.agents[i].agent->id,
                 sending->outcomes[i] != NULL ? sending->outcomes[i] : "-",
                 sending->whys[i] != NULL ? " as " : "",
                 sending->whys[i] != NULL ? sending->whys[i] : "", rc == 0 ? 0 : err.code,
                 rc == 0 ? "" : err.text);
    }
    return str_text(to);
}

static bool make_session(const struct root *root)
{
    _cleanup_session_ struct session session = root_session(ID(1), "mas-1", "alpha");
    _cleanup_close_ int dir = -1;

    return root_save(root, &session) && (dir = workspace_open(root, ID(1))) != -1 &&
           place_put(dir, WORKSPACE_CONFIG, TEAM);
}

TEST(each_agent_has_its_outcome)
{
    static const struct {
        const char *answers[3];
        const char *want;
    } cases[] = {
        {{"{\"ok\":true,\"outcome\":\"delivered\"}\n", "{\"ok\":true,\"outcome\":\"queued\"}\n",
          "{\"ok\":true,\"outcome\":\"held\",\"why\":\"a line\"}\n"},
         "a delivered: 0 \n"
         "b queued: 0 \n"
         "c held as a line: 0 \n"},
        {{"{\"ok\":true,\"outcome\":\"started\"}\n",
          "{\"ok\":false,\"code\":5,\"why\":\"it is full\",\"hint\":\"h\"}\n",
          "{\"ok\":true,\"outcome\":\"steered\"}\n"},
         "a started: 0 \n"
         "b -: 5 cannot send to agent 'b': it is full\n"
         "c steered: 0 \n"},
        {{"{\"ok\":true,\"outcome\":\"eaten\"}\n", "{\"ok\":true}\n",
          "{\"ok\":true,\"outcome\":\"delivered\"}\n"},
         "a -: 5 cannot send to agent 'a': its host reported an unknown outcome\n"
         "b -: 5 cannot send to agent 'b': its host reported an unknown outcome\n"
         "c delivered: 0 \n"},
        {{"mad\n", "{\"ok\":true,\"outcome\":\"Delivered\"}\n",
          "{\"ok\":true,\"outcome\":\"deliver\"}\n"},
         "a -: 1 cannot send to agent 'a': its host sent an invalid answer\n"
         "b -: 5 cannot send to agent 'b': its host reported an unknown outcome\n"
         "c -: 5 cannot send to agent 'c': its host reported an unknown outcome\n"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        A_ROOT;
        static const char *const agents[] = {"a", "b", "c"};
        _cleanup_sending_ struct sending sending = SENDING_INIT;
        _cleanup_str_ struct str text = STR_INIT;
        REQUIRE(make_session(&root));
        for (size_t j = 0; j < ARRAY_LEN(agents); j++)
            add_host(&root, ID(1), agents[j], cases[i].answers[j], NULL);
        begin();
        taken = 0;
        sending.taken = on_taken;
        REQUIRE(prepare(&root, NULL, &sending));
        WELL(sending_send(&root, &sending, "text", 4, &err));
        CHECK_STR(outcomes(&sending, &text), cases[i].want);
        CHECK_INT(taken, 0); /* nobody waits */
        str_clear(&text);
        sending_put(&sending, &text);
        _cleanup_json_ struct json *json = NULL;
        CHECK(json_parse(str_text(&text), text.len, 1 << 20, &json, &err) == 0);
        end();
    }
}

TEST(who_waits_for_a_text_hears_when_all_have_taken_it_and_are_at_rest)
{
    A_ROOT;
    _cleanup_sending_ struct sending sending = SENDING_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_strv_ char **kept = NULL;

    REQUIRE(make_session(&root));
    add_host(&root, ID(1), "a", "{\"ok\":true,\"outcome\":\"delivered\"}\n",
             status(AGENT_IDLE, "", false, &kept));
    add_host(&root, ID(1), "b", "{\"ok\":true,\"outcome\":\"delivered\"}\n",
             status(AGENT_CRASHED, "", false, &kept));
    add_host(&root, ID(1), "c", "{\"ok\":true,\"outcome\":\"queued\",\"why\":\"full\"}\n",
             status(AGENT_WAITING, "", false, &kept));
    begin();
    taken = 0;
    sending.taken = on_taken;
    sending.options.wait = true;
    sending.wait_ms = 1000;
    REQUIRE(prepare(&root, NULL, &sending));
    WELL(sending_send(&root, &sending, "text", 4, &err));
    CHECK_STR(outcomes(&sending, &text),
              "a delivered: 0 \n"
              "b delivered: 1 cannot wait for agent 'b': it has crashed\n"
              "c queued as full: 0 \n");
    CHECK_INT(taken, 1);
    str_clear(&text);
    sending_put(&sending, &text);
    CHECK_STR(
        str_text(&text),
        "{\"sessionId\":\"550e8400-e29b-41d4-a716-446655440001\",\"agents\":[{\"id\":\"a\","
        "\"outcome\":\"delivered\",\"state\":\"idle\"},{\"id\":\"b\",\"outcome\":\"delivered\","
        "\"state\":\"crashed\",\"code\":1,\"error\":\"cannot wait for agent 'b': it has "
        "crashed\"},{\"id\":\"c\",\"outcome\":\"queued\",\"state\":\"waiting\",\"why\":\"full\"}]"
        "}");
    end();
}

/* ---- why an agent has told nothing */

TEST(each_answer_has_its_words)
{
    static const struct {
        enum host_answer answer;
        int code; /* of call->err */
        const char *why, *problem, *failure;
        bool lost;
    } cases[] = {
        {HOST_ANSWERED, MAS_OK, "", "", "0 ", false},
        {HOST_ANSWERED, MAS_CONFLICT, "it is busy", "it is busy",
         "4 cannot test agent 'a': it is busy", false},
        {HOST_ANSWERED, MAS_CONFLICT, "cannot do it", "cannot do it", "4 cannot do it", false},
        {HOST_PENDING, MAS_OK, "", "no answer", "7 cannot test agent 'a': its host does not answer",
         false},
        {HOST_LATE, MAS_OK, "", "no answer", "7 cannot test agent 'a': its host does not answer",
         false},
        {HOST_ABSENT, MAS_OK, "", "no host", "1 cannot test agent 'a': its host is not running",
         true},
        {HOST_ENDED, MAS_FAILED, "its host has ended", "its host has ended",
         "1 cannot test agent 'a': its host has ended", true},
        {HOST_BROKEN, MAS_DAMAGED, "it is mad", "it is mad", "5 cannot test agent 'a': it is mad",
         true},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct host_call calls[2] = {{.agent = "z", .answer = HOST_LATE},
                                     {.agent = "a", .answer = cases[i].answer}};
        struct roster roster = {.calls = calls, .count = 2, .asked = 2};
        _cleanup_str_ struct str text = STR_INIT;
        struct err err = ERR_INIT;
        if (cases[i].code != MAS_OK)
            (void)err_set(&calls[1].err, cases[i].code, "%s", cases[i].why);
        int rc = roster_failure(&roster, 1, "test", &err);
        str_addf(&text, "%d %s", rc == 0 ? 0 : err.code, err.text);
        CHECK_STR(str_text(&text), cases[i].failure);
        CHECK_STR(roster_problem(&roster, 1), cases[i].problem);
        CHECK_INT(roster_lost_host(&roster, 1), cases[i].lost);
    }
}

TEST(a_roster_opens_sessions_that_are_whole)
{
    A_ROOT;
    _cleanup_roster_ struct roster roster = ROSTER_INIT;
    struct roster_team team;

    CHECK_INT(roster_open(&root, ID(1), &team, &err), -1);
    CHECK_INT(err.code, MAS_DAMAGED);
    CHECK(strstr(err.text, "its workspace is missing") != NULL);
    REQUIRE(make_session(&root));
    err = (struct err)ERR_INIT;
    MUST(roster_open(&root, ID(1), &team, &err));
    CHECK_INT(team.run, -1); /* it has never run */
    MUST(roster_add(&roster, &team, "b", &err));
    CHECK_INT(roster.count, 1);
    CHECK_STR(roster.agents[0].agent->id, "b");
    MUST(roster_open(&root, ID(1), &team, &err));
    MUST(roster_add(&roster, &team, NULL, &err));
    CHECK_INT(roster.count, 4);
    CHECK_INT(roster.teams[1].first, 1);
    CHECK_INT(roster.teams[1].count, 3);
    CHECK_STR(roster.calls[3].agent, "c");
    CHECK_INT(roster.agents[3].team, 1);
    MUST(roster_open(&root, ID(1), &team, &err));
    CHECK_INT(roster_add(&roster, &team, "nobody", &err), -1);
    MUST(roster_open(&root, ID(1), &team, &err));
    roster_add_none(&roster, &team);
    CHECK_INT(roster.teams[3].count, 0);
    CHECK_INT(roster.count, 4);
    roster_ask(&roster, "{\"do\":\"status\"}", NULL, 0);
    CHECK_INT(roster.asked, 4);
    roster_finish(&roster, HOSTS_ANSWER_MS);
    for (size_t i = 0; i < roster.count; i++)
        CHECK_STR(roster_problem(&roster, i), "no host");
    /* a host has come since */
    add_host(&root, ID(1), "c", "{\"ok\":true,\"state\":\"idle\"}\n", NULL);
    begin();
    CHECK(!roster_listens(&roster, 3)); /* its run/ was not there */
    end();
}

TEST(a_wait_that_is_over_says_what_the_agent_does)
{
    A_ROOT;
    static const struct {
        const char *outcome;
        enum host_answer answer;
        bool waits, told;
        enum agent_state state;
        const char *want;
    } cases[] = {
        {"queued", HOST_LATE, true, true, AGENT_WORKING,
         "7 cannot wait for agent 'a': it is still working"},
        {"queued", HOST_LATE, true, false, AGENT_IDLE,
         "7 cannot wait for agent 'a': it is still silent"},
        {NULL, HOST_LATE, true, false, AGENT_IDLE,
         "7 cannot send to agent 'a': its host does not answer"},
        {"queued", HOST_BROKEN, true, false, AGENT_IDLE, "1 cannot wait for agent 'a': "},
        {"delivered", HOST_ANSWERED, true, true, AGENT_CRASHED,
         "1 cannot wait for agent 'a': it has crashed"},
        {"delivered", HOST_ANSWERED, false, true, AGENT_CRASHED, "0 "},
        {"delivered", HOST_ANSWERED, true, false, AGENT_CRASHED, "0 "},
        {"delivered", HOST_ANSWERED, true, true, AGENT_WAITING, "0 "},
    };

    REQUIRE(make_session(&root));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_sending_ struct sending sending = SENDING_INIT;
        _cleanup_str_ struct str text = STR_INIT;
        REQUIRE(prepare(&root, "a", &sending));
        sending.outcomes = mem_alloc(sizeof *sending.outcomes);
        sending.whys = mem_alloc(sizeof *sending.whys);
        sending.whys[0] = NULL;
        sending.outcomes[0] = cases[i].outcome != NULL ? mem_dup(cases[i].outcome) : NULL;
        sending.options.wait = cases[i].waits;
        sending.roster.agents[0].told = cases[i].told;
        sending.roster.agents[0].status.state = cases[i].state;
        sending.roster.calls[0].answer = cases[i].answer;
        if (cases[i].answer == HOST_BROKEN)
            sending.roster.calls[0].err.code = MAS_FAILED;
        err = (struct err)ERR_INIT;
        int rc = sending_failure(&sending, 0, &err);
        str_addf(&text, "%d %s", rc == 0 ? 0 : err.code, err.text);
        CHECK_STR(str_text(&text), cases[i].want);
    }
}

/* ---- how a session is listed */

TEST(a_view_is_written_as_it_is)
{
    A_ROOT;
    struct agent_counts counts = {.told = 2};
    struct tmux_session live = {.name = (char *)(uintptr_t) "now",
                                .activity = 1766050300,
                                .attached = 2,
                                .running = 3,
                                .ended = 1};
    struct view view = {.row = {.id = ID(1),
                                .tmux_name = (char *)(uintptr_t) "mas-1",
                                .name = (char *)(uintptr_t) "old",
                                .created = (char *)(uintptr_t) "2025-12-18T08:00:00Z",
                                .activity = (char *)(uintptr_t) "2025-12-18T09:30:00Z",
                                .template = (char *)(uintptr_t) "tp",
                                .private = true},
                        .status = STATUS_STOPPED};
    _cleanup_str_ struct str text = STR_INIT;

    for (int i = 0; i < 3; i++) {
        struct json_out out = {.to = &text};
        str_clear(&text);
        json_open(&out, NULL, '{');
        view_put_json(&root, &view, &out);
        json_close(&out, '}');
        const char *dir = strstr(str_text(&text), place.path);
        REQUIRE(dir != NULL);
        memmove(text.data + (dir - text.data), dir + strlen(place.path),
                strlen(dir + strlen(place.path)) + 1);
        if (i == 0)
            CHECK_STR(str_text(&text),
                      "{\"sessionId\":\"550e8400-e29b-41d4-a716-446655440001\",\"tmuxSession\":"
                      "\"mas-1\",\"status\":\"stopped\",\"createdAt\":\"2025-12-18T08:00:00Z\","
                      "\"lastActivity\":\"2025-12-18T09:30:00Z\",\"workingDir\":\"/sessions/"
                      "550e8400-e29b-41d4-a716-446655440001\",\"mode\":\"isolated\",\"name\":"
                      "\"old\",\"template\":\"tp\",\"private\":true,\"crashed\":false,"
                      "\"agentsRunning\":0,\"agentsEnded\":0,\"agentStates\":{},\"attached\":0}");
        if (i == 1)
            CHECK_STR(str_text(&text),
                      "{\"sessionId\":\"550e8400-e29b-41d4-a716-446655440001\",\"tmuxSession\":"
                      "\"now\",\"status\":\"stopped\",\"createdAt\":\"2025-12-18T08:00:00Z\","
                      "\"lastActivity\":\"2025-12-18T09:31:40Z\",\"workingDir\":\"/sessions/"
                      "550e8400-e29b-41d4-a716-446655440001\",\"mode\":\"isolated\",\"name\":"
                      "\"new\",\"template\":\"tp\",\"private\":true,\"crashed\":true,\"migrating\":"
                      "true,\"machine\":\"m\",\"elsewhere\":true,\"leaseLost\":true,\"movedTo\":"
                      "\"there\",\"agentsRunning\":3,\"agentsEnded\":1,\"agentStates\":{},"
                      "\"attached\":2,\"reason\":\"why\"}");
        if (i == 2)
            CHECK_STR(
                str_text(&text),
                "{\"sessionId\":\"550e8400-e29b-41d4-a716-446655440001\",\"tmuxSession\":\"now\","
                "\"status\":\"stopped\",\"createdAt\":\"2025-12-18T08:00:00Z\",\"lastActivity\":"
                "\"2025-12-18T09:31:40Z\",\"workingDir\":\"/sessions/"
                "550e8400-e29b-41d4-a716-446655440001\",\"mode\":\"isolated\",\"name\":\"new\","
                "\"template\":\"tp\",\"private\":true,\"crashed\":true,\"migrating\":true,"
                "\"machine\":\"m\",\"elsewhere\":true,\"leaseLost\":true,\"movedTo\":\"there\","
                "\"agentsRunning\":2,\"agentsEnded\":2,\"agentStates\":{\"working\":1,\"crashed\":"
                "1},\"code\":{\"agents\":2,\"ahead\":3,\"behind\":4,\"changed\":5,\"looked\":"
                "\"2025-12-18T09:33:20Z\"},\"attached\":2,\"reason\":\"why\"}");
        view.live = &live;
        view.name = (char *)(uintptr_t) "new";
        view.crashed = view.migrating = view.elsewhere = view.lease_lost = true;
        view.machine = (char *)(uintptr_t) "m";
        view.moved_to = (char *)(uintptr_t) "there";
        view.reason = (char *)(uintptr_t) "why";
        counts.states[AGENT_WORKING] = 1;
        counts.states[AGENT_CRASHED] = 1;
        counts.code = (struct code_counts){
            .agents = 2, .ahead = 3, .behind = 4, .changed = 5, .looked_ms = 1766050400123};
        view.counts = i == 0 ? NULL : &counts;
    }
    CHECK_INT(view_running(&view), 2); /* one that told it, and a pane whose host did not */
    CHECK_INT(view_ended(&view), 2);
    live.running = 1;
    CHECK_INT(view_running(&view), 1);
    CHECK_INT(view_activity(&view), 1766050300);
    view.used = 1766050400;
    CHECK_INT(view_activity(&view), 1766050400);
    view.crashed = false; /* only after a crash what was written counts */
    CHECK_INT(view_activity(&view), 1766050300);
    live.activity = 1;
    CHECK_INT(view_activity(&view), 1766050200);
    view.counts = NULL;
    view_set_counts(&view, &counts);
    CHECK(view.counts != &counts && view_counts(&view)->told == 2);
    view_set_counts(&view, NULL);
    CHECK(view.counts == NULL && view_counts(&view)->told == 0);
}

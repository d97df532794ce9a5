/* What mas top keeps of what agents say and print: top/tail.h and, for logs, top/tails.h. */
#include "root.h"
#include "store.h"

#include "top/tail.h"
#include "top/tails.h"

/* Gives the tail an event. */
static void tell(struct agent_tail *tail, const char *text, const char *body)
{
    _cleanup_json_ struct json *head = NULL;
    struct host_event event;
    struct err err = ERR_INIT;

    CHECK(json_parse(text, strlen(text), 1 << 20, &head, &err) == 0);
    (void)host_event_parse(head, body, body != NULL ? strlen(body) : 0, &event);
    tail_event(tail, &event);
}

static void greet(struct agent_tail *tail, const char *text)
{
    _cleanup_json_ struct json *head = NULL;
    struct err err = ERR_INIT;

    CHECK(json_parse(text, strlen(text), 1 << 20, &head, &err) == 0);
    tail_greet(tail, head);
}

/* The lines of a tail, each with the number of its colour. */
static char *lines_of(const struct agent_tail *tail)
{
    struct str to = STR_INIT;

    for (size_t i = 0; i < tail->count; i++)
        str_addf(&to, "%s%d:%s", i > 0 ? "|" : "", (int)tail->lines[i].paint, tail->lines[i].text);
    return str_steal(&to);
}

static void has_lines(const struct agent_tail *tail, const char *want)
{
    _cleanup_free_ char *lines = lines_of(tail);

    CHECK_STR(lines, want);
}

/* The ids of the open permissions. */
static void has_open(const struct agent_tail *tail, const char *want)
{
    _cleanup_str_ struct str to = STR_INIT;

    for (size_t i = 0; i < tail->permission_count; i++)
        str_add(&to, tail->permissions[i].id);
    CHECK_STR(str_text(&to), want);
}

TEST(nobody_has_no_tail)
{
    tail_free(NULL);
    CHECK(tail_tool(NULL) == NULL && tail_permission(NULL) == NULL);
    CHECK_STR(tail_last(NULL), "");
    struct agent_tail *tail = tail_new(true);
    CHECK(tail->tells && tail_tool(tail) == NULL && tail_permission(tail) == NULL);
    CHECK_STR(tail_last(tail), "");
    CHECK_INT(tail->log_size, -1);
    tail_free(tail);
}

TEST(pieces_make_lines)
{
    struct agent_tail *tail = tail_new(true);
    _cleanup_free_ char *colours =
        mem_printf("%d:one|%d:two|%d:|%d:end", PAINT_PLAIN, PAINT_PLAIN, PAINT_DIM, PAINT_DIM);

    tail->full = true;
    tail_piece(tail, PAINT_PLAIN, "one\nt", 5);
    tail_piece(tail, PAINT_DIM, "wo\n\n", 4); /* a line has the colour of its begin */
    CHECK_STR(tail_last(tail), "two");
    tail_add(tail, PAINT_DIM, "end", 3);
    has_lines(tail, colours);
    tail_add(tail, PAINT_DIM, " \t\r", 3); /* blank, so not the last */
    CHECK_STR(tail_last(tail), "end");
    tail_add(tail, PAINT_DIM, "\v", 1);
    CHECK_STR(tail_last(tail), "\v");
    tail_clear(tail);
    CHECK_INT(tail->count, 0);
    CHECK(!tail->open && tail->known == 0 && tail->unbegun == 0);
    tail_free(tail);
}

/* Only as many lines as are kept, the newest, and of each only so many bytes: at the limit and
 * behind it. */
TEST(lines_have_limits)
{
    struct agent_tail *tail = tail_new(true);
    _cleanup_free_ char *most = mem_alloc(TAIL_LINE_MAX + 2);

    tail->full = true;
    memset(most, 'x', TAIL_LINE_MAX + 1);
    for (size_t len = TAIL_LINE_MAX - 1; len <= TAIL_LINE_MAX + 1; len++) {
        size_t kept = len < TAIL_LINE_MAX ? len : TAIL_LINE_MAX;
        tail_add(tail, PAINT_PLAIN, most, len);
        CHECK_INT(strlen(tail->lines[tail->count - 1].text), kept);
        CHECK_INT(strlen(tail_last(tail)), kept);
        tail_add(tail, PAINT_PLAIN, most, len - 2);
        tail->open = true;
        tail_piece(tail, PAINT_PLAIN, "yy", 2);
        CHECK_INT(strlen(tail->lines[tail->count - 1].text), kept);
        CHECK_INT(strlen(tail_last(tail)), kept);
        tail->open = true;
        tail_piece(tail, PAINT_PLAIN, "yyyy", 4);
        CHECK_INT(strlen(tail->lines[tail->count - 1].text), TAIL_LINE_MAX);
        CHECK_INT(strlen(tail_last(tail)), TAIL_LINE_MAX);
    }
    for (int i = 0; i <= TAIL_LINES; i++) {
        char line[16];
        (void)snprintf(line, sizeof line, "%d", i);
        tail_add(tail, PAINT_PLAIN, line, strlen(line));
        if (i >= TAIL_LINES - 1)
            CHECK_STR(tail->lines[0].text, i == TAIL_LINES ? "1" : "0");
    }
    CHECK_INT(tail->count, TAIL_LINES);
    CHECK_STR(tail->lines[TAIL_LINES - 1].text, "200");
    tail_free(tail);
}

TEST(a_tail_that_is_not_full_keeps_the_last_line_alone)
{
    struct agent_tail *tail = tail_new(true);

    tail_piece(tail, PAINT_PLAIN, "a\nb", 3);
    CHECK(tail->open);
    tail_piece(tail, PAINT_PLAIN, "c\n", 2);
    CHECK(!tail->open);
    CHECK_STR(tail_last(tail), "bc");
    tail_piece(tail, PAINT_PLAIN, "d", 1);
    CHECK_STR(tail_last(tail), "d");
    CHECK_INT(tail->count, 0);
    tail_free(tail);
}

TEST(a_tool_runs_until_it_is_over)
{
    static const char *const over[] = {"completed", "failed"};
    struct agent_tail *tail = tail_new(true);

    tail->full = true;
    for (size_t i = 0; i < ARRAY_LEN(over); i++) {
        _cleanup_free_ char *end =
            mem_printf("{\"event\":\"tool\",\"id\":\"1\",\"status\":\"%s\"}", over[i]);
        tail_clear(tail);
        tell(tail, "{\"event\":\"tool\",\"id\":\"1\",\"title\":\"Read\"}", NULL);
        tell(tail,
             "{\"event\":\"tool\",\"id\":\"1\",\"title\":\"Read\",\"status\":\"in_progress\"}",
             NULL);
        CHECK_STR(tail_tool(tail), "Read");
        CHECK_INT(tail->count, 1); /* is said once */
        CHECK_INT(tail->lines[0].paint, PAINT_WORKING);
        tell(tail, "{\"event\":\"tool\",\"id\":\"2\",\"kind\":\"edit\"}", NULL);
        CHECK_STR(tail_tool(tail), "edit");
        tell(tail, "{\"event\":\"tool\",\"id\":\"1\",\"title\":\"Read\"}", NULL);
        tell(tail, end, NULL);
        CHECK(tail_tool(tail) == NULL);
    }
    tell(tail, "{\"event\":\"tool\",\"id\":\"3\",\"title\":\"Run\"}", NULL);
    tail->open = true;
    tell(tail, "{\"event\":\"end\",\"error\":\"no net\"}", NULL);
    CHECK(tail_tool(tail) == NULL);
    CHECK_STR(tail->lines[tail->count - 1].text, "no net");
    CHECK_INT(tail->lines[tail->count - 1].paint, PAINT_BAD);
    tell(tail, "{\"event\":\"tool\",\"id\":\"3\",\"title\":\"Run\"}", NULL);
    tell(tail, "{\"event\":\"end\"}", NULL);
    CHECK(tail_tool(tail) == NULL);
    tail_free(tail);
}

TEST(permissions_are_open_until_they_are_answered)
{
    struct agent_tail *tail = tail_new(true);

    for (char id = 'a'; id < 'a' + TAIL_PERMISSIONS + 1; id++) { /* one too many */
        _cleanup_free_ char *event =
            mem_printf("{\"event\":\"permission\",\"permission\":\"%c\",\"id\":\"t%c\"}", id, id);
        tell(tail, event, NULL);
    }
    has_open(tail, "abcdefgh");
    CHECK_STR(tail_permission(tail)->id, "a");
    tell(tail, "{\"event\":\"permission\",\"permission\":\"h\",\"title\":\"new\"}", "body");
    has_open(tail, "abcdefgh"); /* the same one, which tells more */
    CHECK_STR(tail->permissions[7].title, "new");
    tell(tail, "{\"event\":\"permitted\",\"permission\":\"x\"}", NULL);
    tell(tail, "{\"event\":\"permitted\",\"permission\":\"a\"}", NULL);
    tell(tail, "{\"event\":\"permitted\",\"permission\":\"d\"}", NULL);
    tell(tail, "{\"event\":\"permitted\",\"permission\":\"h\"}", NULL);
    has_open(tail, "bcefg");
    tail_detail(tail, "tc", "text", 2);
    CHECK_STR(tail->permissions[1].body, "te");
    CHECK(tail->permissions[0].body == NULL && tail->permissions[2].body == NULL);
    tail_detail(tail, "tc", "other", 5);
    CHECK_STR(tail->permissions[1].body, "te"); /* it has them */
    greet(tail,
          "{\"permissions\":[{\"permission\":\"y\"},{\"permission\":\"z\",\"details\":\"d\"}]}");
    has_open(tail, "yz"); /* others were answered meanwhile */
    CHECK_STR(tail->permissions[1].body, "d");
    greet(tail, "{}");
    CHECK(tail_permission(tail) == NULL);
    tail_free(tail);
}

/* What was read from the store comes again from the host. */
TEST(what_is_known_is_not_said_twice)
{
    static const struct {
        const char *event, *body, *shown;
    } cases[] = {
        {"{\"event\":\"text\",\"message\":\"s:4\",\"at\":0}", "old", ""},
        {"{\"event\":\"text\",\"message\":\"s:5\",\"at\":0}", "0123", ""},
        {"{\"event\":\"text\",\"message\":\"s:5\",\"at\":0}", "01234", "4"},
        {"{\"event\":\"text\",\"message\":\"s:5\",\"at\":3}", "34", "4"},
        {"{\"event\":\"text\",\"message\":\"s:5\",\"at\":4}", "4", "4"},
        {"{\"event\":\"text\",\"message\":\"s:6\",\"at\":0}", "new", "new"},
        {"{\"event\":\"text\",\"at\":0}", "unnumbered", "unnumbered"},
        {"{\"event\":\"text\",\"message\":\"s:6\",\"at\":0}", NULL, ""},
        {"{\"event\":\"prompt\",\"prompt\":\"s:4\"}", "p", ""},
        {"{\"event\":\"prompt\",\"prompt\":\"s:5\"}", "p", ""},
        {"{\"event\":\"prompt\",\"prompt\":\"s:6\"}", "p", "> p"},
        {"{\"event\":\"prompt\"}", "p", "> p"},
        {"{\"event\":\"prompt\"}", NULL, "> "},
        {"{\"event\":\"note\"}", "n", "n"},
        {"{\"event\":\"note\"}", NULL, ""},
        {"{\"event\":\"mode\"}", "m", ""},
        {"{\"event\":\"later\"}", "l", ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct agent_tail *tail = tail_new(true);
        tail->full = true;
        tail->known = 5;
        tail->known_len = 4;
        tell(tail, cases[i].event, cases[i].body);
        if (!CHECK_STR(tail->count > 0 ? tail->lines[0].text : "", cases[i].shown))
            printf("# %s\n", cases[i].event);
        CHECK(tail->count <= 1);
        tail_free(tail);
    }
    /* a prompt that waited then is said when it begins */
    static const bool begins[] = {false, false, true, true, true};
    for (int number = 1; number <= 5; number++) {
        struct agent_tail *tail = tail_new(true);
        _cleanup_free_ char *event =
            mem_printf("{\"event\":\"prompt\",\"prompt\":\"s:%d\"}", number);
        tail->full = true;
        tail->known = 5;
        tail->unbegun = 3;
        tell(tail, event, "p");
        CHECK_INT(tail->count, begins[number - 1]);
        tail_free(tail);
    }
}

TEST(pieces_of_a_message_follow_each_other)
{
    struct agent_tail *tail = tail_new(true);
    _cleanup_free_ char *want =
        mem_printf("%d:> do it|%d:one two|%d:hm|%d:next|%d:> |%d:", PAINT_BOLD, PAINT_PLAIN,
                   PAINT_DIM, PAINT_PLAIN, PAINT_BOLD, PAINT_PLAIN);

    want[strlen(want) - strlen("|0:")] = '\0';
    tail->full = true;
    tell(tail, "{\"event\":\"prompt\",\"prompt\":\"s:1\"}", "do it");
    tell(tail, "{\"event\":\"text\",\"message\":\"s:2\",\"at\":0}", "one");
    tell(tail, "{\"event\":\"text\",\"message\":\"s:2\",\"at\":3}", " two");
    tell(tail, "{\"event\":\"thought\",\"message\":\"s:3\",\"at\":0}", "hm");
    tell(tail, "{\"event\":\"text\",\"message\":\"s:4\",\"at\":0}", "next");
    tell(tail, "{\"event\":\"prompt\",\"prompt\":\"s:5\"}", NULL);
    has_lines(tail, want);
    tail_free(tail);
}

/* ---- logs */

/* A table with one team of two agents on a terminal. */
static void fill(struct top_table *table)
{
    struct top_team *team = table_add_team(table, ID(0), "one");

    table_set_agents(table, team, 2);
    for (size_t i = 0; i < 2; i++) {
        team->agents[i].id = mem_dup(i == 0 ? "a" : "b");
        team->agents[i].role = mem_dup("r");
        team->agents[i].told = i == 0;
    }
}

/* A log is read when it is shown and when its size has changed, only its end, and not twice. */
TEST(a_log_is_read_when_it_has_changed)
{
    enum { END = 4 * 1024, FULL_END = 64 * 1024 }; /* how much of it */
    A_ROOT;
    struct top_table table = TOP_TABLE_INIT;
    struct tails tails = {.root = &root, .table = &table};
    _cleanup_loop_ struct loop loop = LOOP_INIT;
    _cleanup_str_ struct str text = STR_INIT;

    REQUIRE(root_put_session(&root, ID(0), NULL));
    _cleanup_close_ int dir = workspace_open(&root, ID(0));
    REQUIRE(mkdirat(dir, WORKSPACE_LOGS, 0700) == 0);
    _cleanup_close_ int logs = path_open_dir(dir, WORKSPACE_LOGS);
    fill(&table);
    struct top_agent *agents[] = {&table.teams[0]->agents[0], &table.teams[0]->agents[1]};
    tails_show(&tails, agents, 2, NULL);
    REQUIRE(agents[0]->tail != NULL && !agents[0]->tail->full);
    CHECK(agents[1]->tail == NULL); /* nothing is known of it */
    table.changed = false;
    tails_turn(&tails, &loop);
    CHECK(!table.changed); /* there is no log */

    _cleanup_free_ char *name = mem_printf(WORKSPACE_AGENT_LOG, "a");
    REQUIRE(place_put(logs, name, "one\n\033[1mtwo\n"));
    agents[0]->tail->next_ms = 0;
    tails_turn(&tails, &loop);
    CHECK(table.changed);
    CHECK_STR(tail_last(agents[0]->tail), "two");
    CHECK_INT(agents[0]->tail->count, 0);

    tails_show(&tails, agents, 2, agents[0]);
    tails_turn(&tails, &loop);
    REQUIRE(agents[0]->tail->count == 2);
    CHECK_STR(agents[0]->tail->lines[0].text, "one");
    CHECK_STR(agents[0]->tail->lines[1].text, "two");
    table.changed = false;
    agents[0]->tail->next_ms = 0;
    tails_turn(&tails, &loop);
    CHECK(!table.changed); /* the same size */
    CHECK(agents[0]->tail->next_ms > 0);
    REQUIRE(place_put(logs, name, "one\ntwo\nthree"));
    agents[0]->tail->next_ms = INT64_MAX;
    tails_turn(&tails, &loop);
    CHECK(!table.changed); /* it is not time yet */
    agents[0]->tail->next_ms = 0;
    tails_turn(&tails, &loop);
    CHECK(table.changed);
    CHECK_INT(agents[0]->tail->count, 3); /* not said twice */
    CHECK_STR(tail_last(agents[0]->tail), "three");

    /* no more than its end */
    for (int i = 0; i < FULL_END; i++)
        str_add(&text, i == FULL_END - END ? "<" : i == 1 ? "[" : "x");
    str_add(&text, "\nlast\n");
    REQUIRE(place_put(logs, name, str_text(&text)));
    agents[0]->tail->next_ms = 0;
    tails_turn(&tails, &loop);
    REQUIRE(agents[0]->tail->count >= 2);
    CHECK(agents[0]->tail->lines[0].text[0] == 'x');
    CHECK_STR(tail_last(agents[0]->tail), "last");

    tails_show(&tails, NULL, 0, NULL);
    CHECK(agents[0]->tail == NULL);
    table_free(&table);
}

/* Two prompts with their answers, a tool that is asked about, and two prompts that wait. Returns
 * the number of the first that waits; *ret has the conversation. */
static int64_t put_past(int dir, char **ret)
{
    struct store *store = NULL;
    struct store_place at = {.query = 0};
    struct err err = ERR_INIT;
    int64_t number = 0;

    if (!WELL(store_open(dir, ID(0), "a", true, &store, &err)))
        return 0;
    WELL(store_enter(store, CHOICE_CURRENT, NULL, &at, &err));
    *ret = mem_dup(at.conversation);
    (void)turn(store, at.query, "first", "one\ntwo");
    int64_t prompt = turn(store, at.query, "second", "three");
    const char tool[] = "Write f\n+ new";
    const struct store_message message = {.role = ROLE_TOOL,
                                          .state = MESSAGE_FAILED,
                                          .text = tool,
                                          .len = strlen(tool),
                                          .key = "t1",
                                          .trigger = prompt};
    WELL(store_add(store, at.query, &message, SYNC_CHUNK, &number, &err));
    (void)add(store, at.query, ROLE_PERMISSION, MESSAGE_OPEN, "may it", prompt);
    number = add(store, at.query, ROLE_USER, MESSAGE_OPEN, "waits", 0);
    (void)add(store, at.query, ROLE_USER, MESSAGE_OPEN, "waits too", 0);
    store_place_free(&at);
    store_close(store);
    return number;
}

/* What was said before is read once the host has answered, of two agents in one turn; who is not
 * chosen has its last line alone. */
TEST(what_was_said_before_is_read)
{
    A_ROOT;
    struct top_table table = TOP_TABLE_INIT;
    struct tails tails = {.root = &root, .table = &table};
    _cleanup_loop_ struct loop loop = LOOP_INIT;
    _cleanup_free_ char *conversation = NULL;
    struct top_agent *agents[3];

    REQUIRE(root_put_session(&root, ID(0), NULL));
    _cleanup_close_ int dir = workspace_open(&root, ID(0));
    int64_t waits = put_past(dir, &conversation);
    struct top_team *team = table_add_team(&table, ID(0), "one");
    table_set_agents(&table, team, 3);
    for (size_t i = 0; i < 3; i++) {
        agents[i] = &team->agents[i];
        agents[i]->id = mem_dup("a");
        agents[i]->role = mem_dup("r");
        agents[i]->told = agents[i]->status.talks = true;
        (void)snprintf(agents[i]->status.conversation, sizeof agents[i]->status.conversation, "%s",
                       conversation);
    }
    tails_show(&tails, agents, 3, agents[0]);
    tails_turn(&tails, &loop);
    CHECK(!agents[0]->tail->loaded); /* what it says now would be missed */
    for (size_t i = 0; i < 3; i++) {
        greet(agents[i]->tail, "{\"permissions\":[{\"event\":\"permission\",\"permission\":\"p\","
                               "\"id\":\"t1\"}]}");
        agents[i]->tail->greeted = true;
        agents[i]->tail->next_ms = INT64_MAX;
    }
    CHECK_INT(tails_want(&tails, &loop), 0);
    table.changed = false;
    tails_turn(&tails, &loop);
    CHECK(table.changed && agents[0]->tail->loaded && agents[1]->tail->loaded);
    CHECK(!agents[2]->tail->loaded);

    _cleanup_free_ char *want =
        mem_printf("%d:> first|%d:one|%d:two|%d:> second|%d:three|%d:Write f", PAINT_BOLD,
                   PAINT_PLAIN, PAINT_PLAIN, PAINT_BOLD, PAINT_PLAIN, PAINT_BAD);
    has_lines(agents[0]->tail, want);
    CHECK_STR(agents[0]->tail->permissions[0].body, "+ new");
    CHECK_INT(agents[0]->tail->unbegun, waits);
    CHECK(!agents[0]->tail->open);
    has_lines(agents[1]->tail, "");

    table.changed = false;
    tails_turn(&tails, &loop);
    CHECK(table.changed && agents[2]->tail->loaded);
    CHECK_INT(tails_want(&tails, &loop), INT64_MAX);
    table.changed = false;
    tails_turn(&tails, &loop);
    CHECK(!table.changed); /* once */
    table_free(&table);
}

/*
 * What the logs and the conversations of a stopped session are told to be, whole and in parts. Each
 * command line runs in this process.
 */
#define UNIT_OWN_MAIN
#include "lines.h"
#include "store.h"

#include <sys/ioctl.h>
#include <sys/wait.h>

/* On a terminal the status of a session has a colour, and nothing else has. */
TEST(a_status_has_its_colour_on_a_terminal)
{
    char text[4096] = "";
    int status = -1;

    SESSIONS;
    _cleanup_session_ struct session broken = root_session(ID(3), "mas-bad", "bad");
    broken.status = STATUS_ERROR;
    free(broken.error);
    broken.error = mem_dup("no disk");
    REQUIRE(root_save(&root, &broken));
    _cleanup_close_ int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    REQUIRE(master != -1 && grantpt(master) == 0 && unlockpt(master) == 0);
    pid_t pid = fork(); /* whether there are colours is asked once */
    if (pid == 0) {
        int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY);
        (void)unsetenv("NO_COLOR");
        (void)setenv("TERM", "xterm-256color", 1);
        _exit(dup2(slave, STDOUT_FILENO) == -1 ? 1 : run_shown("list --all"));
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(read(master, text, sizeof text - 1) > 0);
    if (!CHECK(strstr(text, "\033[1;38;5;131merror: no disk\033[0m") != NULL))
        unit_print_str("text", text);
    CHECK(strstr(text, "  stopped\r\n") != NULL);
    size_t colours = 0;
    for (const char *at = text; (at = strchr(at, '\033')) != NULL; at++)
        colours++;
    CHECK_INT(colours % 2, 0);
    const char *bad = strstr(text, "mas-bad");
    CHECK(bad != NULL && strchr(bad, '\033') == strstr(bad, "\033[1;38;5;131merror"));
    CHECK(strstr(text, "mas-shop") != NULL && memchr(strstr(text, "mas-shop"), '\033', 30) == NULL);
}

/* Gives the session "shop" logs: one of its own, and one of each agent. */
static bool put_logs(const struct root *root)
{
    _cleanup_close_ int dir = workspace_open(root, ID(1));

    return CHECK_INT(mkdirat(dir, WORKSPACE_LOGS, 0700), 0) &&
           place_put(dir, "logs/session.log",
                     "2025-12-18T08:00:00Z start\nmore\n2025-12-18T09:00:00Z stop\n"
                     "2025-12-18T10:00:00Z rm\n") &&
           place_put(dir, "logs/agent-a.log", "one\r\n\033[31mtwo\033[0m\r\nthree\r\nlast") &&
           place_put(dir, "logs/agent-b.log", "uno\r\ndue\r\n");
}

/* The last lines are counted from the end of each log, bytes and lines alike. */
TEST(logs_are_printed_whole_and_in_parts)
{
    static const struct told lines[] = {
        {"logs shop", "2025-12-18T08:00:00Z start\n"
                      "more\n"
                      "2025-12-18T09:00:00Z stop\n"
                      "2025-12-18T10:00:00Z rm\n"},
        {"logs shop -n 1", "2025-12-18T10:00:00Z rm\n"},
        {"logs shop -n 0", ""},
        {"logs shop -n 99", "2025-12-18T08:00:00Z start\n"
                            "more\n"
                            "2025-12-18T09:00:00Z stop\n"
                            "2025-12-18T10:00:00Z rm\n"},
        {"logs shop --since 2025-12-18T09:00:00Z", "2025-12-18T09:00:00Z stop\n"
                                                   "2025-12-18T10:00:00Z rm\n"},
        {"logs shop --since 2025-12-18T09:00:01Z", "2025-12-18T10:00:00Z rm\n"},
        {"logs shop --raw -n 2", "2025-12-18T09:00:00Z stop\n"
                                 "2025-12-18T10:00:00Z rm\n"},
        {"logs shop --json -n 2", "{\"time\":\"2025-12-18T09:00:00Z\",\"text\":\"stop\"}\n"
                                  "{\"time\":\"2025-12-18T10:00:00Z\",\"text\":\"rm\"}\n"},
        {"logs shop a", "one\n"
                        "two\n"
                        "three\n"
                        "last\n"},
        {"logs shop a -n 1", "last\n"},
        {"logs shop a -n 2", "three\n"
                             "last\n"},
        {"logs shop a --raw", "one\r\n"
                              "\033[31mtwo\033[0m\r\n"
                              "three\r\n"
                              "last"},
        {"logs shop a --raw -n 2", "three\r\n"
                                   "last"},
        {"logs shop a --raw -n 1", "last"},
        {"logs shop a -n 3 --json", "{\"agent\":\"a\",\"text\":\"two\"}\n"
                                    "{\"agent\":\"a\",\"text\":\"three\"}\n"
                                    "{\"agent\":\"a\",\"text\":\"last\"}\n"},
        {"logs shop a b -n 1", "a | last\n"
                               "b | due\n"},
        {"logs shop all", "a | one\n"
                          "a | two\n"
                          "a | three\n"
                          "a | last\n"
                          "b | uno\n"
                          "b | due\n"},
        {"logs shop b a -n 2", "b | uno\n"
                               "b | due\n"
                               "a | three\n"
                               "a | last\n"},
        {"logs shop a b --json -n 1", "{\"agent\":\"a\",\"text\":\"last\"}\n"
                                      "{\"agent\":\"b\",\"text\":\"due\"}\n"},
    };

    SESSIONS;
    REQUIRE(put_logs(&root));
    check_told(lines, ARRAY_LEN(lines));
}

/* Two turns of a, and one of b. */
static void put_memory(const struct root *root)
{
    const struct place workspace = {.dir = workspace_open(root, ID(1))};
    struct store *store = opened(&workspace, "a");
    const int64_t query = query_of(store);

    (void)turn(store, query, "first prompt", "first answer");
    (void)turn(store, query, "second prompt with needle", "second answer\nin two lines");
    store_close(store);
    store = opened(&workspace, "b");
    (void)turn(store, query_of(store), "for b needle", "yes");
    store_close(store);
    (void)close(workspace.dir);
}

TEST(conversations_are_told_in_each_form)
{
    static const struct told lines[] = {
        {"history shop a", "-- query 1, conversation CONVERSATION --\n"
                           "NOW #1 user\n"
                           "    first prompt\n"
                           "NOW #2 a\n"
                           "    first answer\n"
                           "NOW #3 user\n"
                           "    second prompt with needle\n"
                           "NOW #4 a\n"
                           "    second answer\n"
                           "    in two lines\n"},
        {"history shop b", "-- query 2, conversation CONVERSATION --\n"
                           "NOW #5 user\n"
                           "    for b needle\n"
                           "NOW #6 b\n"
                           "    yes\n"},
        {"history shop a --json -n 1",
         "{\"sessionId\":\"" ID(
             1) "\",\"agent\":\"a\","
                "\"total\":4,\"messages\":[{\"id\":\"" ID(
                    1) ":4\","
                       "\"role\":\"agent\",\"state\":\"done\",\"time\":\"NOW\",\"agent\":\"a\","
                       "\"conversation\":\"CONVERSATION\",\"query\":1,"
                       "\"triggerId\":\"" ID(1) ":3\",\"sender\":null,"
                                                "\"stopReason\":null,\"key\":null,"
                                                "\"tags\":[\"session:" ID(
                                                    1) "\",\"agent:a\"],"
                                                       "\"text\":\"second answer\\nin two "
                                                       "lines\",\"data\":null}]}\n"},
        {"history shop a --export md", "# Agent a of session " ID(1) "\n"
                                                                     "\n"
                                                                     "## Query 1\n"
                                                                     "\n"
                                                                     "### user, NOW\n"
                                                                     "\n"
                                                                     "> first prompt\n"
                                                                     "\n"
                                                                     "### a, NOW\n"
                                                                     "\n"
                                                                     "> first answer\n"
                                                                     "\n"
                                                                     "### user, NOW\n"
                                                                     "\n"
                                                                     "> second prompt with needle\n"
                                                                     "\n"
                                                                     "### a, NOW\n"
                                                                     "\n"
                                                                     "> second answer\n"
                                                                     "> in two lines\n"
                                                                     "\n"},
        {"history shop a --export jsonl -n 1",
         "{\"id\":\"" ID(
             1) ":4\",\"role\":\"agent\","
                "\"state\":\"done\",\"time\":\"NOW\",\"agent\":\"a\","
                "\"conversation\":\"CONVERSATION\",\"query\":1,"
                "\"triggerId\":\"" ID(
                    1) ":3\",\"sender\":null,"
                       "\"stopReason\":null,\"key\":null,"
                       "\"tags\":[\"session:" ID(
                           1) "\",\"agent:a\"],"
                              "\"text\":\"second answer\\nin two lines\",\"data\":null}\n"},
        {"history shop a --queries", "query 1  CONVERSATION/1  NOW  4 messages  current\n"},
        {"history shop a --queries --json",
         "{\"sessionId\":\"" ID(
             1) "\",\"agent\":\"a\","
                "\"queries\":[{\"query\":1,\"conversation\":\"CONVERSATION\",\"number\":1,"
                "\"agent\":\"a\",\"current\":true,\"startedAt\":\"NOW\",\"endedAt\":null,"
                "\"reason\":\"\",\"mode\":\"\",\"messages\":4,\"agentSessions\":[]}]}\n"},
        {"history shop a -n 1", "-- query 1, conversation CONVERSATION --\n"
                                "NOW #4 a\n"
                                "    second answer\n"
                                "    in two lines\n"},
        {"history shop a --since 1h --role agent", "-- query 1, conversation CONVERSATION --\n"
                                                   "NOW #2 a\n"
                                                   "    first answer\n"
                                                   "NOW #4 a\n"
                                                   "    second answer\n"
                                                   "    in two lines\n"},
        {"history shop a --role user", "-- query 1, conversation CONVERSATION --\n"
                                       "NOW #1 user\n"
                                       "    first prompt\n"
                                       "NOW #3 user\n"
                                       "    second prompt with needle\n"},
        {"search needle -s shop --agent b", ID(1) ":5  b user  NOW\n"
                                                  "  for b needle\n"
                                                  "    beside it: " ID(1) ":6  b agent  NOW\n"
                                                                          "      yes\n"},
        {"search answer --role agent",
         ID(1) ":2  a agent  NOW\n"
               "  first answer\n" ID(1) ":4  a agent  NOW\n"
                                        "  second answer in two lines\n"},
        {"search first -s solo -q", ""},
        {"context shop a",
         "current conversation\n" ID(1) ":1  a user  NOW\n"
                                        "  first prompt\n" ID(
                                            1) ":2  a agent  NOW\n"
                                               "  first answer\n" ID(
                                                   1) ":3  a user  NOW\n"
                                                      "  second prompt with needle\n" ID(
                                                          1) ":4  a agent  NOW\n"
                                                             "  second answer\n"
                                                             "  in two lines\n"
                                                             "relevant history\n" ID(
                                                                 1) ":5  b user  NOW\n"
                                                                    "  for b needle\n" ID(
                                                                        1) ":6  b agent  NOW\n"
                                                                           "  yes\n"},
    };
    static const struct refused refused[] = {
        {3, "history shop a --conversation 12345678", "cannot find conversation '12345678': agent"},
        {2, "history shop a --conversation 123", "cannot find conversation '123': an id needs at "},
        {2, "history shop a -n x", "cannot use "},
        {2, "history shop a --role nobody", "cannot use --role 'nobody': "},
    };

    SESSIONS;
    put_memory(&root);
    check_told(lines, ARRAY_LEN(lines));
    check_refused(refused, ARRAY_LEN(refused));
    /* with the session its messages go from what is searched */
    _cleanup_outcome_ struct outcome removed = run("rm shop -q");
    CHECK_INT(removed.rc, 0);
    _cleanup_outcome_ struct outcome search = run("search needle -q");
    CHECK_STR(search.output, "");
}

int main(void)
{
    _cleanup_close_ int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    (void)dup2(null, STDIN_FILENO); /* nobody is asked anything */
    (void)unsetenv("MAS_AGENT_ID");
    return unit_run();
}

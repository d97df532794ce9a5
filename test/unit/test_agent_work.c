/* What agents ask of files and programs, from the line that they write to the one that they get. */
#include "unit.h"

#include "base/time.h"
#include "host/acp/files.h"
#include "host/acp/terminals.h"
#include "os/loop.h"

#include <sys/prctl.h>
#include <sys/wait.h>

/* A workspace, and the client that serves it. */
struct place {
    char path[64];
    struct work_root root;
    struct work_place place;
    struct acp *acp;
    struct terminals *terminals;
    struct str line; /* newest answer */
    struct json *answer;
    struct loop loop;
};

static void on_request(void *arg, const struct acp_request *request)
{
    struct place *p = arg;

    if (!files_serve(&p->place, p->acp, request))
        CHECK(terminals_request(p->terminals, p->acp, request));
}

static const struct acp_ops ops = {.request = on_request};

static char *const variables[] = {(char[]){"PATH=/usr/bin:/bin"}, (char[]){"MAS_AGENT_ID=11"},
                                  (char[]){"A=1"}, NULL};

static void begin(struct place *p)
{
    *p = (struct place){.path = "/tmp/test-serve-XXXXXX"};
    if (mkdtemp(p->path) == NULL) {
        perror("mkdtemp");
        exit(2);
    }
    p->root = (struct work_root){.path = p->path, .workspace = true};
    p->root.dir = open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    (void)mkdirat(p->root.dir, "run", 0700);
    p->place = (struct work_place){.roots = &p->root, .count = 1, .agent = "11"};
    p->place.run = openat(p->root.dir, "run", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    p->acp = acp_new(&ops, p);
    p->terminals =
        terminals_new(&p->place, variables,
                      (struct supervisor_times){.hangup_ms = 100, .terminate_ms = 100}, NULL, NULL);
}

static void end(struct place *p)
{
    _cleanup_free_ char *command = mem_printf("rm -rf %s", p->path);
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, command, NULL};
    pid_t pid;

    loop_free(&p->loop);
    terminals_free(p->terminals);
    acp_free(p->acp);
    json_free(p->answer);
    str_free(&p->line);
    (void)close(p->root.dir);
    (void)close(p->place.run);
    pid = fork();
    if (pid == 0) {
        (void)execv("/bin/sh", argv);
        _exit(127);
    }
    while (waitpid(-1, NULL, 0) > 0) /* also supervisors */
        ;
}

static void put_file(struct place *p, const char *name, const char *text, size_t len)
{
    int fd = openat(p->root.dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    CHECK(fd != -1 && write(fd, text, len) == (ssize_t)len);
    (void)close(fd);
}

/* What a file holds; the caller frees. */
static char *get_file(struct place *p, const char *name)
{
    char text[4096] = "";
    int fd = openat(p->root.dir, name, O_RDONLY | O_NOFOLLOW);

    if (fd == -1)
        return mem_dup("missing");
    (void)!read(fd, text, sizeof text - 1);
    (void)close(fd);
    return mem_dup(text);
}

/* Handles what the programs do next, within wait_ms. */
static void serve_programs(struct place *p, int wait_ms)
{
    loop_begin(&p->loop);
    terminals_want(p->terminals, &p->loop);
    CHECK(loop_wait(&p->loop, time_monotonic_ms() + wait_ms) != -1);
    (void)terminals_serve(p->terminals, &p->loop, p->acp);
}

/* Waits up to ten seconds for the next line that is to be sent. */
static bool hear(struct place *p)
{
    int64_t until = time_monotonic_ms() + 10000;
    struct err err = ERR_INIT;
    size_t len = 0;
    const char *out;

    for (;;) {
        out = acp_out(p->acp, &len);
        if (len > 0 || time_monotonic_ms() > until)
            break;
        serve_programs(p, 100);
    }
    str_clear(&p->line);
    len = len > 0 ? (size_t)((const char *)memchr(out, '\n', len) - out) + 1 : 0;
    str_addn(&p->line, out, len);
    acp_sent(p->acp, len);
    json_free(p->answer);
    p->answer = NULL;
    return len > 0 && json_parse(p->line.data, len, len, &p->answer, &err) == 0;
}

/* Asks, without waiting; params without the session; %s in it is the workspace. */
static void ask(struct place *p, const char *method, const char *params)
{
    _cleanup_str_ struct str line = STR_INIT;

    str_addf(&line, "{\"id\":7,\"method\":\"%s\",\"params\":{\"sessionId\":\"S\"", method);
    for (const char *at = params; *at != '\0'; at++) {
        if (*at == '@')
            str_add(&line, p->path);
        else
            str_addc(&line, *at);
    }
    str_add(&line, "}}\n");
    acp_feed(p->acp, line.data, line.len);
}

static const char *result(struct place *p, const char *key)
{
    const char *text = json_get_text(json_get(p->answer, "result"), key);

    return text != NULL ? text : str_text(&p->line);
}

static int64_t code(struct place *p)
{
    return json_int(json_get(json_get(p->answer, "error"), "code"), 0);
}

static void check_read(struct place *p, const char *params, const char *want)
{
    ask(p, "fs/read_text_file", params);
    REQUIRE(hear(p));
    CHECK_STR(result(p, "content"), want);
}

static void check_refused(struct place *p, const char *method, const char *params, int want,
                          const char *why)
{
    ask(p, method, params);
    REQUIRE(hear(p));
    CHECK_INT(code(p), want);
    CHECK(strstr(p->line.data, why) != NULL);
}

TEST(reads_files_and_parts_of_them)
{
    struct place p;

    begin(&p);
    put_file(&p, "f", "one\ntw\xC3\xB6\n\nfour", 14);
    put_file(&p, "empty", "", 0);
    check_read(&p, ",\"path\":\"@/f\"", "one\ntw\xC3\xB6\n\nfour");
    check_read(&p, ",\"path\":\"@//f\",\"line\":2", "tw\xC3\xB6\n\nfour");
    check_read(&p, ",\"path\":\"@/./f\",\"line\":2,\"limit\":1", "tw\xC3\xB6\n");
    check_read(&p, ",\"path\":\"@/f\",\"limit\":3,\"line\":null", "one\ntw\xC3\xB6\n\n");
    check_read(&p, ",\"path\":\"@/f\",\"line\":4,\"limit\":9", "four");
    check_read(&p, ",\"path\":\"@/f\",\"line\":5", "");
    check_read(&p, ",\"path\":\"@/f\",\"limit\":0", "");
    check_read(&p, ",\"path\":\"@/f\",\"line\":0,\"limit\":1", "one\n");
    check_read(&p, ",\"path\":\"@/empty\"", "");
    check_read(&p, ",\"path\":\"@/run/../f\",\"limit\":1", "one\n");
    end(&p);
}

TEST(reads_nothing_else)
{
    static const char method[] = "fs/read_text_file";
    struct place p;

    begin(&p);
    put_file(&p, "nul", "a\0b", 3);
    put_file(&p, "latin", "\xE4", 1);
    CHECK(symlinkat("/etc/passwd", p.root.dir, "link") == 0);
    CHECK(symlinkat("/etc", p.root.dir, "dir") == 0);
    CHECK(mkfifoat(p.root.dir, "fifo", 0600) == 0);
    CHECK(mknodat(p.root.dir, "x", S_IFREG | 0600, 0) == 0);
    CHECK(truncate("/dev/null", 0) == -1);
    check_refused(&p, method, "", -32602, "path is missing");
    check_refused(&p, method, ",\"path\":\"f\"", -32602, "not in the workspace");
    check_refused(&p, method, ",\"path\":\"/etc/passwd\"", -32602, "not in the workspace");
    check_refused(&p, method, ",\"path\":\"@x/f\"", -32602, "not in the workspace");
    check_refused(&p, method, ",\"path\":\"@/../../etc/passwd\"", -32602, "out of the workspace");
    check_refused(&p, method, ",\"path\":\"@/link\"", -32602, "symbolic link");
    check_refused(&p, method, ",\"path\":\"@/dir/passwd\"", -32602, "symbolic link");
    check_refused(&p, method, ",\"path\":\"@/none\"", -32002, "no such file");
    check_refused(&p, method, ",\"path\":\"@/nul/x\"", -32002, "no such file");
    check_refused(&p, method, ",\"path\":\"@/fifo\"", -32603, "not a regular file");
    check_refused(&p, method, ",\"path\":\"@\"", -32603, "not a regular file");
    check_refused(&p, method, ",\"path\":\"@/nul\"", -32603, "not a text file");
    check_refused(&p, method, ",\"path\":\"@/latin\"", -32603, "not a text file");
    int fd = openat(p.root.dir, "x", O_WRONLY);
    CHECK(ftruncate(fd, AGENT_FILE_MAX + 1) == 0);
    (void)close(fd);
    check_refused(&p, method, ",\"path\":\"@/x\"", -32603, "too large");
    end(&p);
}

static void check_written(struct place *p, const char *name, const char *want)
{
    _cleanup_free_ char *text = get_file(p, name);

    CHECK_STR(text, want);
}

TEST(writes_whole_files)
{
    struct place p;
    struct stat st;

    begin(&p);
    (void)umask(022);
    put_file(&p, "old", "old", 3);
    CHECK(fchmodat(p.root.dir, "old", 0751, 0) == 0);
    ask(&p, "fs/write_text_file", ",\"path\":\"@/old\",\"content\":\"new \\u00f6\\n\"");
    REQUIRE(hear(&p));
    CHECK_INT(code(&p), 0);
    check_written(&p, "old", "new \xC3\xB6\n");
    CHECK(fstatat(p.root.dir, "old", &st, 0) == 0 && (st.st_mode & 07777) == 0751);
    ask(&p, "fs/write_text_file", ",\"path\":\"@/a/b/c\",\"content\":\"\"");
    REQUIRE(hear(&p));
    CHECK_STR(p.line.data, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n");
    check_written(&p, "a/b/c", "");
    CHECK(fstatat(p.root.dir, "a/b/c", &st, 0) == 0 && (st.st_mode & 07777) == 0644);
    CHECK(unlinkat(p.place.run, ".write-11", 0) == -1 && errno == ENOENT);
    end(&p);
}

TEST(writes_nothing_else)
{
    static const char method[] = "fs/write_text_file";
    static const char *const ours[] = {"config.json",   ".session", ".session.lock", "memory.db",
                                       "memory.db-wal", "run/env",  "logs/x",        "./run//x"};
    struct place p;

    begin(&p);
    CHECK(symlinkat("target", p.root.dir, "link") == 0);
    CHECK(symlinkat("/tmp", p.root.dir, "dir") == 0);
    CHECK(mkfifoat(p.root.dir, "fifo", 0600) == 0);
    check_refused(&p, method, ",\"path\":\"@/f\"", -32602, "content is missing");
    check_refused(&p, method, ",\"path\":\"/tmp/f\",\"content\":\"\"", -32602, "not in the");
    check_refused(&p, method, ",\"path\":\"@/../f\",\"content\":\"\"", -32602, "out of the");
    check_refused(&p, method, ",\"path\":\"@/u/../run/f\",\"content\":\"\"", -32602, "out of the");
    check_refused(&p, method, ",\"path\":\"@/link\",\"content\":\"\"", -32602, "symbolic link");
    check_refused(&p, method, ",\"path\":\"@/dir/f\",\"content\":\"\"", -32002, "");
    check_refused(&p, method, ",\"path\":\"@/fifo\",\"content\":\"\"", -32603,
                  "not a regular file");
    check_refused(&p, method, ",\"path\":\"@\",\"content\":\"\"", -32603, "not a regular file");
    check_refused(&p, method, ",\"path\":\"@/x/\",\"content\":\"\"", -32603, "not a regular file");
    for (size_t i = 0; i < ARRAY_LEN(ours); i++) {
        _cleanup_free_ char *params = mem_printf(",\"path\":\"@/%s\",\"content\":\"\"", ours[i]);

        check_refused(&p, method, params, -32602, "belongs to mas");
    }
    check_written(&p, "target", "missing");
    check_written(&p, "f", "missing");
    end(&p);
}

/* Creates one; false, with the answer in p->line, where it is refused. */
static bool create(struct place *p, const char *params)
{
    ask(p, "terminal/create", params);
    return hear(p) && code(p) == 0;
}

static void check_run(struct place *p, const char *params, const char *id, const char *output,
                      const char *ended)
{
    _cleanup_free_ char *named = mem_printf(",\"terminalId\":\"%s\"", id);

    REQUIRE(create(p, params));
    CHECK_STR(result(p, "terminalId"), id);
    ask(p, "terminal/wait_for_exit", named);
    REQUIRE(hear(p));
    CHECK(strstr(p->line.data, ended) != NULL);
    ask(p, "terminal/output", named);
    REQUIRE(hear(p));
    CHECK_STR(result(p, "output"), output);
    CHECK(strstr(p->line.data, ended) != NULL);
    CHECK(strlen(terminals_output(p->terminals, id)) <= strlen(output));
    ask(p, "terminal/release", named);
    REQUIRE(hear(p));
    CHECK_INT(code(p), 0);
    ask(p, "terminal/output", named);
    REQUIRE(hear(p));
    CHECK_INT(code(p), ACP_NO_SUCH);
}

TEST(runs_programs)
{
    struct place p;
    _cleanup_free_ char *here = NULL;

    begin(&p);
    CHECK(mkdirat(p.root.dir, "sub", 0700) == 0);
    check_run(&p, ",\"command\":\"echo\",\"args\":[\"a b\",\"\\u00f6\"]", "term-1",
              "a b \xC3\xB6\n", "{\"exitCode\":0,\"signal\":null}");
    check_run(
        &p,
        ",\"command\":\"sh\",\"args\":[\"-c\",\"echo $A$B$MAS_AGENT_ID; echo e >&2; exit 3\"],"
        "\"env\":[{\"name\":\"B\",\"value\":\"x\"},{\"name\":\"MAS_AGENT_ID\",\"value\":"
        "\"99\"},{\"name\":\"A\",\"value\":\"2\"}]",
        "term-2", "2x11\ne\n", "{\"exitCode\":3,\"signal\":null}");
    check_run(&p, ",\"command\":\"sh\",\"args\":[\"-c\",\"kill -9 $$\"]", "term-3", "",
              "{\"exitCode\":null,\"signal\":\"SIGKILL\"}");
    here = mem_printf("%s/sub\n", p.path);
    check_run(&p, ",\"command\":\"pwd\",\"cwd\":\"@/sub\"", "term-4", here, "\"exitCode\":0");
    check_run(&p, ",\"command\":\"echo one; cat; echo two | tr o 0\"", "term-5", "one\ntw0\n",
              "\"exitCode\":0");
    check_run(&p, ",\"command\":\"printf\",\"args\":[\"a\\\\000b\\\\377\"]", "term-6",
              "a?b\xEF\xBF\xBD", "\"exitCode\":0");
    end(&p);
}

TEST(refuses_what_it_cannot_run)
{
    static const char method[] = "terminal/create";
    struct place p;

    begin(&p);
    put_file(&p, "broken", "#!/no/such/program\n", 19);
    CHECK(fchmodat(p.root.dir, "broken", 0700, 0) == 0);
    check_refused(&p, method, "", -32602, "command is missing");
    check_refused(&p, method, ",\"command\":\"no-such-program\"", -32602, "no such program");
    check_refused(&p, method, ",\"command\":\"echo\",\"args\":[1]", -32602,
                  "not a list of strings");
    check_refused(&p, method, ",\"command\":\"echo\",\"env\":[{\"name\":\"A=B\",\"value\":\"\"}]",
                  -32602, "not a list of names");
    check_refused(&p, method, ",\"command\":\"echo\",\"cwd\":\"/\"", -32602,
                  "not in the workspace");
    check_refused(&p, method, ",\"command\":\"echo\",\"cwd\":\"@/..\"", -32602, "be entered");
    check_refused(&p, method, ",\"command\":\"./broken\",\"cwd\":\"@\"", -32603, "No such file");
    check_refused(&p, "terminal/output", ",\"terminalId\":\"term-1\"", ACP_NO_SUCH, "no such");
    end(&p);
}

TEST(keeps_the_newest_output)
{
    struct place p;

    begin(&p);
    check_run(&p,
              ",\"command\":\"i=0; while [ $i -lt 300 ]; do printf '\xC3\xB6\xC3\xB6\xC3\xB6'; "
              "i=$((i + 1)); done\",\"outputByteLimit\":9",
              "term-1", "\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6", "\"exitCode\":0");
    REQUIRE(create(&p, ",\"command\":\"head -c 3000000 /dev/zero | tr '\\\\0' x\""));
    ask(&p, "terminal/wait_for_exit", ",\"terminalId\":\"term-2\"");
    REQUIRE(hear(&p));
    ask(&p, "terminal/output", ",\"terminalId\":\"term-2\"");
    REQUIRE(hear(&p));
    CHECK_INT(strlen(result(&p, "output")), 1 << 20);
    CHECK(json_bool(json_get(json_get(p.answer, "result"), "truncated"), false));
    end(&p);
}

static bool is_gone(struct place *p, const char *name)
{
    _cleanup_free_ char *text = get_file(p, name);

    long pid = strtol(text, NULL, 10);

    for (int i = 0; i < 100 && pid > 0; i++) {
        if (kill((pid_t)pid, 0) == -1)
            return true;
        serve_programs(p, 50);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
    return false;
}

static const char tree[] = ",\"cwd\":\"@\",\"command\":\"setsid sh -c 'trap \\\"\\\" HUP TERM; "
                           "echo $$ > pid; echo up; while :; do sleep 1; done' & wait\"";

TEST(ends_whole_trees)
{
    struct place p;

    begin(&p);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (int way = 0; way < 3; way++) {
        _cleanup_free_ char *id = mem_printf(",\"terminalId\":\"term-%d\"", way + 1);

        REQUIRE(create(&p, tree));
        do {
            ask(&p, "terminal/output", id);
            REQUIRE(hear(&p));
        } while (strcmp(result(&p, "output"), "up\n") != 0);
        if (way == 0) {
            ask(&p, "terminal/kill", id);
            REQUIRE(hear(&p));
            CHECK_INT(code(&p), 0);
            ask(&p, "terminal/wait_for_exit", id);
            REQUIRE(hear(&p));
            CHECK(strstr(p.line.data, "\"signal\":\"SIGTERM\"") != NULL);
        } else if (way == 1) {
            terminals_end(p.terminals, "other");
            ask(&p, "terminal/output", id);
            REQUIRE(hear(&p));
            CHECK_INT(code(&p), 0);
            terminals_end(p.terminals, "S");
        } else {
            terminals_free(p.terminals);
            p.terminals =
                terminals_new(&p.place, variables, (struct supervisor_times){0, 0}, NULL, NULL);
        }
        CHECK(is_gone(&p, "pid"));
    }
    end(&p);
}

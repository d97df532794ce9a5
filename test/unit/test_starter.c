/* The process that starts programs for another one, and what mas-serve's lets through. */
#include "os/loop.h"
#include "os/proc_starter.h"
#include "os/sock.h"
#include "serve/starter.h"
#include "tmux/tmux.h"
#include "tmux/tmux_call.h"
#include "unit.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { LONG_MS = 60000, NOBODY = 65534 };

/* ---- a starter that lets /bin/sh through */

static char *const environment[] = {(char[]){"ONE=1"}, NULL};

static bool accepts(struct proc_spec *spec, void *arg)
{
    spec->envp = environment;
    return strcmp(spec->file, arg) == 0 && strcmp(spec->argv[0], "sh") == 0;
}

struct ran {
    int code; /* of the error, or of the program */
    struct str out;
    struct err err;
};

static int begin(const char *file, const char *script, int timeout_ms, struct proc *ret,
                 struct err *err)
{
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char *)(uintptr_t)script, NULL};
    const struct proc_spec spec = {.file = file,
                                   .argv = argv,
                                   .cwd = -1,
                                   .input = "given",
                                   .input_len = 5,
                                   .output_max = 4096,
                                   .timeout_ms = timeout_ms};
    return proc_start(&spec, ret, err);
}

static struct ran run(const char *file, const char *script, int timeout_ms)
{
    struct proc_result result = PROC_RESULT_INIT;
    struct ran ran = {.out = STR_INIT, .err = ERR_INIT};
    struct proc proc;

    if (begin(file, script, timeout_ms, &proc, &ran.err) == -1 ||
        proc_finish(&proc, &result, &ran.err) == -1)
        ran.code = ran.err.code;
    else
        ran.code = result.status;
    str_free(&result.err);
    ran.out = result.out;
    return ran;
}

static bool runs_as(const char *file, const char *script, int timeout_ms, int code, const char *out)
{
    struct ran ran = run(file, script, timeout_ms);
    bool right = ran.code == code && strcmp(str_text(&ran.out), out) == 0;

    if (!right)
        printf("# %s: %d, '%s', %s\n", script, ran.code, str_text(&ran.out), ran.err.text);
    str_free(&ran.out);
    return right;
}

/* In a child of its own, because what is to start programs stays as it is said once. Returns how it
 * ended. */
static int in_child(int (*body)(struct proc_starter *starter))
{
    int status = -1;
    pid_t pid = proc_fork();

    if (pid == 0) {
        struct err err = ERR_INIT;
        struct proc_starter starter = {
            .accepts = accepts, .arg = (char[]){"/bin/sh"}, .name = "test-starter"};
        if (proc_starter_fork(&starter, &err) == -1)
            _exit(99);
        proc_start_by(starter.socket);
        int rc = body(&starter);
        (void)fflush(stdout);
        _exit(rc);
    }
    while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int runs_programs(struct proc_starter *starter)
{
    bool right = runs_as("/bin/sh", "cat; echo $ONE$HOME; exit 7", LONG_MS, 7, "given1\n") &&
                 runs_as("/bin/sh", "kill -9 $$", LONG_MS, 128 + SIGKILL, "") &&
                 runs_as("/bin/sh", "echo x; exec sleep 1000", 300, MAS_TIMEOUT, "x\n") &&
                 runs_as("/bin/dash", ":", LONG_MS, MAS_FAILED, "");

    proc_starter_end(starter);
    return right && runs_as("/bin/sh", ":", LONG_MS, MAS_FAILED, "") ? 0 : 1;
}

TEST(it_starts_what_is_accepted_and_tells_how_it_ended)
{
    CHECK_INT(in_child(runs_programs), 0);
}

static int runs_one_too_long(struct proc_starter *starter)
{
    size_t len = PROC_STARTER_REQUEST_MAX;
    char *script = malloc(len + 1);
    struct err err = ERR_INIT;
    struct proc proc;

    (void)starter;
    memset(script, ' ', len);
    script[len] = '\0';
    int rc = begin("/bin/sh", script, LONG_MS, &proc, &err);
    script[len - 64] = '\0';
    bool right = rc == -1 && strstr(err.text, strerror(E2BIG)) != NULL &&
                 runs_as("/bin/sh", script, LONG_MS, 0, "");
    free(script);
    return right ? 0 : 1;
}

TEST(a_request_that_is_too_long_is_refused)
{
    CHECK_INT(in_child(runs_one_too_long), 0);
}

static int interrupts(struct proc_starter *starter)
{
    struct proc_result result = PROC_RESULT_INIT;
    struct err err = ERR_INIT;
    struct proc proc;

    (void)starter;
    if (begin("/bin/sh", "exec sleep 1000", LONG_MS, &proc, &err) == -1)
        return 1;
    int handle = proc_handle(&proc);
    proc_interrupt(handle);
    int rc = proc_finish(&proc, &result, &err);
    proc_interrupt(handle); /* it has ended */
    (void)close(handle);
    return rc == 0 && result.status == 128 + SIGINT ? 0 : 1;
}

TEST(it_interrupts_what_it_has_started)
{
    CHECK_INT(in_child(interrupts), 0);
}

static int loses_its_starter(struct proc_starter *starter)
{
    struct proc_result result = PROC_RESULT_INIT;
    struct err err = ERR_INIT;
    struct proc proc;

    if (begin("/bin/sh", "exec sleep 1000", LONG_MS, &proc, &err) == -1)
        return 1;
    struct proc_id program;
    bool known = proc_identify(proc.pid, &program);
    (void)kill(starter->pid, SIGKILL);
    int rc = proc_finish(&proc, &result, &err);
    bool lives = known && proc_is_alive(&program);
    proc_signal(&program, SIGKILL);
    char c;
    return rc == -1 && strstr(err.text, "has ended") != NULL && lives &&
                   recv(starter->socket, &c, 1, 0) == 0 &&
                   runs_as("/bin/sh", ":", LONG_MS, MAS_FAILED, "")
               ? 0
               : 1;
}

TEST(without_it_nothing_is_started_and_what_runs_goes_on)
{
    CHECK_INT(in_child(loses_its_starter), 0);
}

/* Requests of a process that was taken over. */
static int sends_nonsense(struct proc_starter *starter)
{
    static const struct {
        const char *bytes;
        size_t len;
        size_t fds;
    } bad[] = {
        {"x", 1, 4},         {"/bin/sh", 7, 4},       {"/bin/sh\0", 8, 4},
        {"\0", 1, 4},        {"\0\0\0", 3, 4},        {"/bin/sh\0sh\0-c\0:\0", 16, 3},
        {"a\0b\0c\0", 6, 8}, {"/bin/sh\0x\0", 10, 4},
    };
    int pair[2];
    int fds[SOCK_FILES_MAX];

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == -1)
            return 1;
        for (size_t j = 0; j < ARRAY_LEN(fds); j++)
            fds[j] = pair[1];
        if (sock_send_files(starter->socket, bad[i].bytes, bad[i].len, fds, bad[i].fds) == -1)
            return 2;
        (void)close(pair[1]);
        struct proc_starter_answer answer = {.error = 0};
        ssize_t n = recv(pair[0], &answer, sizeof answer, 0);
        if (n != 0 && (n != (ssize_t)sizeof answer || answer.error != EPERM))
            return 3;
        (void)close(pair[0]);
    }
    return runs_as("/bin/sh", "echo still", LONG_MS, 0, "still\n") ? 0 : 4;
}

TEST(it_refuses_nonsense_and_goes_on)
{
    CHECK_INT(in_child(sends_nonsense), 0);
}

/* ---- what mas-serve's lets through */

/* The words of a line, up to 23. */
static bool lets(const char *line)
{
    enum { MOST = 24 };
    char *text = mem_dup(line);
    char *words[MOST] = {NULL};
    char *save = NULL;
    size_t count = 0;

    for (char *word = strtok_r(text, " ", &save); word != NULL && count < MOST - 1;
         word = strtok_r(NULL, " ", &save))
        words[count++] = word;
    bool is = starter_accepts_verb(words);
    free(text);
    return is;
}

#define ID "11111111-1111-4111-8111-111111111111"

TEST(it_lets_through_what_addresses_need)
{
    static const char *const good[] = {
        "new -q --config - --id " ID " --mode isolated --template solo --name -x --agent shell"
        " --project /p --setup no --private",
        "stop -q " ID,
        "rm -q -f " ID,
        "search --json --session one -- -",
        "template show --json -- solo",
        "template list --json",
        "context --json -s " ID " --for - -- 11",
        "merge -s " ID " -- lead 10",
        "land -s " ID " --onto x --squash --message --rm",
        "doctor --fix --json",
        "set -q -- " ID " -x.budget.turns=5",
        "set -q -- " ID " setup=no",
        "clean --json --older-than 7d --keep 5 --status stopped --archive --dry-run",
        "migrate --json -s " ID " --name -x --dry-run",
        "env --json -s " ID,
        "config --json",
    };
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        if (!lets(good[i]))
            printf("# refused: %s\n", good[i]);
        CHECK(lets(good[i]));
    }
}

TEST(it_refuses_other_verbs_options_and_values)
{
    static const char *const bad[] = {
        "",
        "run",
        "host " ID " 11",
        "acp",
        "serve",
        "remote",
        "edit",
        "config set x y",
        "new --config /etc/passwd",
        "new --config",
        "new --template ../x",
        "new --template /tmp/x",
        "new --setup yes",
        "new --wall off",
        "new --host other",
        "new x -- ",
        "new --agent ./program",
        "new --id x",
        "new solo",
        "stop -q other:" ID,
        "stop " ID " --host x",
        "stop -f " ID,
        "stop one",
        "send -s " ID " --file - -- 11",
        "peek --json -s " ID " -- 11",
        "search --session other:one -- -",
        "search -- word",
        "template edit solo",
        "template add --json -- x",
        "template",
        "template show --json -- /tmp/x",
        "context -s " ID " --for /etc/passwd -- 11",
        "archive -s " ID " -o /tmp/x",
        "archive -s " ID " /tmp/x",
        "doctor /",
        "--root /tmp list",
        "land -s",
        "du --json extra",
        "set -q -- " ID " setup=yes",
        "set -q -- one private=yes",
        "set -q -- " ID " 11 mode=plan",
        "set -q " ID " --root=/tmp",
        "merge -s " ID " lead --from",
        "clean --root /tmp",
        "config --root /tmp",
        "migrate --json -- " ID,
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (lets(bad[i]))
            printf("# let through: %s\n", bad[i]);
        CHECK(!lets(bad[i]));
    }
}

/* ---- calls of tmux that only read */

#define OURS "#{&&:#{==:#{pane_id},%12},#{==:#{@mas_id}," ID "}}"
#define CAPTURE "display-message -p '" ID " 0.' ; capture-pane -p -S -5 -t '%12'"

/* Puts the word in place of one of those that read a screen, NULL: none; and asks. */
static bool reads(size_t at, const char *word)
{
    const char *words[] = {"tmux", "-u",  "-S", "/s",    "if-shell", "-F",
                           "-t",   "%12", OURS, CAPTURE, ";",        "display-message",
                           "-p",   ID,    NULL, NULL};

    if (word != NULL)
        words[at] = word;
    return tmux_only_reads((char *const *)(uintptr_t)words);
}

/* Asks for the list of sessions and of the panes of one, with these words after the format of the
 * first. */
static bool lists(const char *separator, const char *all, const char *filter, const char *more)
{
    const char *words[] = {
        "tmux",    "-u",         "-S", "/s", "list-sessions", "-F", tmux_list_format,
        separator, "list-panes", all,  "-f", filter,          "-F", tmux_panes_format,
        more,      NULL};

    return tmux_only_reads((char *const *)(uintptr_t)words);
}

TEST(it_lists_the_panes_of_a_session_and_nothing_else)
{
    static const char ours[] = "#{m:* host " ID " *,#{pane_start_command}}";

    CHECK(lists(";", "-a", ours, NULL));
    CHECK(!lists("; kill-server ;", "-a", ours, NULL));
    CHECK(!lists(";", "-s", ours, NULL));
    CHECK(!lists(";", "-a", "#{m:* host " ID " *,#{pane_start_command}}#(touch /x)", NULL));
    CHECK(!lists(";", "-a", "#(touch /x) host " ID, NULL));
    CHECK(!lists(";", "-a", "#{m:* host x *,#{pane_start_command}}", NULL));
    CHECK(!lists(";", "-a", "", NULL));
    CHECK(!lists(";", "-a", ours, ";"));
    CHECK(lists(NULL, NULL, NULL, NULL)); /* the sessions alone */
}

TEST(it_reads_screens_and_nothing_else)
{
    static const struct {
        size_t at;
        const char *word;
    } bad[] = {
        {1, "-L"},
        {4, "run-shell"},
        {5, "-b"},
        {7, "mas-x"},
        {7, "%1"},
        {7, "%1'; kill-server"},
        {8, "#(touch /x)"},
        {8, "#{==:#{@mas_id}," ID "}#(touch /x)"},
        {8, "#{&&:#{==:#{pane_id},%12},#{==:#{@mas_id},x}}"},
        {9, "kill-server"},
        {9, CAPTURE " ; kill-server"},
        {9, "kill-server ; " CAPTURE},
        {9, "display-message -p '" ID " 1.' ; capture-pane -p -S -5 -t '%12'"},
        {9, "display-message -p '" ID " 0.' ; capture-pane -p -S --5 -t '%12'"},
        {9, "display-message -p '" ID " 0.' ; capture-pane -p -S -05 -t '%12'"},
        {9, "display-message -p '" ID " 0.' ; capture-pane -p -S -1000001 -t '%12'"},
        {9, "display-message -p '" ID " 0.' ; capture-pane -p -S -5 -t '%13'"},
        {10, "run-shell"},
        {11, "run-shell"},
        {13, "x"},
        {13, "#(touch /x)"},
        {14, "kill-server"},
        {14, ";"},
    };

    CHECK(reads(0, NULL));
    CHECK(reads(9, "display-message -p '" ID " 0.' ; capture-pane -p -S -0 -t '%12'"));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (reads(bad[i].at, bad[i].word))
            printf("# let through: %zu %s\n", bad[i].at, bad[i].word);
        CHECK(!reads(bad[i].at, bad[i].word));
    }
}

/* The ends of pipes: of the two that are kept the one with the larger number comes first. */
static int keeps_two(void)
{
    struct err err = ERR_INIT;
    int pipes[3][2];

    for (size_t i = 0; i < ARRAY_LEN(pipes); i++)
        if (pipe2(pipes[i], O_CLOEXEC) == -1)
            return 2;
    struct proc_starter starter = {.accepts = accepts,
                                   .arg = (char[]){"/bin/sh"},
                                   .name = "test-starter",
                                   .keep = {pipes[2][1], pipes[0][1]},
                                   .keep_count = 2};
    if (proc_starter_fork(&starter, &err) == -1)
        return 3;
    for (size_t i = 0; i < ARRAY_LEN(pipes); i++)
        (void)close(pipes[i][1]);
    proc_start_by(starter.socket);
    bool right = runs_as("/bin/sh", "echo x", LONG_MS, 0, "x\n"); /* it has closed what it will */
    for (size_t i = 0; i < ARRAY_LEN(pipes); i++)
        right = right && loop_wait_for(pipes[i][0], POLLIN, 0) == (i == 1 ? POLLHUP : 0);
    proc_starter_end(&starter);
    return right && loop_wait_for(pipes[0][0], POLLIN, LONG_MS) == POLLHUP ? 0 : 1;
}

TEST(it_holds_what_it_is_to_keep_and_nothing_else)
{
    int status = -1;
    pid_t pid = proc_fork();

    if (pid == 0)
        _exit(keeps_two());
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_INT(status, 0);
}

/* As another user, who may not look into processes of others. */
static int hides_its_memory(void)
{
    struct err err = ERR_INIT;
    struct proc_starter starter = {
        .accepts = accepts, .arg = (char[]){"/bin/sh"}, .name = "test-starter"};
    char path[32];

    if (geteuid() == 0 && (setgid(NOBODY) == -1 || setuid(NOBODY) == -1))
        return 77;
    (void)prctl(PR_SET_DUMPABLE, 1);
    if (proc_starter_fork(&starter, &err) == -1)
        return 2;
    proc_start_by(starter.socket);
    bool right = runs_as("/bin/sh", ":", LONG_MS, 0, ""); /* it is ready */
    (void)snprintf(path, sizeof path, "/proc/%d/mem", (int)starter.pid);
    right = right && open(path, O_RDWR | O_CLOEXEC) == -1 && errno == EACCES;
    proc_starter_end(&starter);
    return right ? 0 : 1;
}

TEST(nobody_reads_or_writes_its_memory)
{
    int status = -1;
    pid_t pid = proc_fork();

    if (pid == 0)
        _exit(hides_its_memory());
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        UNIT_SKIP("there is no other user");
    CHECK_INT(WEXITSTATUS(status), 0);
}

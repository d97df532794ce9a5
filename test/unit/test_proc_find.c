/* What /proc tells of processes: whose they are, what they have, which are meant. */
#include "place.h"

#include "os/proc.h"

#include <sys/socket.h>
#include <sys/wait.h>

/* A `cat` that waits for input, which ends at the latest with this process. */
struct waiting {
    pid_t pid;
    int input;
};

/* Starts one with these variables, in this directory, with one more descriptor open. */
static struct waiting start(char *const *env, const char *dir, int more)
{
    char *argv[] = {(char[]){"cat"}, (char[]){"-u"}, (char[]){"--"}, (char[]){"-"}, NULL};
    char *const none[] = {NULL};
    int input[2], done[2];
    char byte;

    CHECK(pipe2(input, O_CLOEXEC) == 0 && pipe2(done, O_CLOEXEC) == 0);
    pid_t pid = proc_fork();
    if (pid == 0) {
        (void)dup2(input[0], STDIN_FILENO);
        if (more != -1)
            (void)dup2(more, 9);
        if (dir != NULL && chdir(dir) == -1)
            _exit(1);
        (void)execve("/bin/cat", argv, env != NULL ? env : none);
        _exit(1);
    }
    (void)close(input[0]);
    (void)close(done[1]);
    CHECK(read(done[0], &byte, 1) == 0); /* it runs its program by now */
    (void)close(done[0]);
    return (struct waiting){.pid = pid, .input = input[1]};
}

static void end(struct waiting *waiting)
{
    fd_closep(&waiting->input);
    (void)kill(waiting->pid, SIGKILL);
    (void)waitpid(waiting->pid, NULL, 0);
}
#define _cleanup_waiting_ __attribute__((cleanup(end)))

static struct proc_id id_of(pid_t pid)
{
    struct proc_id id = {.pid = 0};

    CHECK(proc_identify(pid, &id));
    return id;
}

TEST(a_process_is_known_by_its_number_and_its_start)
{
    struct waiting one = start(NULL, NULL, -1);
    const struct proc_id id = id_of(one.pid);
    const struct proc_id other = {.pid = id.pid, .start = id.start + 1};
    struct proc_id none = {.pid = 0};
    int status = 0;

    CHECK(proc_is_alive(&id) && !proc_is_alive(&other));
    proc_signal(&other, SIGKILL); /* the number is another process's */
    CHECK_INT(proc_wait_gone(&other, 1, 0), 0);
    CHECK_INT(proc_wait_gone(&id, 1, 0), 1);
    CHECK(!proc_is_stopped(&id) && proc_is_stopped(&other));
    proc_signal(&id, SIGSTOP);
    CHECK(waitpid(one.pid, &status, WUNTRACED) == one.pid && WIFSTOPPED(status));
    CHECK(proc_is_stopped(&id));
    proc_signal(&id, SIGCONT);
    proc_signal(&id, SIGTERM);
    const struct proc_id ids[] = {other, id, other};
    CHECK_INT(proc_wait_gone(ids, 3, -1), 0); /* a zombie is gone */
    CHECK(!proc_is_alive(&id) && proc_is_stopped(&id));
    CHECK(waitpid(one.pid, &status, 0) == one.pid && WTERMSIG(status) == SIGTERM);
    CHECK(!proc_identify(one.pid, &none));
    fd_closep(&one.input);
}

TEST(what_a_process_was_started_with_is_told)
{
    char *const env[] = {(char[]){"FIRST=1"}, (char[]){"MARK=a b"}, (char[]){"LAST="}, NULL};
    _cleanup_waiting_ struct waiting one = start(env, NULL, -1);
    static const char *const args[] = {"cat", "-u", "--", "-", NULL};
    char name[PROC_NAME_TEXT];

    CHECK(proc_has_entry(one.pid, "FIRST=1") && proc_has_entry(one.pid, "MARK=a b"));
    CHECK(proc_has_entry(one.pid, "LAST="));
    CHECK(!proc_has_entry(one.pid, "MARK=a") && !proc_has_entry(one.pid, "MARK=a b c"));
    CHECK(!proc_has_entry(one.pid, "ARK=a b") && !proc_has_entry(one.pid, "MARK"));
    for (size_t i = 0; i < ARRAY_LEN(args); i++) {
        _cleanup_free_ char *arg = proc_argument(one.pid, i);
        CHECK_STR(arg, args[i]);
    }
    CHECK(proc_argument(one.pid, 7) == NULL);
    CHECK_STR(proc_name(one.pid, name), "cat");
    _cleanup_free_ char *program = proc_program(one.pid);
    _cleanup_free_ char *real = path_canonical("/bin/cat");
    CHECK_STR(program, real);
    CHECK(proc_runs_same_program(getpid()) && !proc_runs_same_program(one.pid));
    CHECK(proc_is_ancestor(getpid()) && proc_is_ancestor(getppid()));
    CHECK(!proc_is_ancestor(one.pid));
    CHECK(proc_count_files(one.pid) >= 3 && proc_count_files(getpid()) > 3);
    CHECK_INT(proc_count_children(one.pid), 0);
    CHECK(proc_count_tasks() > 0 && proc_cpu(getpid()) <= proc_cpu(getpid()));
    end(&one);
    CHECK(!proc_has_entry(one.pid, "FIRST=1") && proc_argument(one.pid, 0) == NULL);
    CHECK_STR(proc_name(one.pid, name), "?");
    CHECK(proc_program(one.pid) == NULL && proc_cpu(one.pid) == 0);
    one = start(env, NULL, -1); /* for the cleanup */
}

TEST(files_places_and_sockets_lead_to_their_process)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_free_ char *below = mem_printf("%s/work/deep", place.path);
    _cleanup_free_ char *above = mem_printf("%s/work", place.path);
    _cleanup_free_ char *beside = mem_printf("%s/wor", place.path);
    int ends[2];
    struct stat file, socket_of;

    CHECK_INT(mkdirat(place.dir, "work", 0700), 0);
    CHECK_INT(mkdirat(place.dir, "work/deep", 0700), 0);
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    int held = openat(place.dir, "held", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    REQUIRE(held != -1 && fstat(held, &file) == 0 && fstat(ends[0], &socket_of) == 0);
    _cleanup_waiting_ struct waiting one = start(NULL, below, held);
    _cleanup_waiting_ struct waiting two = start(NULL, above, ends[0]);
    fd_closep(&held);
    fd_closep(&ends[0]);

    CHECK_INT(proc_working_below(below, NULL), one.pid);
    CHECK_INT(proc_working_below(below, "cat"), one.pid);
    CHECK_INT(proc_working_below(below, "dog"), 0);
    CHECK_INT(proc_working_below(beside, NULL), 0);
    pid_t found = proc_working_below(above, NULL);
    CHECK(found == one.pid || found == two.pid);
    CHECK_INT(proc_with_file(file.st_dev, file.st_ino), one.pid);
    CHECK_INT(proc_with_file(file.st_dev + 1, file.st_ino), 0);
    CHECK(proc_has_socket(two.pid, socket_of.st_ino));
    CHECK(!proc_has_socket(one.pid, socket_of.st_ino));
    CHECK(!proc_has_socket(one.pid, file.st_ino)); /* it is no socket */
    (void)close(ends[1]);
}

/* What accepts() of a query has seen, and which of these values it takes. */
struct wish {
    struct str seen;
    const char *wanted;
};

static bool accepts(const char *value, void *arg)
{
    struct wish *wish = arg;

    str_addf(&wish->seen, "[%s]", value);
    return strcmp(value, wish->wanted) == 0;
}

TEST(processes_are_found_by_their_environment)
{
    _cleanup_free_ char *mark = mem_printf("MAS_UNIT_MARK=%ld", (long)getpid());
    _cleanup_free_ char *longer = mem_printf("%s0", mark);
    char *const meant[] = {mark, (char[]){"WHO=me"}, NULL};
    char *const other[] = {(char[]){"WHO=you"}, mark, NULL};
    char *const quiet[] = {(char[]){"A=b"}, mark, (char[]){"C=d"}, NULL};
    char *const nobody[] = {longer, (char[]){"WHO=me"}, NULL};
    _cleanup_waiting_ struct waiting one = start(meant, NULL, -1);
    _cleanup_waiting_ struct waiting two = start(other, NULL, -1);
    _cleanup_waiting_ struct waiting three = start(quiet, NULL, -1);
    _cleanup_waiting_ struct waiting four = start(nobody, NULL, -1);
    const struct {
        const char *wanted;
        pid_t pid;
    } cases[] = {{"me", one.pid}, {"you", two.pid}, {"", three.pid}, {"them", 0}};
    struct err err = ERR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct wish wish = {.seen = STR_INIT, .wanted = cases[i].wanted};
        const struct proc_query query = {
            .entry = mark, .key = "WHO", .accepts = accepts, .arg = &wish};
        struct proc_id *ids = NULL;
        size_t count = 7;
        WELL(proc_find_by_env(&query, &ids, &count, &err));
        CHECK_INT(count, cases[i].pid != 0);
        if (count == 1)
            CHECK_INT(ids[0].pid, cases[i].pid);
        CHECK(strstr(wish.seen.data, "[me]") != NULL && strstr(wish.seen.data, "[you]") != NULL &&
              strstr(wish.seen.data, "[]") != NULL && wish.seen.len == strlen("[me][you][]"));
        str_free(&wish.seen);
        free(ids);
    }
    _cleanup_strv_ char **values = NULL;
    WELL(proc_env_values("MAS_UNIT_MARK", &values, &err));
    CHECK(strv_has(values, mark + strlen("MAS_UNIT_MARK=")));
    CHECK(strv_has(values, longer + strlen("MAS_UNIT_MARK=")));
    size_t times = 0;
    for (char **value = values; *value != NULL; value++)
        times += strcmp(*value, mark + strlen("MAS_UNIT_MARK=")) == 0;
    CHECK_INT(times, 1);
    const struct proc_id gone[] = {id_of(one.pid), id_of(two.pid), id_of(three.pid)};
    const struct proc_id stays = id_of(four.pid);
    proc_kill_marked("MAS_UNIT_MARK", mark + strlen("MAS_UNIT_MARK="), -1);
    CHECK_INT(proc_wait_gone(gone, 3, 0), 0);
    CHECK(proc_is_alive(&stays));
}

/* A child with a child of its own, which is stopped. *ret_below is that one. */
static pid_t start_pair(pid_t *ret_below)
{
    int told[2];

    CHECK(pipe2(told, O_CLOEXEC) == 0);
    pid_t pid = proc_fork();
    if (pid == 0) {
        pid_t below = proc_fork();
        if (below == 0)
            for (;;)
                (void)raise(SIGSTOP);
        (void)waitpid(below, NULL, WUNTRACED);
        (void)!write(told[1], &below, sizeof below);
        for (;;)
            (void)pause();
    }
    CHECK(read(told[0], ret_below, sizeof *ret_below) == (ssize_t)sizeof *ret_below);
    (void)close(told[0]);
    (void)close(told[1]);
    return pid;
}

TEST(all_that_is_below_a_process_is_listed_with_its_depth)
{
    pid_t below = 0;
    pid_t above = start_pair(&below);
    _cleanup_waiting_ struct waiting beside = start(NULL, NULL, -1);
    struct proc_in_tree *tree = NULL;
    struct proc_id *ids = NULL;

    size_t count = proc_tree(&tree);
    CHECK_INT(count, 3);
    for (size_t i = 0; i < count; i++) {
        CHECK_INT(tree[i].depth, tree[i].id.pid == below ? 1 : 0);
        CHECK_INT(tree[i].stopped, tree[i].id.pid == below);
        CHECK(tree[i].id.pid == below || tree[i].id.pid == above || tree[i].id.pid == beside.pid);
        CHECK(proc_is_alive(&tree[i].id));
    }
    CHECK(count == 3 && tree[2].id.pid == below); /* each comes before its children */
    free(tree);
    CHECK_INT(proc_descendants_of(above, &ids), 1);
    CHECK_INT(ids[0].pid, below);
    free(ids);
    CHECK_INT(proc_descendants_of(below, &ids), 0);
    free(ids);
    CHECK_INT(proc_count_children(above), 1);

    struct proc_above *line = NULL;
    size_t length = 0;
    const struct proc_id lowest = id_of(below);
    REQUIRE(proc_lineage(&lowest, &line, &length) == 0);
    CHECK(length >= 3 && line[0].pid == below && line[1].pid == above && line[2].pid == getpid());
    free(line);
    (void)kill(below, SIGKILL);
    (void)kill(above, SIGKILL);
    (void)waitpid(above, NULL, 0);
}

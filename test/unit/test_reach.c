/*
 * The connections that commands to one machine share: fleet/reach_master.c. This program is the
 * ssh, too: it does and says what the file `does` says, and writes down that it was called.
 */
#define UNIT_OWN_MAIN
#include "gap.h"
#include "place.h"

#include "base/time.h"
#include "fleet/reach.h"
#include "fleet/reach_internal.h"
#include "os/proc.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

static char *program;

/* ---- as ssh */

static int listen_as_master(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    (void)snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) == -1 || listen(fd, 64) == -1)
        return 2;
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
            (void)close(i);
        for (;;)
            (void)pause();
    }
    FILE *out = fopen("pid", "w");
    (void)fprintf(out, "%d", (int)pid);
    (void)fclose(out);
    return pid == -1;
}

static int be_ssh(char **argv)
{
    const char *home = getenv("TEST_PLACE");
    const char *path = NULL;
    char does[1024] = "";

    if (home == NULL || chdir(home) == -1)
        return 99;
    FILE *calls = fopen("calls", "a");
    (void)fputc('x', calls);
    (void)fclose(calls);
    FILE *file = fopen("does", "r");
    size_t n = fread(does, 1, sizeof does - 1, file);
    (void)fclose(file);
    for (char **word = argv; *word != NULL; word++)
        if (str_starts(*word, "ControlPath="))
            path = *word + strlen("ControlPath=");
    if (n == 0)
        return path != NULL ? listen_as_master(path) : 98;
    (void)fputs(does, stderr);
    return 255;
}

/* ---- the tests */

struct world {
    struct place place;
    struct remote remote;
    char **env;
    int dir; /* where masters lie */
};

static void world_make(struct world *world)
{
    *world = (struct world){.place = place_make(),
                            .remote = {.name = mem_dup("far"),
                                       .via = REMOTE_SSH,
                                       .place = mem_dup("user@far.example")}};
    _cleanup_free_ char *home = mem_printf("TEST_PLACE=%s", world->place.path);
    strv_push(&world->env, home);
    CHECK(setenv("XDG_RUNTIME_DIR", world->place.path, 1) == 0);
    CHECK(mkdirat(world->place.dir, "mas", 0700) == 0);
    world->dir = path_open_dir(world->place.dir, "mas");
    CHECK(place_put(world->place.dir, "does", "") && place_put(world->place.dir, "calls", ""));
}

/* The process of the newest master; 0: there is none. */
static pid_t master_of(const struct world *world)
{
    _cleanup_free_ char *text = NULL;
    struct err err = ERR_INIT;
    size_t len = 0;

    return file_read(world->place.dir, "pid", 32, &text, &len, &err) == 0
               ? (pid_t)strtol(text, NULL, 10)
               : 0;
}

/* Ends the newest master, if there is one. */
static void end_master(const struct world *world)
{
    pid_t pid = master_of(world);

    if (pid > 0)
        (void)kill(pid, SIGKILL);
    (void)unlinkat(world->place.dir, "pid", 0);
}

static void world_free(struct world *world)
{
    end_master(world);
    strv_free(world->env);
    free(world->remote.name);
    free(world->remote.place);
    fd_closep(&world->dir);
    place_free(&world->place);
}
#define _cleanup_world_ __attribute__((cleanup(world_free)))

static int take(struct world *world, bool goes_on, int *slot, struct err *err)
{
    _cleanup_free_ char *path = NULL;

    *err = (struct err)ERR_INIT;
    return reach_take_slot(program, world->env, &world->remote, goes_on, &path, slot, err);
}

/* Takes a slot and gives it back. */
static int once(struct world *world, bool goes_on, struct err *err)
{
    int slot = -1;
    int rc = take(world, goes_on, &slot, err);

    if (rc == 0)
        (void)close(slot);
    return rc;
}

/* How often ssh was called. */
static size_t calls(const struct world *world)
{
    struct stat st;

    return fstatat(world->place.dir, "calls", &st, 0) == 0 ? (size_t)st.st_size : 0;
}

/* What failed in the same millisecond may be what one has waited for. */
static void a_moment_later(void)
{
    int64_t now = time_monotonic_ms();

    while (time_monotonic_ms() == now)
        ;
}

TEST(one_master_serves_until_it_is_gone_and_then_another_does)
{
    for (int goes_on = 0; goes_on < 2; goes_on++) {
        _cleanup_world_ struct world world;
        struct err err;
        world_make(&world);
        MUST(once(&world, goes_on == 1, &err));
        MUST(once(&world, goes_on == 1, &err));
        CHECK_INT(calls(&world), 1);
        end_master(&world);
        while (err.text[0] == '\0' && calls(&world) < 2)
            MUST(once(&world, goes_on == 1, &err)); /* its socket is still there */
        CHECK_INT(calls(&world), 2);
        CHECK(reach_connecting(&world.remote) == NULL);
    }
}

/* What ssh says, and what a person is told. */
TEST(why_there_is_none_is_said_with_what_to_do)
{
    static const struct {
        const char *says, *text, *hint;
    } rows[] = {
        {"ssh: connect to host far port 22: Connection refused\r\n",
         "connect to host far port 22: Connection refused",
         "try: ssh -o BatchMode=yes user@far.example true"},
        {"first\nuser@far: Permission denied (publickey).\n",
         "user@far: Permission denied (publickey)",
         "try: ssh -o BatchMode=yes user@far.example true"},
        {"\n", "ssh failed and said nothing", "try: ssh -o BatchMode=yes user@far.example true"},
        {"Host key verification failed.\r\n", "Host key verification failed: it is not known here",
         "compare it with that of the machine, and accept it once: ssh user@far.example true"},
        {"IDENTIFICATION HAS CHANGED\nHost key verification failed.\n",
         "Host key verification failed: it has changed",
         "if that is right, forget the old key: ssh-keygen -R user@far.example"},
        {"IDENTIFICATION HAS CHANGED\n  ssh-keygen -f '/k' -R 'far'\r\nHost key verification "
         "failed.\n",
         "Host key verification failed: it has changed",
         "if that is right, forget the old key: ssh-keygen -f '/k' -R 'far'"},
        {"@ REVOKED HOST KEY DETECTED! @\nHost key verification failed.\n",
         "Host key verification failed: it was revoked",
         "ask who runs that machine for its new key"},
        {"key for far marked as revoked\nHost key verification failed.\n",
         "Host key verification failed: it was revoked",
         "ask who runs that machine for its new key"},
        {"Host key ED25519 revoked by file /r\nHost key verification failed.\n",
         "Host key verification failed: it was revoked",
         "ask who runs that machine for its new key"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_world_ struct world world;
        struct err err;
        world_make(&world);
        CHECK(place_put(world.place.dir, "does", rows[i].says));
        _cleanup_free_ char *want = mem_printf("cannot reach host 'far': %s", rows[i].text);
        CHECK_INT(once(&world, false, &err), -1);
        CHECK_INT(err.code, MAS_UNREACHED);
        CHECK_STR(err.text, want);
        CHECK_STR(err.hint, rows[i].hint);
        a_moment_later();
        CHECK_INT(once(&world, false, &err), -1); /* it is tried each time */
        CHECK_INT(calls(&world), 2);
        a_moment_later();
        CHECK_INT(once(&world, true, &err), -1);
        CHECK(str_starts(err.text, "cannot reach host 'far': "));
        CHECK(place_put(world.place.dir, "does", ""));
        a_moment_later();
        WELL(once(&world, true, &err));
        CHECK_INT(calls(&world), 4);
    }
}

/* Returns true if the process has opened a file whose name ends so. */
static bool has_open(pid_t pid, const char *end)
{
    bool has = false;

    for (int fd = 3; fd < 64 && !has; fd++) {
        char to[4096];
        _cleanup_free_ char *link = mem_printf("/proc/%d/fd/%d", (int)pid, fd);
        ssize_t n = readlink(link, to, sizeof to - 1);
        to[n > 0 ? n : 0] = '\0';
        has = n > (ssize_t)strlen(end) && strcmp(to + n - strlen(end), end) == 0;
    }
    return has;
}

/* Two that connect at once: the second waits for the first, and fails like it without an attempt of
 * its own. */
TEST(who_waits_for_a_login_that_fails_fails_like_it)
{
    _cleanup_world_ struct world world;
    struct err err;
    _cleanup_free_ char *name = NULL;
    _cleanup_strv_ char **names = NULL;
    int lock = -1, status = 0;
    int ready[2];

    world_make(&world);
    CHECK(place_put(world.place.dir, "does", "no luck\n"));
    CHECK_INT(once(&world, false, &err), -1);
    MUST(path_list(world.dir, &names, &err));
    for (char **one = names; *one != NULL; one++)
        if (strstr(*one, ".lock") != NULL)
            name = mem_dup(*one);
    REQUIRE(name != NULL);
    MUST(file_lock(world.dir, name, LOCK_TRY, "connect", &lock, &err));
    _cleanup_free_ char *words = reach_connecting(&world.remote);
    CHECK_STR(words, "still connecting, ask again; the last login failed: no luck");
    CHECK(pipe2(ready, O_CLOEXEC) == 0);
    pid_t pid = proc_fork();
    if (pid == 0) {
        (void)close(lock); /* it is the same one */
        (void)close(ready[1]);
        int rc = once(&world, false, &err);
        _exit(rc == -1 && strcmp(err.text, "cannot reach host 'far': it failed there") == 0 ? 0
                                                                                            : 1);
    }
    /* it has looked at the time once it waits for the lock; then the other one fails */
    char *dot = strrchr(name, '.');
    _cleanup_free_ char *failed = mem_printf("%.*s.failed", (int)(dot - name), name);
    (void)close(ready[1]);
    char byte;
    CHECK(read(ready[0], &byte, 1) == 0); /* the child has closed its lock */
    (void)close(ready[0]);
    while (!has_open(pid, ".lock"))
        ;
    _cleanup_free_ char *text = mem_printf("%lld it failed there", (long long)time_monotonic_ms());
    CHECK(place_put(world.dir, failed, text));
    (void)close(lock);
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_INT(status, 0);
    CHECK_INT(calls(&world), 1);
}

/* Who finds all slots of a master taken gets the next one's; who finds all taken is refused. A look
 * at one that is taken lasts a moment, hence the clock. */
TEST(a_machine_has_so_many_commands_and_no_more)
{
    enum { MOST = REACH_MASTERS * REACH_SLOTS };
    _cleanup_world_ struct world world;
    _cleanup_strv_ char **names = NULL;
    struct err err;
    char *hash = NULL;
    int slots[MOST];

    world_make(&world);
    MUST(once(&world, false, &err));
    CHECK_INT(calls(&world), 1);
    pid_t first = master_of(&world);
    MUST(path_list(world.dir, &names, &err));
    for (char **one = names; *one != NULL && hash == NULL; one++)
        if (strstr(*one, ".lock") != NULL)
            hash = mem_dupn(*one, strlen(*one) - strlen(".lock"));
    REQUIRE(hash != NULL);
    for (int i = 0; i < MOST; i++) {
        _cleanup_free_ char *name = mem_printf("%s.%d.%d", hash, i / REACH_SLOTS, i % REACH_SLOTS);
        MUST(file_lock(world.dir, name, LOCK_TRY, "", &slots[i], &err));
    }
    gap_clock(true);
    CHECK_INT(once(&world, false, &err), -1);
    gap_clock(false);
    CHECK_STR(err.text, "cannot reach host 'far': 128 commands run there already");
    (void)close(slots[REACH_SLOTS]);
    MUST(once(&world, false, &err)); /* it needs the second master */
    CHECK_INT(calls(&world), 2);
    (void)close(slots[REACH_SLOTS - 1]);
    MUST(once(&world, false, &err)); /* and this one the first, which is there */
    CHECK_INT(calls(&world), 2);
    for (int i = 0; i < MOST; i++)
        if (i != REACH_SLOTS && i != REACH_SLOTS - 1)
            (void)close(slots[i]);
    free(hash);
    (void)kill(first, SIGKILL);
}

TEST(a_directory_that_others_may_enter_is_not_used)
{
    static const mode_t modes[] = {0701, 0710, 0755, 0777};
    _cleanup_world_ struct world world;
    struct err err;

    world_make(&world);
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        CHECK(fchmod(world.dir, modes[i]) == 0);
        CHECK_INT(once(&world, false, &err), -1);
        CHECK(strstr(err.text, "others may enter it, or it is theirs") != NULL);
    }
    CHECK(fchmod(world.dir, 0700) == 0);
    CHECK(renameat(world.place.dir, "mas", world.place.dir, "other") == 0 &&
          symlinkat("other", world.place.dir, "mas") == 0);
    CHECK_INT(once(&world, false, &err), -1);
    CHECK(str_starts(err.text, "cannot open '"));
    CHECK_INT(calls(&world), 0);
    CHECK(unlinkat(world.place.dir, "mas", 0) == 0);
    WELL(once(&world, false, &err)); /* it is made */
    struct stat st;
    CHECK(fstatat(world.place.dir, "mas", &st, 0) == 0 && (st.st_mode & 07777) == 0700);
}

int main(int argc, char **argv)
{
    if (argc > 0 && strcmp(argv[0], "ssh") == 0)
        return be_ssh(argv);
    program = path_exe();
    int rc = unit_run();
    free(program);
    return rc;
}

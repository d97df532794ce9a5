/* Copying, removing and measuring trees. */
#include "os/tree.h"
#include "os/tree_walk.h"

#include "gap.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>

enum { NOBODY = 65534 };

/* A directory of the test's own with an empty `from` and `to` in it. */
struct place {
    char path[64];
    int fd;
    int from;
    int to;
    mode_t umask;
    struct err err;
};

static int dir_at(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int make_dir(int at, const char *name, mode_t mode)
{
    if (mkdirat(at, name, 0700) == -1)
        return -1;
    int fd = dir_at(at, name);
    return fd != -1 && fchmod(fd, mode) == 0 ? fd : -1;
}

static struct place place_make(void)
{
    struct place p = {.path = "/tmp/test-tree-XXXXXX", .fd = -1, .from = -1, .to = -1};

    p.umask = umask(022);
    if (mkdtemp(p.path) == NULL) {
        perror("mkdtemp");
        exit(2);
    }
    p.fd = dir_at(AT_FDCWD, p.path);
    p.from = make_dir(p.fd, "from", 0755);
    p.to = make_dir(p.fd, "to", 0700);
    return p;
}

static void place_release(struct place *p)
{
    struct err err = ERR_INIT;

    (void)close(p->from);
    (void)close(p->to);
    (void)close(p->fd);
    CHECK_INT(tree_remove(AT_FDCWD, "test-tree-none", &err), 0);
    int tmp = dir_at(AT_FDCWD, "/tmp");
    if (tree_remove(tmp, p->path + strlen("/tmp/"), &err) == -1)
        CHECK_STR(err.text, "");
    (void)close(tmp);
    (void)umask(p->umask);
}

#define _cleanup_place_ __attribute__((cleanup(place_release)))

static int copy(struct place *p)
{
    p->err = (struct err)ERR_INIT;
    return tree_copy(p->from, p->to, "t", NULL, NULL, &p->err);
}

static bool put(int at, const char *name, const char *text, mode_t mode)
{
    int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    size_t len = strlen(text);
    bool ok = fd != -1 && write(fd, text, len) == (ssize_t)len && fchmod(fd, mode) == 0;

    if (fd != -1)
        (void)close(fd);
    return ok;
}

static mode_t mode_of(int at, const char *name)
{
    struct stat st;

    return fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_mode & ALLPERMS : (mode_t)-1;
}

static bool exists(int at, const char *name)
{
    return faccessat(at, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Both files, byte for byte. */
static bool same(int a_at, const char *a_name, int b_at, const char *b_name)
{
    static char a_data[1 << 16];
    static char b_data[1 << 16];
    int a = openat(a_at, a_name, O_RDONLY | O_CLOEXEC);
    int b = openat(b_at, b_name, O_RDONLY | O_CLOEXEC);
    bool equal = a != -1 && b != -1;
    ssize_t len = 1;

    while (equal && len > 0) {
        len = read(a, a_data, sizeof(a_data));
        equal = len >= 0 && read(b, b_data, sizeof(b_data)) == len &&
                memcmp(a_data, b_data, (size_t)len) == 0;
    }
    (void)close(a);
    (void)close(b);
    return equal;
}

/* A file of `size` bytes that differ from place to place and from seed to seed. */
static bool put_noise(int at, const char *name, size_t size, unsigned seed)
{
    static char data[1 << 16];
    int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    uint32_t x = seed * 2654435761U + 1;
    bool ok = fd != -1;

    while (ok && size > 0) {
        size_t len = size < sizeof(data) ? size : sizeof(data);
        for (size_t i = 0; i < len; i++) {
            x = x * 1664525U + 1013904223U;
            data[i] = (char)(x >> 24);
        }
        ok = write(fd, data, len) == (ssize_t)len;
        size -= len;
    }
    if (fd != -1)
        (void)close(fd);
    return ok;
}

/* Runs `f` in a process of its own, as an ordinary user; permission bits mean nothing to root. */
static int as_user(struct place *p, int (*f)(struct place *p))
{
    int status = -1;

    if (geteuid() == 0 &&
        (fchown(p->fd, NOBODY, NOBODY) == -1 || fchown(p->from, NOBODY, NOBODY) == -1 ||
         fchown(p->to, NOBODY, NOBODY) == -1))
        return -1;
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        if (geteuid() == 0 &&
            (setresgid(NOBODY, NOBODY, NOBODY) == -1 || setresuid(NOBODY, NOBODY, NOBODY) == -1))
            _exit(99);
        int r = f(p);
        (void)fflush(stdout);
        _exit(r);
    }
    (void)waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- copying */

TEST(copies_modes_whatever_the_umask)
{
    static const mode_t masks[] = {0, 022, 077, 0777};
    static const mode_t modes[] = {0644, 0600, 0755, 0444, 0666, 0777, 0401};

    for (size_t m = 0; m < ARRAY_LEN(masks); m++) {
        _cleanup_place_ struct place p = place_make();
        char name[16];
        for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
            (void)snprintf(name, sizeof(name), "f%zu", i);
            REQUIRE(put(p.from, name, "x", modes[i]));
            (void)snprintf(name, sizeof(name), "d%zu", i);
            (void)close(make_dir(p.from, name, modes[i] | 0500));
        }
        (void)close(make_dir(p.from, "sticky", 01777));
        (void)umask(masks[m]);
        CHECK_INT(copy(&p), 0);
        CHECK_INT(umask(022), masks[m]);
        for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
            (void)snprintf(name, sizeof(name), "f%zu", i);
            CHECK_INT(mode_of(p.to, name), modes[i]);
            (void)snprintf(name, sizeof(name), "d%zu", i);
            CHECK_INT(mode_of(p.to, name), modes[i] | 0500);
        }
        CHECK_INT(mode_of(p.to, "sticky"), 01777);
        CHECK_INT(mode_of(p.fd, "to"), 0700);
    }
}

static int copy_under_hard_umask(struct place *p)
{
    (void)close(make_dir(p->from, "d", 0755));
    if (!put(p->from, "d/f", "text", 0644))
        return 1;
    (void)umask(0777);
    if (copy(p) == -1)
        return 2;
    return mode_of(p->to, "d") == 0755 && same(p->from, "d/f", p->to, "d/f") ? 0 : 3;
}

TEST(copies_under_an_umask_that_bars_its_user)
{
    _cleanup_place_ struct place p = place_make();

    CHECK_INT(as_user(&p, copy_under_hard_umask), 0);
}

TEST(keeps_modification_times)
{
    _cleanup_place_ struct place p = place_make();
    static const struct timespec old[2] = {{.tv_sec = 1, .tv_nsec = 2},
                                           {.tv_sec = 1234567890, .tv_nsec = 123456789}};
    static const char *const names[] = {"d/e/f", "d/e/link", "d/e", "d"};
    struct stat st;

    (void)close(make_dir(p.from, "d", 0755));
    (void)close(make_dir(p.from, "d/e", 0755));
    REQUIRE(put(p.from, "d/e/f", "text", 0644));
    REQUIRE(symlinkat("f", p.from, "d/e/link") == 0);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        REQUIRE(utimensat(p.from, names[i], old, AT_SYMLINK_NOFOLLOW) == 0);
    CHECK_INT(copy(&p), 0);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        REQUIRE(fstatat(p.to, names[i], &st, AT_SYMLINK_NOFOLLOW) == 0);
        CHECK_INT(st.st_mtim.tv_sec, old[1].tv_sec);
        CHECK_INT(st.st_mtim.tv_nsec, old[1].tv_nsec);
    }
}

TEST(copies_odd_names)
{
    _cleanup_place_ struct place p = place_make();
    char longest[256];
    const char *names[] = {
        "a\nb",    " ",   "-rf",          "\xff\xfe\x80", "#(touch x)", "'\"`$;|&*?[]\\",
        "\x1b[2J", "...", "\xc3\xa9\xe2", ".hidden",      longest,
    };

    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    (void)close(make_dir(p.from, "dir\n \xff", 0755));
    int from = dir_at(p.from, "dir\n \xff");
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        REQUIRE(put(p.from, names[i], names[i], 0644));
        (void)close(make_dir(from, names[i], 0755));
    }
    CHECK_INT(copy(&p), 0);
    int to = dir_at(p.to, "dir\n \xff");
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        CHECK(same(p.from, names[i], p.to, names[i]));
        CHECK_INT(mode_of(to, names[i]), 0755);
    }
    (void)close(from);
    (void)close(to);
}

TEST(keeps_links_as_links)
{
    _cleanup_place_ struct place p = place_make();
    static const char *const targets[] = {"/etc/passwd", "/etc",  "../../..",
                                          "nowhere",     "link2", "a\nb \xff"};
    char name[16];
    char target[64];

    for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
        (void)snprintf(name, sizeof(name), "link%zu", i);
        REQUIRE(symlinkat(targets[i], p.from, name) == 0);
    }
    CHECK_INT(copy(&p), 0);
    for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
        (void)snprintf(name, sizeof(name), "link%zu", i);
        ssize_t len = readlinkat(p.to, name, target, sizeof(target) - 1);
        target[len > 0 ? len : 0] = '\0';
        CHECK_STR(target, targets[i]);
    }
}

TEST(keeps_sparse_files_sparse)
{
    _cleanup_place_ struct place p = place_make();
    struct stat st;

    int fd = openat(p.from, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    REQUIRE(fd != -1);
    REQUIRE(pwrite(fd, "begin", 5, 0) == 5);
    REQUIRE(pwrite(fd, "middle", 6, (32 << 20) + 17) == 6);
    REQUIRE(ftruncate(fd, 64 << 20) == 0);
    REQUIRE(fstat(fd, &st) == 0);
    (void)close(fd);
    fd = openat(p.from, "hole", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    REQUIRE(ftruncate(fd, 1 << 20) == 0);
    (void)close(fd);
    if (st.st_blocks > 1000)
        UNIT_SKIP("no sparse files here");

    CHECK_INT(copy(&p), 0);
    CHECK(same(p.from, "f", p.to, "f"));
    CHECK(same(p.from, "hole", p.to, "hole"));
    REQUIRE(fstatat(p.to, "f", &st, 0) == 0);
    CHECK_INT(st.st_size, 64 << 20);
    CHECK(st.st_blocks < 1000);
    REQUIRE(fstatat(p.to, "hole", &st, 0) == 0);
    CHECK_INT(st.st_blocks, 0);
}

TEST(copies_sizes_around_the_limits)
{
    static const size_t sizes[] = {0,     1,      4095,    4096,          4097,
                                   32767, 32768,  65535,   65536,         65537,
                                   98304, 131072, 1 << 20, (8 << 20) - 1, (8 << 20) + 1};
    _cleanup_place_ struct place p = place_make();
    char name[16];

    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        (void)snprintf(name, sizeof(name), "f%zu", i);
        REQUIRE(put_noise(p.from, name, sizes[i], (unsigned)i));
    }
    CHECK_INT(copy(&p), 0);
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        (void)snprintf(name, sizeof(name), "f%zu", i);
        CHECK(same(p.from, name, p.to, name));
    }
}

TEST(copies_into_several_directories)
{
    static const size_t sizes[] = {0, 1, 32768, 65535, 65536, 65537, 1 << 20};
    _cleanup_place_ struct place p = place_make();
    int to[3];
    char name[16];

    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        (void)snprintf(name, sizeof(name), "f%zu", i);
        REQUIRE(put_noise(p.from, name, sizes[i], (unsigned)i));
    }
    (void)close(make_dir(p.from, "empty", 0555));
    REQUIRE(symlinkat("f0", p.from, "link") == 0);
    for (size_t c = 0; c < ARRAY_LEN(to); c++) {
        (void)snprintf(name, sizeof(name), "to%zu", c);
        to[c] = make_dir(p.fd, name, 0700);
    }
    CHECK_INT(tree_copy_many(p.from, to, ARRAY_LEN(to), "t", NULL, NULL, &p.err), 0);
    for (size_t c = 0; c < ARRAY_LEN(to); c++) {
        for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
            (void)snprintf(name, sizeof(name), "f%zu", i);
            CHECK(same(p.from, name, to[c], name));
        }
        CHECK_INT(mode_of(to[c], "empty"), 0555);
        CHECK(exists(to[c], "link"));
        (void)close(to[c]);
    }
    CHECK_INT(tree_copy_many(p.from, &p.from, 1, "t", NULL, NULL, &p.err), -1);
    CHECK_STR(p.err.text, "cannot copy 't': the copy would be inside the original");
}

TEST(copies_across_file_systems)
{
    _cleanup_place_ struct place p = place_make();
    struct err err = ERR_INIT;
    struct stat here;
    struct stat there;
    char path[] = "/dev/shm/test-tree-XXXXXX";

    if (mkdtemp(path) == NULL)
        UNIT_SKIP("no /dev/shm");
    REQUIRE(put_noise(p.from, "f", 1 << 20, 1));
    REQUIRE(put_noise(p.from, "g", 200000, 2));
    int to = dir_at(AT_FDCWD, path);
    CHECK_INT(tree_copy(p.from, to, "t", NULL, NULL, &err), 0);
    CHECK(same(p.from, "f", to, "f"));
    CHECK(same(p.from, "g", to, "g"));
    bool other = fstat(p.from, &here) == 0 && fstat(to, &there) == 0 && here.st_dev != there.st_dev;
    (void)close(to);
    int shm = dir_at(AT_FDCWD, "/dev/shm");
    CHECK_INT(tree_remove(shm, path + strlen("/dev/shm/"), &err), 0);
    (void)close(shm);
    if (!other)
        UNIT_SKIP("/tmp and /dev/shm are one");
}

TEST(separates_hard_links)
{
    _cleanup_place_ struct place p = place_make();
    struct stat st;

    REQUIRE(put(p.from, "a", "text", 0644));
    REQUIRE(linkat(p.from, "a", p.from, "b", 0) == 0);
    CHECK_INT(copy(&p), 0);
    REQUIRE(fstatat(p.to, "b", &st, 0) == 0);
    CHECK_INT(st.st_nlink, 1);
    CHECK(same(p.from, "a", p.to, "b"));
}

static void make_writable(void *arg)
{
    CHECK_INT(fchmodat(*(int *)arg, "file", 0644, 0), 0);
}

static void replace_it(void *arg)
{
    CHECK(put(*(int *)arg, "new", "other", 0444) &&
          renameat(*(int *)arg, "new", *(int *)arg, "file") == 0);
}

/* A link to what somebody can write would let the copy change with it. */
TEST(links_only_what_it_has_looked_at)
{
    static const struct {
        void (*act)(void *arg);
        bool links;
    } cases[] = {{NULL, true}, {make_writable, false}, {replace_it, false}};
    const struct tree_choice choice = {.link_readonly = true};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_place_ struct place p = place_make();
        struct stat from, to;
        CHECK(put(p.from, "file", "text", 0444));
        if (cases[i].act != NULL)
            gap_before("link", cases[i].act, &p.from);
        CHECK_INT(tree_copy_choice(p.from, p.to, "t", &choice, NULL, NULL, &p.err), 0);
        CHECK_INT(fstatat(p.from, "file", &from, 0), 0);
        CHECK_INT(fstatat(p.to, "file", &to, 0), 0);
        CHECK((from.st_ino == to.st_ino) == cases[i].links);
    }
}

TEST(refuses_setuid_and_setgid_files)
{
    static const mode_t bits[] = {S_ISUID, S_ISGID};

    for (size_t i = 0; i < ARRAY_LEN(bits); i++) {
        _cleanup_place_ struct place p = place_make();
        (void)close(make_dir(p.from, "d", 0755));
        REQUIRE(put(p.from, "d/prog", "x", 0755 | bits[i]));
        REQUIRE(copy(&p) == -1);
        CHECK_INT(p.err.code, MAS_FAILED);
        CHECK_STR(p.err.text, "cannot copy 't/d/prog': it is setuid or setgid");
        CHECK(!exists(p.to, "d/prog"));
    }
}

TEST(drops_setgid_of_directories)
{
    _cleanup_place_ struct place p = place_make();

    (void)close(make_dir(p.from, "d", 02775));
    REQUIRE(mode_of(p.from, "d") == 02775);
    CHECK_INT(copy(&p), 0);
    CHECK_INT(mode_of(p.to, "d"), 0775);
}

TEST(refuses_fifos_and_sockets)
{
    _cleanup_place_ struct place p = place_make();
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    REQUIRE(mkfifoat(p.from, "pipe", 0644) == 0);
    REQUIRE(copy(&p) == -1);
    CHECK_STR(p.err.text, "cannot copy 't/pipe': it is a FIFO");
    REQUIRE(unlinkat(p.from, "pipe", 0) == 0);

    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/from/sock", p.path);
    REQUIRE(bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0);
    REQUIRE(copy(&p) == -1);
    CHECK_STR(p.err.text, "cannot copy 't/sock': it is a socket");
    (void)close(fd);
}

TEST(refuses_devices)
{
    _cleanup_place_ struct place p = place_make();

    if (mknodat(p.from, "null", S_IFCHR | 0666, makedev(1, 3)) == -1)
        UNIT_SKIP("may not make a device");
    REQUIRE(copy(&p) == -1);
    CHECK_STR(p.err.text, "cannot copy 't/null': it is a device");
}

static int copy_and_remove_read_only(struct place *p)
{
    (void)close(make_dir(p->from, "d", 0755));
    (void)close(make_dir(p->from, "d/e", 0755));
    if (!put(p->from, "d/e/f", "text", 0444) || !put(p->from, "d/g", "text", 0400) ||
        fchmodat(p->from, "d/e", 0555, 0) == -1 || fchmodat(p->from, "d", 0555, 0) == -1)
        return 1;
    if (copy(p) == -1)
        return 2;
    if (mode_of(p->to, "d") != 0555 || mode_of(p->to, "d/e") != 0555 ||
        mode_of(p->to, "d/e/f") != 0444 || !same(p->from, "d/e/f", p->to, "d/e/f"))
        return 3;
    if (tree_remove(p->to, "d", &p->err) == -1 || exists(p->to, "d"))
        return 4;
    return 0;
}

TEST(copies_and_removes_read_only_directories)
{
    _cleanup_place_ struct place p = place_make();

    CHECK_INT(as_user(&p, copy_and_remove_read_only), 0);
}

static int copy_unreadable(struct place *p)
{
    (void)close(make_dir(p->from, "d", 0755));
    if (!put(p->from, "d/secret", "text", 0000) || copy(p) == 0)
        return 1;
    if (strcmp(p->err.text, "cannot copy 't/d/secret': Permission denied") != 0 &&
        strcmp(p->err.text, "cannot copy 't/d/secret': permission denied") != 0)
        return 2;
    return 0;
}

TEST(names_what_it_may_not_read)
{
    _cleanup_place_ struct place p = place_make();

    CHECK_INT(as_user(&p, copy_unreadable), 0);
}

/* A chain of `depth` directories called "d" below `at`, with a file in the last. */
static bool put_chain(int at, unsigned depth)
{
    int fd = dir_at(at, ".");
    bool ok = fd != -1;

    for (unsigned i = 0; ok && i < depth; i++) {
        int next = make_dir(fd, "d", 0755);
        (void)close(fd);
        fd = next;
        ok = fd != -1;
    }
    ok = ok && put(fd, "f", "deep", 0644);
    (void)close(fd);
    return ok;
}

/* What the directory open at `dir` and all below it take. */
static void measure(int dir, struct tree_size *ret)
{
    _cleanup_meter_ struct tree_meter *meter = tree_meter_new();

    (void)tree_measure(meter, dir, ".", false);
    tree_meter_read(meter, ret);
}

TEST(refuses_what_is_too_deep)
{
    _cleanup_place_ struct place p = place_make();
    struct tree_size size;

    REQUIRE(put_chain(p.from, TREE_DEPTH_MAX));
    CHECK_INT(copy(&p), 0);
    measure(p.to, &size);
    CHECK_INT(size.files, 1);
    CHECK_INT(tree_remove(p.from, "d", &p.err), 0);
    CHECK_INT(tree_remove(p.to, "d", &p.err), 0);

    REQUIRE(put_chain(p.from, TREE_DEPTH_MAX + 1));
    REQUIRE(copy(&p) == -1);
    CHECK(strstr(p.err.text, "nested too deeply") != NULL);
    CHECK(str_starts(p.err.text, "cannot copy 't/d/d/d"));
}

/* `dirs` directories with `files` files each, sizes from 0 to 5,000 bytes and now and then 150,000.
 */
static bool put_forest(int at, unsigned dirs, unsigned files)
{
    char name[32];

    for (unsigned d = 0; d < dirs; d++) {
        (void)snprintf(name, sizeof(name), "d%u", d);
        int fd = make_dir(at, name, 0755);
        for (unsigned f = 0; f < files; f++) {
            (void)snprintf(name, sizeof(name), "f%u", f);
            size_t size = f % 50 == 49 ? 150000 : (size_t)(f * 97 + d * 31) % 5000;
            if (!put_noise(fd, name, size, d * 1000 + f))
                return false;
        }
        (void)close(fd);
    }
    return true;
}

static unsigned forest_differences(struct place *p, unsigned dirs, unsigned files)
{
    unsigned count = 0;
    char name[32];

    for (unsigned d = 0; d < dirs; d++) {
        for (unsigned f = 0; f < files; f++) {
            (void)snprintf(name, sizeof(name), "d%u/f%u", d, f);
            count += !same(p->from, name, p->to, name);
        }
    }
    return count;
}

TEST(copies_with_two_threads)
{
    static const unsigned shapes[][2] = {{13, 40}, {1, 5000}, {300, 1}, {70, 2}};

    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        _cleanup_place_ struct place p = place_make();
        REQUIRE(put_forest(p.from, shapes[i][0], shapes[i][1]));
        CHECK_INT(copy(&p), 0);
        CHECK_INT(forest_differences(&p, shapes[i][0], shapes[i][1]), 0);
    }
}

TEST(reports_an_error_of_either_thread)
{
    for (unsigned d = 0; d < 13; d += 3) {
        _cleanup_place_ struct place p = place_make();
        char name[32];
        char text[96];
        REQUIRE(put_forest(p.from, 13, 20));
        (void)snprintf(name, sizeof(name), "d%u/bad", d);
        REQUIRE(put(p.from, name, "x", 04755));
        REQUIRE(copy(&p) == -1);
        (void)snprintf(text, sizeof(text), "cannot copy 't/%s': it is setuid or setgid", name);
        CHECK_STR(p.err.text, text);
    }
}

TEST(overwrites_nothing)
{
    static const char *const names[] = {"file", "dir", "link"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        _cleanup_place_ struct place p = place_make();
        if (i == 0)
            REQUIRE(put(p.from, "file", "new", 0644));
        if (i == 1)
            (void)close(make_dir(p.from, "dir", 0755));
        if (i == 2)
            REQUIRE(symlinkat("new", p.from, "link") == 0);
        REQUIRE(put(p.fd, "outside", "old", 0644));
        REQUIRE(symlinkat("../outside", p.to, names[i]) == 0);
        CHECK_INT(copy(&p), -1);
        struct stat st;
        CHECK(fstatat(p.fd, "outside", &st, 0) == 0 && st.st_size == 3);
        CHECK(fstatat(p.to, names[i], &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode));
    }
}

TEST(refuses_to_copy_into_itself)
{
    _cleanup_place_ struct place p = place_make();
    struct err err = ERR_INIT;

    (void)close(make_dir(p.from, "a", 0755));
    int inner = make_dir(p.from, "a/b", 0755);
    CHECK_INT(tree_copy(p.from, inner, "t", NULL, NULL, &err), -1);
    CHECK_STR(err.text, "cannot copy 't/a/b': the copy would be inside the original");
    CHECK_INT(tree_copy(p.from, p.from, "t", NULL, NULL, &err), -1);
    (void)close(inner);
}

struct ticks {
    unsigned calls;
    unsigned stop_at;
    pthread_t thread;
    bool strange;
};

static bool count_tick(uint64_t files, uint64_t bytes, void *arg)
{
    struct ticks *ticks = arg;

    ticks->strange = ticks->strange || !pthread_equal(pthread_self(), ticks->thread) ||
                     (files == 0 && bytes > 1 << 30);
    return ++ticks->calls == ticks->stop_at;
}

TEST(stops_at_a_tick)
{
    _cleanup_place_ struct place p = place_make();
    struct ticks ticks = {.stop_at = 1, .thread = pthread_self()};
    struct err err = ERR_INIT;

    REQUIRE(put_forest(p.from, 13, 20));
    REQUIRE(tree_copy(p.from, p.to, "t", count_tick, &ticks, &err) == -1);
    CHECK_INT(err.code, MAS_FAILED);
    CHECK_STR(err.text, "cannot copy 't': interrupted");
    CHECK_INT(ticks.calls, 1);

    ticks = (struct ticks){.thread = pthread_self()};
    int to = make_dir(p.fd, "to2", 0755);
    CHECK_INT(tree_copy(p.from, to, "t", count_tick, &ticks, &err), 0);
    CHECK(ticks.calls >= 1);
    CHECK(!ticks.strange);
    (void)close(to);
}

struct meddler {
    int at;
    atomic_bool stop;
};

/* Makes the files longer, shorter and empty, and renames them, without end. */
static void *meddle(void *arg)
{
    struct meddler *m = arg;
    char name[16];

    for (unsigned i = 0; !m->stop; i++) {
        (void)snprintf(name, sizeof(name), "f%u", i % 8);
        int fd = openat(m->at, name, O_WRONLY | O_CLOEXEC);
        (void)ftruncate(fd, (i * 7919) % 4000000);
        (void)close(fd);
    }
    return NULL;
}

TEST(survives_files_that_change)
{
    _cleanup_place_ struct place p = place_make();
    struct meddler m = {.at = p.from};
    struct err err = ERR_INIT;
    pthread_t thread;
    char name[16];

    for (unsigned i = 0; i < 8; i++) {
        (void)snprintf(name, sizeof(name), "f%u", i);
        REQUIRE(put_noise(p.from, name, 2000000, i));
    }
    REQUIRE(pthread_create(&thread, NULL, meddle, &m) == 0);
    for (unsigned i = 0; i < 15; i++) {
        int to = make_dir(p.fd, "copy", 0755);
        CHECK_INT(tree_copy(p.from, to, "t", NULL, NULL, &err), 0);
        (void)close(to);
        CHECK_INT(tree_remove(p.fd, "copy", &err), 0);
    }
    m.stop = true;
    (void)pthread_join(thread, NULL);
}

static int copy_with_few_descriptors(struct place *p)
{
    struct rlimit few = {32, 32};

    if (!put_forest(p->from, 60, 3) || setrlimit(RLIMIT_NOFILE, &few) == -1)
        return 1;
    if (copy(p) == -1) {
        printf("# %s\n", p->err.text);
        return 2;
    }
    if (forest_differences(p, 60, 3) != 0)
        return 3;
    for (rlim_t limit = 6; limit < 16; limit++) {
        struct rlimit fewer = {limit, 32};
        struct err err = ERR_INIT;
        int to = make_dir(p->fd, "few", 0755);
        (void)setrlimit(RLIMIT_NOFILE, &fewer);
        int r = tree_copy(p->from, to, "t", NULL, NULL, &err);
        (void)setrlimit(RLIMIT_NOFILE, &few);
        if ((r == 0) != (err.text[0] == '\0'))
            return 4;
        (void)close(to);
        if (tree_remove(p->fd, "few", &err) == -1)
            return 5;
    }
    return 0;
}

TEST(copies_with_few_descriptors)
{
    _cleanup_place_ struct place p = place_make();

    CHECK_INT(as_user(&p, copy_with_few_descriptors), 0);
}

TEST(copies_from_handles_without_reading)
{
    _cleanup_place_ struct place p = place_make();
    struct err err = ERR_INIT;

    REQUIRE(put(p.from, "f", "text", 0644));
    int from = openat(p.fd, "from", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int to = openat(p.fd, "to", O_PATH | O_DIRECTORY | O_CLOEXEC);
    CHECK_INT(tree_copy(from, to, "t", NULL, NULL, &err), 0);
    CHECK(same(p.from, "f", p.to, "f"));
    (void)close(from);
    (void)close(to);
}

/* ---- removing */

TEST(removes_whatever_it_is)
{
    _cleanup_place_ struct place p = place_make();
    static const char *const names[] = {"file", "link", "dirlink", "pipe", "empty", "missing"};

    (void)close(make_dir(p.from, "outside", 0755));
    REQUIRE(put(p.from, "outside/kept", "x", 0644));
    REQUIRE(put(p.to, "file", "x", 0000));
    REQUIRE(symlinkat("file", p.to, "link") == 0);
    REQUIRE(symlinkat("../from/outside", p.to, "dirlink") == 0);
    REQUIRE(mkfifoat(p.to, "pipe", 0600) == 0);
    (void)close(make_dir(p.to, "empty", 0755));
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        CHECK_INT(tree_remove(p.to, names[i], &p.err), 0);
        CHECK(!exists(p.to, names[i]));
    }

    int full = make_dir(p.to, "full", 0755);
    REQUIRE(symlinkat("../../from/outside", full, "dirlink") == 0);
    REQUIRE(symlinkat(".", full, "self") == 0);
    REQUIRE(put_forest(full, 20, 30));
    REQUIRE(put_chain(full, 40));
    (void)close(full);
    CHECK_INT(tree_remove(p.to, "full", &p.err), 0);
    CHECK(!exists(p.to, "full"));
    CHECK(exists(p.from, "outside/kept"));
}

TEST(removes_nothing_above_it)
{
    _cleanup_place_ struct place p = place_make();
    static const char *const names[] = {".", "..", "", "../from", "/tmp/none"};

    REQUIRE(put(p.from, "kept", "x", 0644));
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        CHECK_INT(tree_remove(p.to, names[i], &p.err), -1);
    CHECK(exists(p.from, "kept"));
}

static int remove_deep(struct place *p)
{
    struct rlimit few = {32, 32};
    struct tree_size size;

    int top = make_dir(p->from, "top", 0755);
    if (!put_chain(top, 5000) || !put_forest(top, 5, 2))
        return 1;
    int fd = dir_at(top, "d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d");
    for (unsigned i = 0; i < 3; i++) { /* branches that leave the chain and are deep as well */
        char name[8];
        (void)snprintf(name, sizeof(name), "b%u", i);
        int branch = make_dir(fd, name, 0755);
        if (!put_chain(branch, 300))
            return 2;
        (void)close(branch);
    }
    (void)close(fd);
    (void)close(top);
    if (setrlimit(RLIMIT_NOFILE, &few) == -1)
        return 3;
    measure(p->from, &size);
    if (size.files != 1 + 3 + 10)
        return 4;
    if (tree_remove(p->from, "top", &p->err) == -1) {
        printf("# %.200s\n", p->err.text);
        return 5;
    }
    return exists(p->from, "top") ? 6 : 0;
}

TEST(removes_and_measures_any_depth)
{
    _cleanup_place_ struct place p = place_make();

    CHECK_INT(as_user(&p, remove_deep), 0);
}

static int remove_barred(struct place *p)
{
    static const mode_t modes[] = {0000, 0100, 0200, 0300, 0400, 0500, 0600};

    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        int fd = make_dir(p->from, "d", 0755);
        (void)close(make_dir(fd, "e", 0755));
        if (!put(fd, "e/f", "x", 0000) || !put(fd, "f", "x", 0000) || !put_chain(fd, 40) ||
            fchmodat(fd, "e", modes[i], 0) == -1 ||
            fchmodat(fd, "d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d", modes[i], 0) == -1 ||
            fchmod(fd, modes[i]) == -1)
            return 1;
        (void)close(fd);
        if (tree_remove(p->from, "d", &p->err) == -1) {
            printf("# mode %o: %s\n", modes[i], p->err.text);
            return 2;
        }
    }
    return 0;
}

TEST(removes_what_is_barred)
{
    _cleanup_place_ struct place p = place_make();

    CHECK_INT(as_user(&p, remove_barred), 0);
}

static int remove_of_others(struct place *p)
{
    return tree_remove(p->fd, "theirs", &p->err) == -1 &&
                   str_starts(p->err.text, "cannot remove 'theirs/d/e/f': ")
               ? 0
               : 1;
}

TEST(names_what_it_cannot_remove)
{
    _cleanup_place_ struct place p = place_make();

    if (geteuid() != 0)
        UNIT_SKIP("needs root");
    (void)close(make_dir(p.fd, "theirs", 0777));
    (void)close(make_dir(p.fd, "theirs/d", 0777));
    (void)close(make_dir(p.fd, "theirs/d/e", 0755));
    REQUIRE(put(p.fd, "theirs/d/e/f", "x", 0644));
    CHECK_INT(as_user(&p, remove_of_others), 0);
    CHECK(exists(p.fd, "theirs/d/e/f"));
}

/* In a mount namespace of its own: 0 as it should be, 77 where there is none to be had. */
static int remove_with_mount(const struct place *p)
{
    struct err err = ERR_INIT;
    char kept[96];
    char inner[96];

    (void)snprintf(kept, sizeof(kept), "%s/from/kept", p->path);
    (void)snprintf(inner, sizeof(inner), "%s/to/top/inner", p->path);
    if (unshare(CLONE_NEWNS) == -1 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1 ||
        mount(kept, inner, NULL, MS_BIND, NULL) == -1)
        return 77;
    /* By path: the descriptors of the place see the mounts of the old namespace. */
    inner[strlen(inner) - strlen("/top/inner")] = '\0';
    int to = dir_at(AT_FDCWD, inner);
    if (tree_remove(to, "top", &err) == 0)
        return 1;
    if (strcmp(err.text, "cannot remove 'top/inner': something is mounted there") != 0) {
        printf("# %s\n", err.text);
        return 2;
    }
    return exists(p->from, "kept/f") ? 0 : 3;
}

TEST(leaves_what_is_mounted_below)
{
    _cleanup_place_ struct place p = place_make();
    int status = -1;

    (void)close(make_dir(p.from, "kept", 0755));
    REQUIRE(put(p.from, "kept/f", "x", 0644));
    (void)close(make_dir(p.to, "top", 0755));
    (void)close(make_dir(p.to, "top/inner", 0755));
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        int r = remove_with_mount(&p);
        (void)fflush(stdout);
        _exit(r);
    }
    (void)waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        UNIT_SKIP("may not mount");
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

struct filler {
    int at;
    unsigned count;
};

/* Goes on making files in a directory that is being removed. */
static void *fill(void *arg)
{
    struct filler *filler = arg;
    char name[16];

    for (unsigned i = 0; i < filler->count; i++) {
        (void)snprintf(name, sizeof(name), "n%u", i);
        int fd = openat(filler->at, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        if (fd == -1)
            break;
        (void)close(fd);
    }
    return NULL;
}

TEST(removes_while_others_write)
{
    _cleanup_place_ struct place p = place_make();
    pthread_t thread;

    (void)close(make_dir(p.to, "top", 0755));
    struct filler filler = {.at = make_dir(p.to, "top/busy", 0755), .count = 20000};
    REQUIRE(pthread_create(&thread, NULL, fill, &filler) == 0);
    (void)tree_remove(p.to, "top", &p.err); /* may give up, must come back */
    (void)pthread_join(thread, NULL);
    CHECK_INT(tree_remove(p.to, "top", &p.err), 0);
    CHECK(!exists(p.to, "top"));
    (void)close(filler.at);
}

/* ---- measuring */

static uint64_t bytes_at(int at, const char *name)
{
    struct stat st;

    return fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? (uint64_t)st.st_blocks * 512 : 0;
}

TEST(measures)
{
    _cleanup_place_ struct place p = place_make();
    struct tree_size size;
    char name[16];

    (void)close(make_dir(p.from, "d", 0755));
    (void)close(make_dir(p.from, "d/e", 0755));
    REQUIRE(put_noise(p.from, "d/e/f", 10000, 1));
    uint64_t real = bytes_at(p.from, ".") + bytes_at(p.from, "d") + bytes_at(p.from, "d/e") +
                    bytes_at(p.from, "d/e/f");
    measure(p.from, &size);
    CHECK_INT(size.files, 1);
    CHECK_INT(size.apparent, 10000);
    CHECK_INT(size.real, real);

    for (unsigned i = 0; i < 200; i++) { /* a link each to one file of two */
        (void)snprintf(name, sizeof(name), "a%u", i);
        REQUIRE(put_noise(p.from, name, 5000, i));
        if (i % 2 == 0) {
            char other[16];
            (void)snprintf(other, sizeof(other), "d/l%u", i);
            REQUIRE(linkat(p.from, name, p.from, other, 0) == 0);
        }
    }
    REQUIRE(symlinkat("abc", p.from, "link") == 0);
    measure(p.from, &size);
    CHECK_INT(size.files, 1 + 300 + 1);
    CHECK_INT(size.apparent, 10000 + 200 * 5000 + 3);
    real += 200 * bytes_at(p.from, "a0") + bytes_at(p.from, "link");
    CHECK(size.real >= real && size.real <= real + 3 * 65536); /* directories may have grown */
    CHECK_INT(size.skipped, 0);
}

TEST(measures_one_entry)
{
    _cleanup_place_ struct place p = place_make();
    _cleanup_meter_ struct tree_meter *meter = tree_meter_new();
    struct tree_size size;

    (void)close(make_dir(p.from, "d", 0755));
    REQUIRE(put_noise(p.from, "d/f", 10000, 1) && put_noise(p.from, "f", 20000, 2));
    REQUIRE(symlinkat("d", p.from, "link") == 0);
    CHECK_INT(tree_measure(meter, p.from, "nothing", false), 0);
    CHECK_INT(tree_measure(meter, p.from, "d", false), S_IFDIR);
    tree_meter_read(meter, &size);
    CHECK_INT(size.files, 1);
    CHECK_INT(size.real, bytes_at(p.from, "d") + bytes_at(p.from, "d/f"));
    CHECK_INT(tree_measure(meter, p.from, "f", false), S_IFREG);
    CHECK_INT(tree_measure(meter, p.from, "link", false), S_IFLNK);
    tree_measure_alone(meter, p.from, false);
    tree_meter_read(meter, &size);
    CHECK_INT(size.files, 3);
    CHECK_INT(size.apparent, 10000 + 20000 + 1);
    measure(p.from, &size);
    CHECK_INT(size.files, 3);
    struct tree_size whole;
    tree_meter_read(meter, &whole);
    CHECK_INT(size.real, whole.real);
}

TEST(counts_links_once_over_several_trees)
{
    _cleanup_place_ struct place p = place_make();
    _cleanup_meter_ struct tree_meter *one = tree_meter_new();
    _cleanup_meter_ struct tree_meter *two = tree_meter_new();
    _cleanup_meter_ struct tree_meter *both = tree_meter_new();
    struct tree_size size;

    (void)close(make_dir(p.from, "a", 0755));
    (void)close(make_dir(p.from, "b", 0755));
    REQUIRE(put_noise(p.from, "a/within", 100000, 1) && put_noise(p.from, "a/across", 300000, 2));
    REQUIRE(linkat(p.from, "a/within", p.from, "a/again", 0) == 0);
    REQUIRE(linkat(p.from, "a/across", p.from, "b/across", 0) == 0);
    (void)tree_measure(one, p.from, "a", false);
    (void)tree_measure(two, p.from, "b", false);
    uint64_t dirs = bytes_at(p.from, "a") + bytes_at(p.from, "b");
    uint64_t within = bytes_at(p.from, "a/within");
    uint64_t across = bytes_at(p.from, "a/across");

    tree_meter_read(one, &size);
    CHECK_INT(size.files, 3);
    CHECK_INT(size.apparent, 400000);
    CHECK_INT(size.real, bytes_at(p.from, "a") + within + across);
    CHECK_INT(tree_meter_own(one), bytes_at(p.from, "a") + within);
    CHECK_INT(tree_meter_own(two), bytes_at(p.from, "b"));

    tree_meter_add(both, one);
    tree_meter_add(both, two);
    tree_meter_read(both, &size);
    CHECK_INT(size.files, 4);
    CHECK_INT(size.apparent, 400000);
    CHECK_INT(size.real, dirs + within + across);
    CHECK_INT(tree_meter_own(both), dirs + within + across); /* all names of all files were met */
}

TEST(counts_what_is_common_once)
{
    _cleanup_place_ struct place p = place_make();
    _cleanup_meter_ struct tree_meter *one = tree_meter_new();
    _cleanup_meter_ struct tree_meter *two = tree_meter_new();
    _cleanup_meter_ struct tree_meter *both = tree_meter_new();
    struct tree_size size;

    (void)close(make_dir(p.from, "own", 0755));
    (void)close(make_dir(p.from, "all", 0755));
    (void)close(make_dir(p.from, "all/d", 0755));
    REQUIRE(put_noise(p.from, "own/f", 10000, 1) && put_noise(p.from, "all/d/f", 20000, 2));
    (void)tree_measure(one, p.from, "own", false);
    (void)tree_measure(one, p.from, "all", true);
    (void)tree_measure(two, p.from, "all", true);
    uint64_t own = bytes_at(p.from, "own") + bytes_at(p.from, "own/f");
    uint64_t common =
        bytes_at(p.from, "all") + bytes_at(p.from, "all/d") + bytes_at(p.from, "all/d/f");

    tree_meter_read(one, &size);
    CHECK_INT(size.real, own + common);
    CHECK_INT(tree_meter_own(one), own);
    CHECK_INT(tree_meter_own(two), 0);
    tree_meter_add(both, one);
    tree_meter_add(both, two);
    tree_meter_read(both, &size);
    CHECK_INT(size.apparent, 30000);
    CHECK_INT(size.real, own + common);
}

static int measure_barred(struct place *p)
{
    struct tree_size size;

    int fd = make_dir(p->from, "d", 0755);
    if (!put_chain(fd, 40) || !put(fd, "f", "x", 0000) || !put(p->from, "g", "xy", 0000))
        return 1;
    (void)close(make_dir(fd, "closed", 0000));
    /* Readable, not searchable, so that there is no way back through it. */
    if (fchmodat(fd, "d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d", 0400, 0) == -1)
        return 2;
    measure(p->from, &size);
    (void)close(fd);
    if (size.skipped != 2) /* the closed one, and the rest of the chain */
        printf("# %ju skipped\n", (uintmax_t)size.skipped);
    return size.files == 2 && size.apparent == 3 && size.skipped == 2 ? 0 : 3;
}

TEST(measures_past_what_is_barred)
{
    _cleanup_place_ struct place p = place_make();

    CHECK_INT(as_user(&p, measure_barred), 0);
}

/* A walk during which a directory is moved. */
struct moving {
    int from, to; /* where `d` is, and where it goes */
    unsigned lost; /* how often the walk has told so */
    bool strange; /* it went on beside the new place */
};

static int move_on_the_way(int dir, const char *path, mode_t type, void *arg)
{
    struct moving *moving = arg;

    (void)dir;
    moving->lost += type == 0 && errno == ESTALE;
    moving->strange = moving->strange || strstr(path, "strange") != NULL;
    if (S_ISREG(type) && renameat(moving->from, "d", moving->to, "d") == -1)
        return -1;
    return S_ISDIR(type);
}

TEST(a_directory_that_is_moved_leads_a_walk_nowhere)
{
    enum { DEPTH = 24, MOVED = 20 }; /* deeper than the levels that stay open */
    _cleanup_place_ struct place p = place_make();
    struct moving moving = {.from = -1, .to = p.to};
    int at = p.from;

    for (unsigned i = 1; i <= DEPTH; i++) {
        int below = make_dir(at, "d", 0755);
        if (i == MOVED)
            moving.from = at;
        else if (at != p.from)
            (void)close(at);
        at = below;
    }
    /* `s` is beside `d` in both places */
    REQUIRE(put(at, "bottom", "x", 0644) && mkdirat(moving.from, "s", 0755) == 0 &&
            mkdirat(p.to, "s", 0755) == 0 && mkdirat(p.to, "s/strange", 0755) == 0);
    walk_tree(p.from, move_on_the_way, &moving);
    (void)close(at);
    (void)close(moving.from);
    CHECK_INT(moving.lost, 1);
    CHECK(!moving.strange);
}

static int count_entry(int fd, const struct dirent64 *entry, void *arg)
{
    (void)fd;
    (void)entry;
    (*(int *)arg)++;
    return 0;
}

/* Somebody removes the directory while it is walked: there is nothing in it, which is no error. */
TEST(a_directory_that_was_removed_is_empty)
{
    struct walk walk = {.levels = NULL};
    char path[] = "/tmp/test-walk-XXXXXX";
    int count = 0;

    REQUIRE(mkdtemp(path) != NULL);
    int tmp = dir_at(AT_FDCWD, "/tmp"); /* which may be a mount */
    int fd = walk_open(tmp, strrchr(path, '/') + 1);
    (void)close(tmp);
    REQUIRE(fd != -1 && walk_down(&walk, fd, path) == 0);
    CHECK_INT(rmdir(path), 0);
    CHECK_INT(walk_read(&walk, count_entry, &count), 0);
    CHECK_INT(count, 0);
    walk_release(&walk);
}

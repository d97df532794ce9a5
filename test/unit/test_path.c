#include "place.h"

#include "gap.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { SOMEBODY = 4711 };

static char *below(const struct place *place, const char *rel)
{
    return mem_printf("%s/%s", place->path, rel);
}

/* Checks a path below the place; the answer names what is wrong, "" for nothing. */
static void check_owned(const struct place *place, const char *rel, const char *want)
{
    _cleanup_free_ char *path = below(place, rel);
    struct err err = ERR_INIT;

    int rc = path_check_owned(path, &err);
    CHECK_INT(rc, want[0] == '\0' ? 0 : -1);
    if (rc == -1 && strstr(err.text, want) == NULL)
        CHECK_STR(err.text, want);
    if (rc == 0 && want[0] != '\0')
        printf("# nothing is wrong with %s\n", path);
}

/* Each directory on the way, the first, one in the middle and the last, is looked at. */
TEST(nobody_else_can_change_where_a_path_leads)
{
    static const char *const dirs[] = {"a", "a/b", "a/b/c"};
    static const struct {
        mode_t mode;
        bool middle, last; /* it is fine there */
    } modes[] = {{0755, true, true},   {0700, true, true},   {0775, false, false},
                 {0757, false, false}, {01777, true, false}, {01770, true, false}};
    _cleanup_place_ struct place place = place_make();

    for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
        CHECK_INT(mkdirat(place.dir, dirs[i], 0755), 0);
    check_owned(&place, "a/b/c", "");
    check_owned(&place, "a/b/c/new", "");
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
        bool last = i + 1 == ARRAY_LEN(dirs);
        for (size_t j = 0; j < ARRAY_LEN(modes); j++) {
            _cleanup_free_ char *bad =
                mem_printf("others may write to '%s/%s'", place.path, dirs[i]);
            CHECK_INT(fchmodat(place.dir, dirs[i], modes[j].mode, 0), 0);
            check_owned(&place, "a/b/c", (last ? modes[j].last : modes[j].middle) ? "" : bad);
        }
        CHECK_INT(fchmodat(place.dir, dirs[i], 0755, 0), 0);
        if (geteuid() != 0)
            continue; /* only root can give something away */
        _cleanup_free_ char *bad =
            mem_printf("'%s/%s' belongs to user %d", place.path, dirs[i], SOMEBODY);
        CHECK_INT(fchownat(place.dir, dirs[i], SOMEBODY, (gid_t)-1, 0), 0);
        check_owned(&place, "a/b/c", bad);
        CHECK_INT(fchownat(place.dir, dirs[i], 0, (gid_t)-1, 0), 0);
    }
}

TEST(links_on_the_way_are_followed_and_looked_at)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_free_ char *absolute = below(&place, "there/open");

    CHECK_INT(mkdirat(place.dir, "there", 0755), 0);
    CHECK_INT(mkdirat(place.dir, "there/open", 0755), 0);
    CHECK_INT(fchmodat(place.dir, "there/open", 0777, 0), 0);
    CHECK_INT(mkdirat(place.dir, "here", 0755), 0);
    CHECK_INT(symlinkat("../there/./open", place.dir, "here/link"), 0);
    CHECK_INT(symlinkat(absolute, place.dir, "here/absolute"), 0);
    CHECK_INT(symlinkat("round", place.dir, "here/round"), 0);
    CHECK_INT(symlinkat("../there", place.dir, "here/good"), 0);
    check_owned(&place, "here/link", "others may write to");
    check_owned(&place, "here/absolute", "others may write to");
    check_owned(&place, "here/../there/open", "others may write to");
    check_owned(&place, "here/round", "too many symbolic links");
    check_owned(&place, "here/good/file", "");
    if (geteuid() == 0) {
        CHECK_INT(fchownat(place.dir, "here/good", SOMEBODY, (gid_t)-1, AT_SYMLINK_NOFOLLOW), 0);
        check_owned(&place, "here/good/file", "here/good' belongs to user");
    }
}

/* Links up to the limit, and one more. */
TEST(a_chain_of_links_has_an_end)
{
    _cleanup_place_ struct place place = place_make();

    CHECK_INT(mkdirat(place.dir, "0", 0755), 0);
    for (int i = 1; i <= 41; i++) {
        char name[16], to[16];
        (void)snprintf(name, sizeof name, "%d", i);
        (void)snprintf(to, sizeof to, "%d", i - 1);
        CHECK_INT(symlinkat(to, place.dir, name), 0);
    }
    check_owned(&place, "40", "");
    check_owned(&place, "41", "too many symbolic links");
}

TEST(a_path_stays_beneath)
{
    _cleanup_place_ struct place place = place_make();

    CHECK_INT(mkdirat(place.dir, "a", 0755), 0);
    CHECK(place_put(place.dir, "a/file", "x"));
    CHECK_INT(symlinkat("a", place.dir, "link"), 0);
    CHECK_INT(symlinkat("file", place.dir, "a/link"), 0);
    static const struct {
        const char *path;
        int why; /* 0: it opens */
    } paths[] = {{"a/file", 0},          {"a/../a/file", 0}, {"link/file", ELOOP},
                 {"a/link", ELOOP},      {"../x", EXDEV},    {"a/../../x", EXDEV},
                 {"/etc/passwd", EXDEV}, {"a/no", ENOENT},   {"a/file/x", ENOTDIR}};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        int fd = path_open_beneath(place.dir, paths[i].path, O_RDONLY);
        if ((fd == -1 ? errno : 0) != paths[i].why)
            printf("# %s: %s\n", paths[i].path, fd == -1 ? strerror(errno) : "opened");
        CHECK((fd == -1 ? errno : 0) == paths[i].why);
        fd_closep(&fd);
    }
}

TEST(modes_do_not_depend_on_the_umask)
{
    _cleanup_place_ struct place place = place_make();
    struct stat st;

    mode_t old = umask(077);
    _cleanup_close_ int dir = path_make_dir(place.dir, "open", 0755);
    (void)umask(0);
    _cleanup_close_ int other = path_make_dir(place.dir, "closed", 0700);
    (void)umask(old);
    CHECK(dir != -1 && fstat(dir, &st) == 0 && (st.st_mode & 07777) == 0755);
    CHECK(other != -1 && fstat(other, &st) == 0 && (st.st_mode & 07777) == 0700);
    CHECK_INT(path_make_dir(place.dir, "open", 0755), -1);
    CHECK_INT(errno, EEXIST);
}

TEST(nothing_is_renamed_over)
{
    _cleanup_place_ struct place place = place_make();

    CHECK(place_put(place.dir, "a", "a") && place_put(place.dir, "b", "b"));
    CHECK_INT(path_rename_new(place.dir, "a", place.dir, "b"), -1);
    CHECK_INT(errno, EEXIST);
    CHECK_INT(path_rename_new(place.dir, "a", place.dir, "c"), 0);
    CHECK_INT(faccessat(place.dir, "a", F_OK, 0), -1);
    CHECK_INT(faccessat(place.dir, "c", F_OK, 0), 0);
}

/* Makes renameat2() fail for the rest of the process if it has flags, as on NFS and FUSE. */
static void forbid_flags_of_rename(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[4])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = ARRAY_LEN(filter), .filter = filter};

    CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    CHECK_INT(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static void check_text(int dir, const char *name, const char *want)
{
    _cleanup_free_ char *text = NULL;
    struct err err = ERR_INIT;
    size_t len = 0;

    if (file_read(dir, name, 100, &text, &len, &err) == -1)
        text = mem_dup("-");
    CHECK_STR(text, want);
}

static void remove_a(void *arg)
{
    CHECK_INT(unlinkat(*(int *)arg, "a", 0), 0);
}

static void put_b(void *arg)
{
    CHECK(place_put(*(int *)arg, "b", "other's"));
}

static void rename_without_flags(int dir)
{
    forbid_flags_of_rename();
    CHECK(place_put(dir, "a", "a") && place_put(dir, "b", "b"));
    CHECK_INT(path_exchange(dir, "a", "b", "spare"), 0);
    check_text(dir, "a", "b");
    check_text(dir, "b", "a");
    gap_before_nth("rename", 2, remove_a, &dir);
    CHECK_INT(path_exchange(dir, "a", "b", "spare"), -1);
    CHECK_INT(errno, ENOENT);
    check_text(dir, "b", "a");
    check_text(dir, "spare", "-");

    CHECK(place_put(dir, "a", "mine"));
    CHECK_INT(path_rename_new(dir, "a", dir, "b"), -1);
    CHECK_INT(errno, EEXIST);
    CHECK_INT(unlinkat(dir, "b", 0), 0);
    gap_before("link", put_b, &dir);
    CHECK_INT(path_rename_new(dir, "a", dir, "b"), -1);
    check_text(dir, "b", "other's");
    CHECK_INT(path_rename_new(dir, "a", dir, "c"), 0);
    check_text(dir, "a", "-");
    check_text(dir, "c", "mine");
}

/* Where what is exchanged cannot be put in place, the other keeps its name. */
TEST(nothing_is_lost_without_flags_of_rename)
{
    _cleanup_place_ struct place place = place_make();
    int status = -1;

    pid_t pid = fork();
    if (pid == 0) {
        rename_without_flags(place.dir);
        (void)fflush(stdout);
        _exit(unit_failures > 0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

TEST(finds_what_execvp_would)
{
    _cleanup_place_ struct place place = place_make();
    static const char *const names[] = {"no/tool", "dir/tool", "yes/tool", "late/tool"};
    static const char *const dirs[] = {"no", "dir", "dir/tool", "yes", "late"};

    for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
        CHECK_INT(mkdirat(place.dir, dirs[i], 0755), 0);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (i != 1)
            CHECK(place_put(place.dir, names[i], "#!/bin/sh\n"));
    CHECK_INT(fchmodat(place.dir, "yes/tool", 0755, 0), 0);
    CHECK_INT(fchmodat(place.dir, "late/tool", 0755, 0), 0);
    _cleanup_free_ char *path = mem_printf("%s/none:%s/no:%s/dir:%s/yes:%s/late", place.path,
                                           place.path, place.path, place.path, place.path);
    _cleanup_free_ char *want = below(&place, "yes/tool");
    _cleanup_free_ char *got = path_find_program("tool", path, AT_FDCWD);
    CHECK_STR(got, want);
    _cleanup_free_ char *here = path_find_program("tool", ":/nowhere", place.dir);
    CHECK_STR(here, NULL);
    CHECK(place_put(place.dir, "tool", "x") && fchmodat(place.dir, "tool", 0700, 0) == 0);
    _cleanup_free_ char *now = path_find_program("tool", "/nowhere:", place.dir);
    CHECK_STR(now, "./tool");
    _cleanup_free_ char *search = mem_printf(":.:yes:%s/late", place.path);
    _cleanup_free_ char *late = below(&place, "late/tool");
    CHECK_INT(chdir(place.path), 0);
    _cleanup_free_ char *own = path_find_program("tool", search, -1);
    CHECK_STR(own, late);
    _cleanup_free_ char *named = path_find_program("no/tool", path, place.dir);
    CHECK_STR(named, NULL);
    CHECK_STR(path_find_program("", path, place.dir), NULL);
}

TEST(what_is_missing_of_a_path_is_made)
{
    _cleanup_place_ struct place place = place_make();

    CHECK_INT(mkdirat(place.dir, "a", 0700), 0);
    _cleanup_close_ int made = path_make_below(place.dir, "a/b//c", 0750);
    CHECK(made != -1);
    struct stat st;
    CHECK_INT(fstatat(place.dir, "a/b/c", &st, AT_SYMLINK_NOFOLLOW), 0);
    CHECK_INT(st.st_mode & 07777, 0750);
    _cleanup_close_ int again = path_make_below(place.dir, "a/b/c", 0750);
    CHECK(again != -1);
    CHECK_INT(symlinkat("a", place.dir, "link"), 0);
    CHECK_INT(path_make_below(place.dir, "link/d", 0750), -1);
    CHECK_INT(path_make_below(place.dir, "a/../d", 0750), -1);
    CHECK_INT(errno, EXDEV);
    CHECK_INT(fstatat(place.dir, "d", &st, AT_SYMLINK_NOFOLLOW), -1);
}

TEST(makes_and_opens_what_is_above_a_name)
{
    _cleanup_place_ struct place place = place_make();
    const char *name = NULL;
    struct stat st;

    CHECK_INT(path_open_above(place.dir, "a/b/c", &name), -1);
    CHECK_INT(errno, ENOENT);
    CHECK_STR(name, "c");
    mode_t was = umask(027);
    _cleanup_close_ int made = path_make_above(place.dir, "a/b/c", PATH_BY_UMASK, &name);
    (void)umask(was);
    CHECK(made != -1);
    CHECK_STR(name, "c");
    CHECK_INT(fstatat(place.dir, "a/b", &st, AT_SYMLINK_NOFOLLOW), 0);
    CHECK_INT(st.st_mode & 0777, 0750);
    CHECK_INT(fstatat(place.dir, "a/b/c", &st, AT_SYMLINK_NOFOLLOW), -1);
    _cleanup_close_ int opened = path_open_above(place.dir, "a/b/c", &name);
    CHECK(opened != -1);
    _cleanup_close_ int top = path_make_above(place.dir, "c", 0700, &name);
    CHECK(top != -1);
    CHECK_STR(name, "c");
}

TEST(all_names_are_listed)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_strv_ char **none = NULL, **names = NULL, **below = NULL;
    struct err err = ERR_INIT;

    CHECK_INT(mkdirat(place.dir, "empty", 0755), 0);
    CHECK_INT(mkdirat(place.dir, ".hidden", 0755), 0);
    CHECK_INT(symlinkat("empty", place.dir, "link"), 0);
    for (int i = 0; i < 100; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, ".hidden/..%d", i);
        CHECK(place_put(place.dir, name, ""));
    }
    CHECK_INT(path_list(place.dir, &names, &err), 0);
    CHECK_INT(strv_len(names), 3);
    CHECK(strv_has(names, "empty") && strv_has(names, ".hidden") && strv_has(names, "link"));
    CHECK_INT(path_list_in(place.dir, ".hidden", &below, &err), 0);
    CHECK_INT(strv_len(below), 100);
    CHECK(strv_has(below, "..0") && strv_has(below, "..99"));
    CHECK_INT(path_list_in(place.dir, "empty", &none, &err), 0);
    CHECK(none != NULL && none[0] == NULL);
    CHECK_INT(path_list_in(place.dir, "link", &none, &err), -1);
    CHECK_INT(path_list_in(place.dir, "missing", &none, &err), -1);
    CHECK_INT(err.number, ENOENT);
}

TEST(missing_directories_are_made_as_mkdir_does)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_free_ char *deep = below(&place, "a/b/c");
    _cleanup_free_ char *ends = below(&place, "a/d/");
    _cleanup_free_ char *barred = below(&place, "file/x");
    mode_t mask = umask(027);
    struct err err = ERR_INIT;
    struct stat st;

    CHECK(place_put(place.dir, "file", ""));
    CHECK_INT(path_make_dirs(deep, &err), 0);
    CHECK_INT(path_make_dirs(deep, &err), 0);
    CHECK_INT(path_make_dirs(ends, &err), 0);
    CHECK_INT(path_make_dirs(barred, &err), -1);
    CHECK(strstr(err.text, "file/x'") != NULL);
    (void)umask(mask);
    static const char *const made[] = {"a", "a/b", "a/b/c", "a/d"};
    for (size_t i = 0; i < ARRAY_LEN(made); i++)
        CHECK(fstatat(place.dir, made[i], &st, 0) == 0 && (st.st_mode & 07777) == 0750);
}

TEST(a_directory_of_the_user_is_absolute)
{
    _cleanup_free_ char *was = mem_dup(getenv("HOME"));
    static const struct {
        const char *variable, *home, *want;
    } cases[] = {{"/data", "/home/a", "/data"},
                 {NULL, "/home/a", "/home/a/.share/mas"},
                 {"", "/home/a", "/home/a/.share/mas"},
                 {"data", "/home/a", "/home/a/.share/mas"},
                 {"/data", NULL, "/data"}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        (void)unsetenv("MAS_UNIT_DIR");
        (void)unsetenv("HOME");
        if (cases[i].variable != NULL)
            (void)setenv("MAS_UNIT_DIR", cases[i].variable, 1);
        if (cases[i].home != NULL)
            (void)setenv("HOME", cases[i].home, 1);
        _cleanup_free_ char *dir = path_user_dir("MAS_UNIT_DIR", ".share/mas");
        CHECK_STR(dir, cases[i].want);
    }
    /* whoever has no home in the environment, or none that can be used, has one in passwd(5) */
    (void)unsetenv("MAS_UNIT_DIR");
    for (int i = 0; i < 2; i++) {
        (void)unsetenv("HOME");
        if (i == 1)
            (void)setenv("HOME", "relative", 1);
        _cleanup_free_ char *dir = path_user_dir("MAS_UNIT_DIR", ".share/mas");
        CHECK(dir == NULL || (dir[0] == '/' && str_ends(dir, "/.share/mas")));
    }
    if (was != NULL)
        (void)setenv("HOME", was, 1);
}

TEST(scripts_have_an_interpreter)
{
    static const struct {
        const char *text, *want; /* its words with | between them; NULL: it is no script */
    } cases[] = {
        {"#!/bin/sh\n", "/bin/sh"},
        {"#!/bin/sh", "/bin/sh"},
        {"#! \t/usr/bin/env  -S node\t--x \nmore words\n", "/usr/bin/env|-S|node|--x"},
        {"#!x", "x"},
        {"#!", NULL},
        {"#!\n\n", NULL},
        {"#! \n", NULL},
        {"", NULL},
        {"!#/bin/sh\n", NULL},
        {"##/bin/sh\n", NULL},
        {" #!/bin/sh\n", NULL},
        {"\x7f"
         "ELF",
         NULL},
    };
    _cleanup_place_ struct place place = place_make();

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_str_ struct str text = STR_INIT;
        CHECK(place_put(place.dir, "script", cases[i].text));
        _cleanup_close_ int fd = openat(place.dir, "script", O_RDONLY | O_CLOEXEC);
        _cleanup_strv_ char **words = path_read_interpreter(fd);
        for (size_t j = 0; j < strv_len(words); j++)
            str_addf(&text, "%s%s", j > 0 ? "|" : "", words[j]);
        if (!CHECK_STR(text.data, cases[i].want))
            unit_print_str("script", cases[i].text);
    }
    CHECK(path_read_interpreter(place.dir) == NULL);
    CHECK(path_read_interpreter(-1) == NULL);
}

TEST(where_something_is)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_free_ char *here = path_of(place.dir);
    _cleanup_free_ char *nowhere = path_of(-1);
    _cleanup_free_ char *exe = path_exe();
    _cleanup_free_ char *dir = path_exe_dir();
    _cleanup_free_ char *all = mem_printf("%s/%s", dir, "test_path");

    CHECK_STR(here, place.path);
    CHECK(nowhere == NULL);
    CHECK_STR(exe, all);
    CHECK_INT(symlinkat(".", place.dir, "link"), 0);
    _cleanup_free_ char *link = below(&place, "./link/link");
    _cleanup_free_ char *real = path_canonical(link);
    _cleanup_free_ char *missing = below(&place, "missing");
    _cleanup_free_ char *none = path_canonical(missing);
    CHECK_STR(real, place.path);
    CHECK(none == NULL && errno == ENOENT);
}

TEST(types_have_names)
{
    static const struct {
        mode_t mode;
        const char *want;
    } types[] = {
        {S_IFREG | 0644, "a file"}, {S_IFDIR | 0755, "a directory"}, {S_IFLNK, "a symbolic link"},
        {S_IFIFO | 0600, "a FIFO"}, {S_IFSOCK, "a socket"},          {S_IFCHR, "a device"},
        {S_IFBLK, "a device"},      {0644, "of unknown type"},
    };

    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        CHECK_STR(path_type_name(types[i].mode), types[i].want);
}

/* Who fails to set the mode of a directory leaves none. */
TEST(a_directory_is_made_once_and_whole)
{
    _cleanup_place_ struct place place = place_make();
    mode_t mask = umask(077);
    struct stat st;

    _cleanup_close_ int made = path_make_dir(place.dir, "new", 0751);
    (void)umask(mask);
    CHECK(made != -1 && fstat(made, &st) == 0 && (st.st_mode & 07777) == 0751);
    CHECK(path_make_dir(place.dir, "new", 0700) == -1 && errno == EEXIST);
    CHECK(fstat(made, &st) == 0 && (st.st_mode & 07777) == 0751);
    CHECK(fcntl(made, F_GETFD) == FD_CLOEXEC);
    CHECK(path_make_dir(place.dir, "missing/new", 0700) == -1 && errno == ENOENT);
}

TEST(tells_a_mount_from_a_directory)
{
    CHECK(path_is_mount(AT_FDCWD, "/proc"));
    CHECK(!path_is_mount(AT_FDCWD, "/proc/self/fd"));
    CHECK(!path_is_mount(AT_FDCWD, "/proc/nothing"));
}

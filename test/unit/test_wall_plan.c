/*
 * Plans of walls, each as text: a line for each mount below the directory of the test, with ~ for
 * the user's home and @ for the workspace.
 */
#include "place.h"

#include "base/env.h"
#include "code/repo.h"
#include "store/config.h"
#include "store/workspace.h"
#include "wall/plan.h"

#define SESSION "550e8400-e29b-41d4-a716-446655440000"

static char agent_id[] = "a";

struct bench {
    struct place place;
    char *home;
    char *workspace;
    char *enter;
    struct root root;
    struct config config;
    struct preset preset;
    struct team team;
    struct agent agent;
    struct wall_probe probe;
    struct wall_shared shared;
    char **env, **inside, **argv;
    int dir;
    bool shares, is_first, is_approved;
    const char *program;
    enum mode mode;
};

static void put(const struct bench *bench, const char *path, const char *text)
{
    const char *name;
    _cleanup_close_ int dir = path_make_above(bench->place.dir, path, 0755, &name);

    if (CHECK(dir != -1) && place_put(dir, name, text) && str_starts(text, "#!"))
        CHECK_INT(fchmodat(dir, name, 0755, 0), 0);
}

static void make(const struct bench *bench, const char *path)
{
    _cleanup_close_ int dir = path_make_below(bench->place.dir, path, 0755);

    CHECK(dir != -1);
}

static void make_link(const struct bench *bench, const char *path, const char *target)
{
    const char *name;
    _cleanup_close_ int dir = path_make_above(bench->place.dir, path, 0755, &name);

    CHECK_INT(symlinkat(target, dir, name), 0);
}

static void bench_free(struct bench *bench)
{
    config_free(&bench->config);
    root_close(&bench->root);
    wall_probe_free(&bench->probe);
    wall_shared_free(&bench->shared);
    strv_free(bench->env);
    strv_free(bench->inside);
    strv_free(bench->argv);
    free(bench->home);
    free(bench->workspace);
    free(bench->enter);
    fd_closep(&bench->dir);
    place_free(&bench->place);
}
#define _cleanup_bench_ __attribute__((cleanup(bench_free)))

/* Makes a home, and a root with these settings and one session; the preset is `p`. */
static void bench_make(struct bench *bench, const char *settings)
{
    struct err err = ERR_INIT;

    *bench = (struct bench){.place = place_make(),
                            .config = CONFIG_INIT,
                            .root = ROOT_INIT,
                            .dir = -1,
                            .mode = MODE_ISOLATED};
    bench->home = mem_printf("%s/home", bench->place.path);
    bench->workspace = mem_printf("%s/root/sessions/" SESSION, bench->place.path);
    bench->enter = mem_printf("%s/lib/mas-wall", bench->place.path);
    make(bench, "home");
    make(bench, "root/sessions/" SESSION "/unit/a");
    make(bench, "root/sessions/" SESSION "/unit/b");
    make(bench, "root/sessions/" SESSION "/workflows");
    put(bench, "lib/mas-wall", "wall");
    put(bench, "root/mas.ini", settings);
    CHECK_INT(setenv("HOME", bench->home, 1), 0);
    CHECK_INT(setenv("XDG_CONFIG_HOME", bench->home, 1), 0);
    CHECK_INT(setenv("XDG_STATE_HOME", bench->home, 1), 0);
    _cleanup_free_ char *root = mem_printf("%s/root", bench->place.path);
    WELL(root_open(root, &bench->root, &err));
    bench->root.accepted = true;
    WELL(config_load(&bench->root, true, &bench->config, NULL, &err));
    const struct preset *preset = config_preset(&bench->config, "p");
    if (CHECK(preset != NULL))
        bench->preset = *preset;
    bench->agent = (struct agent){.id = agent_id};
    bench->team = (struct team){.agents = &bench->agent, .agent_count = 1};
    bench->probe = (struct wall_probe){.looked = true,
                                       .landlock = 6,
                                       .seccomp = true,
                                       .bwrap = mem_dup("/usr/bin/bwrap"),
                                       .cache = -1};
    bench->dir = path_open_dir(AT_FDCWD, bench->workspace);
    env_put(&bench->env, "HOME", bench->home);
    env_put(&bench->env, "PATH", "/usr/bin:/bin");
    bench->program = "/bin/sh";
}

#define A_BENCH(settings_)                                                                         \
    _cleanup_bench_ struct bench bench;                                                            \
    bench_make(&bench, "[preset p]\ncommand = sh\nwall.level = try\n" settings_)

static struct wall_subject subject_of(struct bench *bench)
{
    return (struct wall_subject){.root = &bench->root,
                                 .config = &bench->config,
                                 .id = SESSION,
                                 .mode = bench->mode,
                                 .dir = bench->dir,
                                 .team = &bench->team,
                                 .agent = &bench->agent,
                                 .preset = &bench->preset,
                                 .enter = bench->enter,
                                 .env = bench->env,
                                 .inside_env = bench->inside,
                                 .argv = bench->argv,
                                 .program = bench->program,
                                 .is_approved = bench->is_approved,
                                 .shared = bench->shares ? &bench->shared : NULL,
                                 .is_first = bench->is_first};
}

/* A path in a short form; false: it is not of the test. */
static bool add_path(const struct bench *bench, const char *path, struct str *to)
{
    const char *const from[] = {bench->workspace, bench->home, bench->place.path};
    static const char *const is[] = {"@", "~", ""};

    for (size_t i = 0; i < ARRAY_LEN(from); i++)
        if (str_starts(path, from[i])) {
            str_addf(to, "%s%s", is[i], path + strlen(from[i]));
            return true;
        }
    str_add(to, path);
    return strcmp(path, "/tmp") == 0;
}

/* A text with paths of the test in their short form. */
static void add_short(const struct bench *bench, const char *text, struct str *to)
{
    const char *const from[] = {bench->home, bench->place.path};
    static const char *const is[] = {"~", ""};

    while (*text != '\0') {
        size_t i = 0;
        while (i < ARRAY_LEN(from) && !str_starts(text, from[i]))
            i++;
        if (i < ARRAY_LEN(from)) {
            str_add(to, is[i]);
            text += strlen(from[i]);
        } else {
            str_addc(to, *text++);
        }
    }
}

static void add_mount(const struct bench *bench, const struct wall_mount *mount, struct str *to)
{
    static const char *const kinds[] = {"read", "write", "empty", "hidden", "copy", "link"};
    _cleanup_str_ struct str line = STR_INIT;
    _cleanup_free_ char *self = mem_printf("/proc/self/fd/%d", mount->fd);
    char is[PATH_MAX] = "";

    str_addf(&line, "%s ", kinds[mount->kind]);
    if (!add_path(bench, mount->path, &line))
        return;
    if (mount->from != NULL) {
        str_add(&line, " from ");
        (void)add_path(bench, mount->from, &line);
    }
    /* what a descriptor has open, where that is not the path itself */
    if (mount->fd != -1 && readlink(self, is, sizeof is - 1) > 0 && strcmp(is, mount->path) != 0) {
        str_add(&line, " is ");
        (void)add_path(bench, str_starts(is, "/memfd:") ? "memory" : is, &line);
    }
    str_addf(to, "%s\n", str_text(&line));
}

/* What every plan of these tests has. */
static bool is_usual(const char *line)
{
    static const char *const lines[] = {
        "read /lib/mas-wall\n",        "write /tmp is @/home/a/.tmp\n", "empty ~\n",
        "copy ~/.profile is memory\n", "copy ~/.zprofile is memory\n",  "write @/unit/a\n",
        "read @/workflows\n"};

    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        if (str_starts(line, lines[i]))
            return true;
    return false;
}

static const char *show_all(const struct bench *bench, const struct wall_plan *plan, bool usual,
                            struct str *to)
{
    _cleanup_str_ struct str all = STR_INIT;

    str_clear(to);
    for (size_t i = 0; i < plan->count; i++) {
        if (i > 0)
            CHECK(strcmp(plan->mounts[i - 1].path, plan->mounts[i].path) <= 0);
        str_clear(&all);
        add_mount(bench, &plan->mounts[i], &all);
        if (usual || !is_usual(str_text(&all)))
            str_add(to, str_text(&all));
    }
    return str_text(to);
}

/* The plan as text, without what is in each; or the error. */
static const char *plan_text(struct bench *bench, struct str *to)
{
    _cleanup_wall_plan_ struct wall_plan plan = WALL_PLAN_INIT;
    const struct wall_subject subject = subject_of(bench);
    struct err err = ERR_INIT;

    str_clear(to);
    if (wall_plan_make(&subject, &bench->probe, &plan, &err) == -1) {
        str_add(to, err.text);
        return str_text(to);
    }
    (void)show_all(bench, &plan, false, to);
    if (plan.report.missing[0] != '\0') {
        str_add(to, "missing: ");
        add_short(bench, plan.report.missing, to);
        str_add(to, "\n");
    }
    return str_text(to);
}

#define CHECK_PLAN(want) CHECK_STR(plan_text(&bench, &text), want)

/* ---- the home */

TEST(a_wall_has_the_session_and_an_empty_home)
{
    A_BENCH("");
    _cleanup_wall_plan_ struct wall_plan plan = WALL_PLAN_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    struct err err = ERR_INIT;
    const struct wall_subject subject = subject_of(&bench);

    MUST(wall_plan_make(&subject, &bench.probe, &plan, &err));
    CHECK_STR(show_all(&bench, &plan, true, &text), "empty ~\n"
                                                    "copy ~/.profile is memory\n"
                                                    "copy ~/.zprofile is memory\n"
                                                    "read /lib/mas-wall\n"
                                                    "write @/unit/a\n"
                                                    "read @/workflows\n"
                                                    "write /tmp is @/home/a/.tmp\n");
    CHECK(wall_plan_has(&plan, "/usr/bin"));
    CHECK(!wall_plan_has(&plan, "/usrbin"));
    CHECK(!wall_plan_has(&plan, "/run/x")); /* it is empty */
    CHECK(!wall_plan_has(&plan, bench.home));
}

TEST(entries_of_wall_home_are_each_as_they_say)
{
    A_BENCH("wall.home = .w .r:ro .c:copy .o:own .gone .gone-r:ro .gone-c:copy .dir:copy "
            ".large:copy .most:copy .deep/in:own .l:ro\n");
    _cleanup_str_ struct str text = STR_INIT;

    make(&bench, "home/.w");
    make(&bench, "home/.r");
    put(&bench, "home/.c", "c");
    make(&bench, "home/.dir");
    put(&bench, "home/.large", "");
    put(&bench, "home/.most", "");
    _cleanup_free_ char *large = mem_printf("%s/.large", bench.home);
    _cleanup_free_ char *most = mem_printf("%s/.most", bench.home);
    CHECK_INT(truncate(large, (16 << 20) + 1), 0);
    CHECK_INT(truncate(most, 16 << 20), 0);
    make_link(&bench, "home/.l", "../elsewhere");
    put(&bench, "elsewhere", "e");
    CHECK_PLAN("copy ~/.c\n"
               "write ~/.deep/in is @/home/a/.deep/in\n"
               "read ~/.l is /elsewhere\n"
               "copy ~/.most\n"
               "write ~/.o is @/home/a/.o\n"
               "read ~/.r\n"
               "write ~/.w\n");
}

TEST(a_login_shell_of_the_users_own_is_left_alone)
{
    static const struct {
        const char *home, *want;
    } cases[] = {
        {".profile:ro", "copy ~/.zprofile is memory\n"},
        {".bash_profile", "copy ~/.zprofile is memory\n"},
        {".bash_login:copy", "copy ~/.zprofile is memory\n"},
        {".x .zprofile", "copy ~/.profile is memory\n"},
        {".zprofile .profile", ""},
        {".profiles", "copy ~/.profile is memory\ncopy ~/.zprofile is memory\n"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_bench_ struct bench bench;
        _cleanup_wall_plan_ struct wall_plan plan = WALL_PLAN_INIT;
        _cleanup_str_ struct str text = STR_INIT;
        _cleanup_free_ char *settings = mem_printf(
            "[preset p]\ncommand = sh\nwall.level = try\nwall.home = %s\n", cases[i].home);
        struct err err = ERR_INIT;
        bench_make(&bench, settings);
        const struct wall_subject subject = subject_of(&bench);
        MUST(wall_plan_make(&subject, &bench.probe, &plan, &err));
        for (size_t j = 0; j < plan.count; j++)
            if (plan.mounts[j].kind == WALL_MOUNT_COPY)
                add_mount(&bench, &plan.mounts[j], &text);
        CHECK_STR(str_text(&text), cases[i].want);
    }
}

/* ---- the session */

TEST(a_session_shows_its_agent_what_is_its_own)
{
    A_BENCH("");
    _cleanup_str_ struct str text = STR_INIT;

    make(&bench, "root/sessions/" SESSION "/run/a.role");
    put(&bench, "root/sessions/" SESSION "/run/a.agent", "");
    make(&bench, "root/sessions/" SESSION "/run/b.role");
    make(&bench, "root/sessions/" SESSION "/code.git");
    make(&bench, "root/sessions/" SESSION "/code/a");
    CHECK_PLAN("read @/run/a.agent\nread @/run/a.role\n");

    bench.agent.code = AGENT_CODE_WORKTREE; /* no project: no code */
    CHECK_PLAN("read @/run/a.agent\nread @/run/a.role\n");
    bench.team.project.path = mem_dup("/project");
    CHECK_PLAN("read @/code.git\nwrite @/code/a\nread @/run/a.agent\nread @/run/a.role\n");
    make(&bench, "root/sessions/" SESSION "/code/view");
    CHECK_PLAN("read @/code.git\nwrite @/code/a\nread @/code/view\nread @/run/a.agent\n"
               "read @/run/a.role\n");
    bench.agent.code = AGENT_CODE_VIEW;
    CHECK_PLAN("read @/code.git\nread @/code/view\nread @/run/a.agent\nread @/run/a.role\n");
    bench.agent.code = AGENT_CODE_NONE;
    CHECK_PLAN("read @/run/a.agent\nread @/run/a.role\n");

    bench.agent.team_units = true;
    CHECK_PLAN("read @/run/a.agent\nread @/run/a.role\nwrite @/unit\n");
    bench.agent.team_units = false;
    bench.mode = MODE_LEGACY;
    make(&bench, "root/unit/a");
    make(&bench, "root/workflows");
    CHECK_PLAN("read @/run/a.agent\nread @/run/a.role\nwrite /root/unit/a\nread /root/workflows\n");
    free(bench.team.project.path);
}

TEST(what_a_session_must_have_is_an_error_where_it_is_missing)
{
    static const char *const missing[] = {"code.git", "code/a", "workflows", "unit/a"};

    for (size_t i = 0; i < ARRAY_LEN(missing); i++) {
        A_BENCH("");
        _cleanup_str_ struct str text = STR_INIT;
        _cleanup_free_ char *want =
            mem_printf("cannot put up the wall of agent 'a': cannot open '%s/%s': No such file or "
                       "directory",
                       bench.workspace, missing[i]);
        bench.agent.code = AGENT_CODE_WORKTREE;
        bench.team.project.path = mem_dup("/project");
        make(&bench, "root/sessions/" SESSION "/code.git");
        make(&bench, "root/sessions/" SESSION "/code/a");
        CHECK_INT(unlinkat(bench.dir, missing[i], AT_REMOVEDIR), 0);
        CHECK_PLAN(want);
        CHECK_INT(symlinkat("/", bench.dir, missing[i]), 0); /* a link is not what was there */
        CHECK(strstr(plan_text(&bench, &text), "cannot open") != NULL);
        free(bench.team.project.path);
    }
}

/* ---- named paths */

TEST(named_paths_are_there_as_they_say)
{
    A_BENCH("wall.read = ~/r /gone ~/both\nwall.write = ~/w ~/both\n"
            "[wall]\nread = ~/r2 ~/none\nwrite = ~/w2\n");
    _cleanup_str_ struct str text = STR_INIT;

    make(&bench, "home/r");
    put(&bench, "home/r2", "file");
    make(&bench, "home/w");
    make(&bench, "home/w2");
    make(&bench, "home/both");
    CHECK_PLAN("read ~/both\n"
               "write ~/both\n" /* what comes last counts */
               "read ~/r\n"
               "read ~/r2\n"
               "write ~/w\n"
               "write ~/w2\n");
}

/* From the first directory on that an agent can write, no link is followed. */
TEST(no_link_is_followed_in_what_agents_write)
{
    A_BENCH("wall.write = ~/w\n"
            "wall.read = ~/l/x ~/w/file ~/w/link ~/w/in/deep ~/w/up ~/w/in/link/x ~/to-w/link "
            "~/to-w/file ~/r/x ~/round ~/up/x ~/w/link\n"
            "[preset other]\ncommand = sh\nwall.write = ~/o\nwall.home = h\n"
            "[preset in]\ncommand = sh\nwall.write = ~/n/in ~/n\n"
            "[wall]\nread = ~/o/link ~/h/link ~/h/file ~/unit/link ~/legacy/link ~/after/link\n");
    _cleanup_str_ struct str text = STR_INIT;

    make(&bench, "home/a");
    put(&bench, "elsewhere/x", "");
    put(&bench, "home/r/x", "");
    put(&bench, "home/w/file", "");
    put(&bench, "home/w/in/deep", "");
    put(&bench, "home/h/file", "");
    make_link(&bench, "home/l", "../elsewhere");
    make_link(&bench, "home/w/link", "../../elsewhere/x");
    make_link(&bench, "home/w/up", "../r");
    make_link(&bench, "home/w/in/link", "/");
    make_link(&bench, "home/to-w", "w");
    make_link(&bench, "home/o/link", "/etc/passwd");
    make_link(&bench, "home/h/link", "file");
    make_link(&bench, "home/round", "round");
    make_link(&bench, "home/unit", "../root/sessions/" SESSION "/unit/a");
    make_link(&bench, "root/sessions/" SESSION "/unit/a/link", "/etc/passwd");
    make_link(&bench, "home/legacy", "../root/unit");
    make_link(&bench, "root/unit/link", "/etc/passwd");
    /* a link in what can be written makes nothing else so, also if it is named first */
    make_link(&bench, "home/n/in", "../after");
    make_link(&bench, "home/after/link", "../r/x");
    make_link(&bench, "home/up", "a/.././/../elsewhere");
    CHECK_PLAN(
        "read ~/after/link is ~/r/x\n"
        "read ~/h/file\n"
        "read ~/l/x is /elsewhere/x\n"
        "read ~/r/x\n"
        "read ~/to-w/file is ~/w/file\n"
        "read ~/up/x is /elsewhere/x\n"
        "write ~/w\n"
        "read ~/w/file\n"
        "read ~/w/in/deep\n"
        "missing: left out, as a link leads there that an agent may have made: ~/o/link, ~/h/link, "
        "~/unit/link, ~/legacy/link, ~/w/link, ~/w/up, ~/w/in/link/x, ~/to-w/link\n");
}

TEST(many_paths_that_are_left_out_are_counted)
{
    _cleanup_str_ struct str settings = STR_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_bench_ struct bench bench;

    str_add(&settings, "[preset p]\ncommand = sh\nwall.level = try\nwall.write = ~/w\nwall.read =");
    for (int i = 0; i < 60; i++)
        str_addf(&settings, " ~/w/a-name-of-some-length-%d", i);
    str_add(&settings, "\n");
    bench_make(&bench, str_text(&settings));
    make(&bench, "home/w");
    for (int i = 0; i < 60; i++) {
        _cleanup_free_ char *name = mem_printf("home/w/a-name-of-some-length-%d", i);
        make_link(&bench, name, "/");
    }
    const char *is = strstr(plan_text(&bench, &text), "missing: ");
    REQUIRE(is != NULL);
    CHECK(strlen(is) <= sizeof "missing: " + WALL_WHY_MAX);
    size_t named = 0;
    for (const char *at = is; (at = strstr(at, "/w/a-name")) != NULL; at++)
        named++;
    _cleanup_free_ char *rest = mem_printf(", and %zu more\n", 60 - named);
    CHECK(named > 10 && str_ends(is, rest));
}

/* ---- what is there twice */

TEST(what_is_shown_already_is_dropped_where_it_is_the_same)
{
    A_BENCH("wall.read = ~/r ~/r/in ~/r/l ~/w/in\nwall.write = ~/w ~/w/sub ~/r/w ~/w/sub/x\n"
            "wall.home = w/c:copy r/c:copy w/own:own\n");
    _cleanup_str_ struct str text = STR_INIT;

    make(&bench, "home/r/in");
    make(&bench, "home/r/w");
    make(&bench, "home/w/in");
    make(&bench, "home/w/sub/x");
    put(&bench, "home/w/c", "");
    put(&bench, "home/r/c", "");
    make_link(&bench, "home/r/l", "in");
    CHECK_PLAN("read ~/r\n"
               "copy ~/r/c\n"
               "write ~/r/w\n"
               "write ~/w\n"
               "read ~/w/in\n"
               "write ~/w/own is @/home/a/w/own\n");
}

/* ---- the environment */

static const char *inside(struct bench *bench, const char *name)
{
    static char value[PATH_MAX];
    _cleanup_wall_plan_ struct wall_plan plan = WALL_PLAN_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    const struct wall_subject subject = subject_of(bench);
    struct err err = ERR_INIT;

    if (!WELL(wall_plan_make(&subject, &bench->probe, &plan, &err)))
        return "failed";
    const char *is = env_get(plan.env, name);
    if (is == NULL)
        return NULL;
    (void)add_path(bench, is, &text);
    (void)snprintf(value, sizeof value, "%s", str_text(&text));
    return value;
}

TEST(variables_lead_to_what_is_inside)
{
    A_BENCH("wall.read = ~/r\nenv.XDG_DATA_HOME = set\n");
    static const char *const out[] = {"SSH_AUTH_SOCK",   "SSH_AGENT_PID",
                                      "GPG_AGENT_INFO",  "DBUS_SESSION_BUS_ADDRESS",
                                      "DISPLAY",         "WAYLAND_DISPLAY",
                                      "XAUTHORITY",      "ICEAUTHORITY",
                                      "SESSION_MANAGER", "TMUX",
                                      "TMUX_PANE",       "TMUX_TMPDIR",
                                      "BASH_ENV",        "ENV"};
    static const char *const dirs[] = {
        "TMPDIR",          "TMP",           "TEMP",           "TEMPDIR",
        "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME",
        "XDG_RUNTIME_DIR"};

    put(&bench, "home/r/x", "");
    _cleanup_free_ char *shown = mem_printf("%s/r/x", bench.home);
    _cleanup_free_ char *hidden = mem_printf("%s/other", bench.home);
    _cleanup_free_ char *beside = mem_printf("%s/rx", bench.home);
    for (size_t i = 0; i < ARRAY_LEN(out); i++) {
        env_put(&bench.inside, out[i], shown);
        CHECK_STR(inside(&bench, out[i]), "~/r/x");
        env_put(&bench.inside, out[i], hidden);
        CHECK_STR(inside(&bench, out[i]), NULL);
        env_put(&bench.inside, out[i], beside);
        CHECK_STR(inside(&bench, out[i]), NULL);
        env_put(&bench.inside, out[i], ":0");
        CHECK_STR(inside(&bench, out[i]), NULL);
        env_drop(bench.inside, out[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
        bool is_presets = strcmp(dirs[i], "XDG_DATA_HOME") == 0;
        env_put(&bench.inside, dirs[i], shown);
        CHECK_STR(inside(&bench, dirs[i]), "~/r/x");
        env_put(&bench.inside, dirs[i], hidden); /* the agent's own word: it can make that */
        CHECK_STR(inside(&bench, dirs[i]), "~/other");
        env_put(&bench.env, dirs[i], hidden); /* the user's */
        CHECK_STR(inside(&bench, dirs[i]), is_presets ? "~/other" : NULL);
        env_put(&bench.env, dirs[i], "/mnt/user");
        CHECK_STR(inside(&bench, dirs[i]), "~/other");
        env_put(&bench.inside, dirs[i], "/mnt/agent");
        CHECK_STR(inside(&bench, dirs[i]), NULL);
        env_put(&bench.inside, dirs[i], "/tmp/x//");
        CHECK_STR(inside(&bench, dirs[i]), "/tmp/x//");
        env_put(&bench.inside, dirs[i], "/var/tmp/x");
        CHECK_STR(inside(&bench, dirs[i]), "/var/tmp/x");
        env_put(&bench.inside, dirs[i], "/tmpx");
        CHECK_STR(inside(&bench, dirs[i]), NULL);
        env_put(&bench.inside, dirs[i], "tmp");
        CHECK_STR(inside(&bench, dirs[i]), NULL);
        env_put(&bench.inside, dirs[i], "/usr/");
        env_put(&bench.env, dirs[i], "/usr/");
        CHECK_STR(inside(&bench, dirs[i]), "/usr/");
        env_drop(bench.env, dirs[i]);
        env_drop(bench.inside, dirs[i]);
    }
    env_put(&bench.inside, "OTHER", hidden);
    CHECK_STR(inside(&bench, "OTHER"), "~/other");
}

/* ---- what is shared with the programs that an agent asks its host for */

TEST(the_first_program_makes_the_home_that_the_others_share)
{
    A_BENCH("wall.home = .a/b/w .c:copy .f .o:own\nwall.read = ~/.a/b/w/in ~/.a/r\n");
    _cleanup_str_ struct str text = STR_INIT;
    struct err err = ERR_INIT;

    make(&bench, "home/.a/b/w/in");
    make(&bench, "home/.a/r");
    put(&bench, "home/.c", "content");
    put(&bench, "home/.f", "file");
    bench.shares = true;
    CHECK_PLAN("write ~/.a/b/w\n"
               "read ~/.a/b/w/in\n"
               "read ~/.a/r\n"
               "copy ~/.c\n"
               "write ~/.f\n"
               "write ~/.o is @/home/a/.o\n");
    char **const reads = bench.preset.wall.read;
    static char none[] = "~/.f", other[] = "~/.g/x";
    char *paths[] = {none, other, NULL};
    put(&bench, "home/.g/x", "");
    CHECK(!bench.shared.made); /* not the first, and there is none */
    bench.is_first = true;
    CHECK_PLAN("write ~ is @/home/a/.home\n"
               "write ~/.a is @/home/a/.home/.a\n"
               "write ~/.a/b is @/home/a/.home/.a/b\n"
               "write ~/.a/b/w\n"
               "read ~/.a/b/w/in\n"
               "read ~/.a/r\n"
               "write ~/.f\n"
               "write ~/.o is @/home/a/.o\n");
    CHECK(bench.shared.made);
    _cleanup_free_ char *c = NULL;
    size_t len = 0;
    WELL(file_read(bench.dir, "home/a/.home/.c", 100, &c, &len, &err));
    CHECK_STR(c, "content");
    /* what another mount shows needs no place in it */
    CHECK_INT(faccessat(bench.dir, "home/a/.home/.a/b/w", F_OK, 0), 0);
    CHECK_INT(faccessat(bench.dir, "home/a/.home/.a/b/w/in", F_OK, 0), -1);
    bench.is_first = false;
    CHECK_PLAN("write ~ is @/home/a/.home\n"
               "write ~/.a is @/home/a/.home/.a\n"
               "write ~/.a/b is @/home/a/.home/.a/b\n"
               "write ~/.a/b/w\n"
               "read ~/.a/b/w/in\n"
               "read ~/.a/r\n"
               "write ~/.f\n"
               "write ~/.o is @/home/a/.o\n");
    /* another place is not there: that program has a home of its own */
    bench.preset.wall.read = paths;
    CHECK_PLAN("write ~/.a/b/w\n"
               "copy ~/.c\n"
               "write ~/.f\n"
               "read ~/.f\n"
               "read ~/.g/x\n"
               "write ~/.o is @/home/a/.o\n");
    bench.preset.wall.read = reads;
    bench.preset.wall.home_count--; /* one that needs less has what there is */
    CHECK_PLAN("write ~ is @/home/a/.home\n"
               "write ~/.a is @/home/a/.home/.a\n"
               "write ~/.a/b is @/home/a/.home/.a/b\n"
               "write ~/.a/b/w\n"
               "read ~/.a/b/w/in\n"
               "read ~/.a/r\n"
               "write ~/.f\n"
               "write ~/.o is @/home/a/.home/.o\n");
    bench.preset.wall.nested = true;
    CHECK_PLAN("write ~/.a/b/w\n"
               "read ~/.a/b/w/in\n"
               "read ~/.a/r\n"
               "copy ~/.c\n"
               "write ~/.f\n");
    bench.preset.wall.nested = false;
    /* it must be a new one */
    bench.is_first = true;
    CHECK_PLAN("write ~/.a/b/w\n"
               "read ~/.a/b/w/in\n"
               "read ~/.a/r\n"
               "copy ~/.c\n"
               "write ~/.f\n");
    CHECK(!bench.shared.made);
    wall_own_clear(bench.dir, "a");
    CHECK_INT(faccessat(bench.dir, "home/a/.home", F_OK, 0), -1);
    CHECK_INT(faccessat(bench.dir, "home/a/.tmp", F_OK, 0), -1);
    CHECK_INT(faccessat(bench.dir, "home/a/.o", F_OK, 0), 0);
    CHECK_PLAN("write ~ is @/home/a/.home\n"
               "write ~/.a is @/home/a/.home/.a\n"
               "write ~/.a/b is @/home/a/.home/.a/b\n"
               "write ~/.a/b/w\n"
               "read ~/.a/b/w/in\n"
               "read ~/.a/r\n"
               "write ~/.f\n");
    CHECK(bench.shared.made);
}

TEST(a_link_in_the_home_that_is_shared_is_made_once)
{
    A_BENCH("");
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_free_ char *program = mem_printf("%s/bin/tool", bench.home);
    char target[64] = "";

    put(&bench, "home/bin/tool-2", "binary");
    make_link(&bench, "home/bin/tool", "tool-2");
    bench.program = program;
    bench.shares = bench.is_first = true;
    CHECK_PLAN("write ~ is @/home/a/.home\n"
               "write ~/bin is @/home/a/.home/bin\n"
               "read ~/bin/tool-2\n");
    CHECK(readlinkat(bench.dir, "home/a/.home/bin/tool", target, sizeof target - 1) > 0);
    CHECK_STR(target, "tool-2");
    bench.is_first = false;
    CHECK_PLAN("write ~ is @/home/a/.home\n"
               "write ~/bin is @/home/a/.home/bin\n"
               "read ~/bin/tool-2\n");
    bench.program = "/bin/sh"; /* one that needs less */
    CHECK_PLAN("write ~ is @/home/a/.home\n"
               "write ~/bin is @/home/a/.home/bin\n"
               "write ~/bin/tool-2 is @/home/a/.home/bin/tool-2\n");
}

TEST(a_plan_with_very_many_mounts_shares_no_home)
{
    A_BENCH("wall.home = .w\n");
    _cleanup_strv_ char **in = NULL;
    _cleanup_strv_ char **outside = NULL;
    _cleanup_str_ struct str text = STR_INIT;

    make(&bench, "home/.w");
    for (int i = 0; i < 90; i++) {
        _cleanup_free_ char *name = mem_printf("home/in/%d", i);
        _cleanup_free_ char *path = mem_printf("%s/in/%d", bench.home, i);
        _cleanup_free_ char *other = mem_printf("x/%d", i);
        _cleanup_free_ char *there = mem_printf("%s/x/%d", bench.place.path, i);
        make(&bench, name);
        make(&bench, other);
        strv_push(&in, path);
        strv_push(&outside, there);
    }
    bench.shares = bench.is_first = true;
    char **const none = bench.preset.wall.read;
    bench.preset.wall.read = in;
    CHECK(strstr(plan_text(&bench, &text), "write ~ is") == NULL);
    CHECK(!bench.shared.made);
    wall_own_clear(bench.dir, "a");
    bench.preset.wall.read = none;
    CHECK(strstr(plan_text(&bench, &text), "write ~ is") != NULL);
    CHECK(bench.shared.made);
    bench.is_first = false;
    bench.preset.wall.read = outside;
    CHECK(strstr(plan_text(&bench, &text), "write ~ is") == NULL);
    bench.preset.wall.read = none;
    CHECK(strstr(plan_text(&bench, &text), "write ~ is") != NULL);
}

TEST(tmp_is_shared_unless_something_is_below_it)
{
    A_BENCH("wall.write = /tmp/mas-unit-below /tmpx\n");
    _cleanup_wall_plan_ struct wall_plan plan = WALL_PLAN_INIT;
    const struct wall_subject subject = subject_of(&bench);
    struct err err = ERR_INIT;
    struct stat st;

    MUST(wall_plan_make(&subject, &bench.probe, &plan, &err));
    REQUIRE(fstatat(bench.dir, "home/a/.tmp", &st, 0) == 0);
    CHECK_INT(st.st_mode & 07777, 01777);
    REQUIRE(fstatat(bench.dir, "home/a", &st, 0) == 0);
    CHECK_INT(st.st_mode & 07777, 0700);
    wall_plan_free(&plan);
    bool made = mkdir("/tmp/mas-unit-below", 0700) == 0 || errno == EEXIST;
    MUST(wall_plan_make(&subject, &bench.probe, &plan, &err));
    for (size_t i = 0; made && i < plan.count; i++)
        if (strcmp(plan.mounts[i].path, "/tmp") == 0)
            CHECK_INT(plan.mounts[i].kind, WALL_MOUNT_EMPTY);
    (void)rmdir("/tmp/mas-unit-below");
}

/* ---- what holds, and what is missing */

static const char *report_text(struct bench *bench, struct str *to)
{
    struct wall_report foreseen;
    _cleanup_wall_plan_ struct wall_plan plan = WALL_PLAN_INIT;
    const struct wall_subject subject = subject_of(bench);
    struct err err = ERR_INIT;
    int rc = wall_plan_make(&subject, &bench->probe, &plan, &err);

    str_clear(to);
    wall_foresee(&subject, &bench->probe, &foreseen);
    if (rc == -1) {
        add_short(bench, err.text, to);
        CHECK_STR(foreseen.missing, err.text);
        return str_text(to);
    }
    CHECK(wall_report_equal(&plan.report, &foreseen));
    for (int i = 0; i < WALL_PART_COUNT; i++)
        if (plan.report.asked[i] || plan.report.held_by[i][0] != '\0')
            str_addf(to, "%s%s: %s, ", plan.report.asked[i] ? "" : "not asked ", wall_part_names[i],
                     plan.report.held_by[i]);
    str_add(to, "missing: ");
    add_short(bench, plan.report.missing, to);
    str_addf(to, "; %s%s%s%s%s%s", plan.landlock ? "landlock " : "", plan.alone ? "alone " : "",
             plan.nested ? "nested " : "", plan.cut ? "cut " : "",
             plan.count == 0 ? "no files " : "", plan.way.program != NULL ? "way" : "");
    return str_text(to);
}

TEST(a_plan_says_what_holds_each_part)
{
    A_BENCH("");
    static const struct {
        const char *bwrap;
        int landlock;
        bool seccomp;
        enum wall_level level;
        bool nested;
        const char *want;
    } cases[] = {
        {"/usr/bin/bwrap", 6, true, WALL_TRY, false,
         "files: bubblewrap, processes: bubblewrap, system calls: seccomp, signals: Landlock, not "
         "asked network: open, missing: ; landlock "},
        {"/usr/bin/bwrap", 6, true, WALL_REQUIRE, true,
         "files: bubblewrap, processes: bubblewrap, system calls: seccomp, signals: Landlock, not "
         "asked network: open, missing: ; landlock nested "},
        {"/usr/bin/bwrap", 5, true, WALL_TRY, false,
         "files: bubblewrap, processes: bubblewrap, system calls: seccomp, signals: bubblewrap, "
         "not asked network: open, missing: ; landlock "},
        {"/usr/bin/bwrap", 0, false, WALL_TRY, false,
         "files: bubblewrap, processes: bubblewrap, system calls: , signals: bubblewrap, not asked "
         "network: open, missing: the kernel has no Landlock, or it is switched off; "},
        {NULL, 6, true, WALL_TRY, true,
         "files: Landlock, processes: , system calls: seccomp, signals: Landlock, not asked "
         "network: open, missing: there is no bwrap; Landlock alone holds no Unix sockets, and no "
         "modes of files; wall.nested needs bubblewrap; landlock alone "},
        {NULL, 5, false, WALL_TRY, false,
         "files: Landlock, processes: , system calls: , signals: , not asked network: open, "
         "missing: there is no bwrap; Landlock alone holds no Unix sockets, and no modes of files; "
         "in this kernel also no signals; landlock alone "},
        {NULL, 0, true, WALL_TRY, false,
         "files: , processes: , system calls: , signals: , not asked network: open, missing: there "
         "is no bwrap; no files "},
        {NULL, 6, true, WALL_REQUIRE, false,
         "cannot put up the wall of agent 'a': there is no bwrap"},
        {"/usr/bin/bwrap", 0, true, WALL_REQUIRE, false,
         "cannot put up the wall of agent 'a': the kernel has no Landlock, or it is switched off"},
        {"/usr/bin/bwrap", 6, false, WALL_REQUIRE, false,
         "cannot put up the wall of agent 'a': the kernel has no seccomp"},
        {"/usr/bin/bwrap", 6, true, WALL_OFF, true,
         "not asked network: open, missing: ; no files "},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_str_ struct str text = STR_INIT;
        free(bench.probe.bwrap);
        bench.probe.bwrap = mem_dup(cases[i].bwrap);
        bench.probe.landlock = cases[i].landlock;
        bench.probe.seccomp = cases[i].seccomp;
        bench.probe.bwrap_lacks = (struct err)ERR_INIT;
        if (cases[i].bwrap == NULL)
            (void)err_set(&bench.probe.bwrap_lacks, MAS_FAILED, "there is no bwrap");
        bench.preset.wall.level = cases[i].level;
        bench.preset.wall.nested = cases[i].nested;
        CHECK_STR(report_text(&bench, &text), cases[i].want);
    }
}

TEST(the_network_is_what_is_said_of_it)
{
    A_BENCH("");
    static char none[] = "none", open[] = "open", list[] = "example.org b.example.org:443",
                bad[] = "a/b", empty[] = "";
    _cleanup_free_ char *search = mem_printf("/bin:%s/bin", bench.place.path);
    const struct {
        char *said;
        const char *setting;
        bool has_program, alone;
        enum wall_level level;
        const char *want;
    } cases[] = {
        {empty, "open", false, false, WALL_TRY,
         "files: bubblewrap, processes: bubblewrap, system calls: seccomp, signals: Landlock, not "
         "asked network: open, missing: ; landlock "},
        {NULL, "none", false, false, WALL_TRY,
         "files: bubblewrap, processes: bubblewrap, system calls: seccomp, signals: Landlock, "
         "network: namespace, missing: ; landlock cut "},
        {open, "none", false, false, WALL_TRY,
         "files: bubblewrap, processes: bubblewrap, system calls: seccomp, signals: Landlock, not "
         "asked network: open, missing: ; landlock "},
        {none, "open", false, false, WALL_REQUIRE,
         "files: bubblewrap, processes: bubblewrap, system calls: seccomp, signals: Landlock, "
         "network: namespace, missing: ; landlock cut "},
        {none, "open", false, true, WALL_TRY,
         "files: Landlock, processes: , system calls: seccomp, signals: Landlock, network: "
         "seccomp, missing: Landlock alone holds no Unix sockets, and no modes of files; landlock "
         "alone cut "},
        {list, "open", false, false, WALL_TRY,
         "files: bubblewrap, processes: bubblewrap, system calls: seccomp, signals: Landlock, "
         "network: namespace, missing: cannot let hosts through: cannot run '/lib/mas-network': No "
         "such file or directory; landlock cut "},
        {list, "open", false, false, WALL_REQUIRE,
         "cannot put up the wall of agent 'a': cannot let hosts through: cannot run "
         "'/lib/mas-network': No such file or directory"},
        {list, "open", true, false, WALL_REQUIRE,
         "files: bubblewrap, processes: bubblewrap, system calls: seccomp, signals: Landlock, "
         "network: namespace and tinyproxy, missing: ; landlock cut way"},
        {list, "open", true, true, WALL_TRY,
         "files: Landlock, processes: , system calls: seccomp, signals: Landlock, network: "
         "seccomp, missing: Landlock alone holds no Unix sockets, and no modes of files; no host "
         "of wall.network is reached; landlock alone cut "},
        {bad, "open", true, false, WALL_TRY,
         "cannot put up the wall of agent 'a': cannot read wall.network: expected open, none or "
         "hosts, not 'a/b'"},
    };

    env_put(&bench.env, "PATH", search);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_str_ struct str text = STR_INIT;
        struct err err = ERR_INIT;
        if (cases[i].has_program)
            put(&bench, "lib/mas-network", "#!/bin/sh\n");
        else
            put(&bench, "bin/tinyproxy", "#!/bin/sh\n");
        WELL(config_override(&bench.config, SETTING_WALL_NETWORK, cases[i].setting, "-", &err));
        bench.preset.wall.network = cases[i].said;
        bench.preset.wall.level = cases[i].level;
        free(bench.probe.bwrap);
        bench.probe.bwrap = mem_dup(cases[i].alone ? NULL : "/usr/bin/bwrap");
        CHECK_STR(report_text(&bench, &text), cases[i].want);
        bool fine = wall_network_check(&bench.config, &bench.agent, &bench.preset, bench.enter,
                                       bench.env, &err) == 0;
        CHECK_INT(fine, cases[i].said != bad && (cases[i].said != list || cases[i].has_program));
    }
}

/* ---- programs */

TEST(a_program_comes_with_what_it_needs)
{
    A_BENCH("");
    _cleanup_str_ struct str text = STR_INIT;
    char *program = NULL;

    env_put(&bench.env, "PATH", "/usr/bin:/bin");
    /* a package: up to the directory with a marker, with the modules on the way */
    put(&bench, "home/pkg/package.json", "{}");
    put(&bench, "home/pkg/node_modules/x", "");
    put(&bench, "home/pkg/src/node_modules/x", "");
    put(&bench, "home/pkg/src/cli/run.js", "#!/usr/bin/env sh\n");
    bench.program = program = mem_printf("%s/pkg/src/cli/run.js", bench.home);
    CHECK_PLAN("read ~/pkg\n");
    free(program);
    put(&bench, "home/several/node_modules/x", "");
    put(&bench, "home/several/src/run.ts", "");
    bench.program = program = mem_printf("%s/several/src/run.ts", bench.home);
    CHECK_PLAN("read ~/several/node_modules\n"
               "read ~/several/src\n");
    free(program);
    /* none: its directory */
    put(&bench, "home/tools/run.py", "#!/usr/bin/env -S X=1 sh\n");
    bench.program = program = mem_printf("%s/tools/run.py", bench.home);
    CHECK_PLAN("read ~/tools\n");
    free(program);
    /* or what is beside bin/, with what Python has installed there */
    put(&bench, "home/local/bin/run",
        "#!/bin/sh\n\n# last\nexec \"$HOME/other/tool\" \"$@\"\n# end\n");
    put(&bench, "home/local/lib/python3.9/x", "");
    put(&bench, "home/local/lib/python2/x", "");
    put(&bench, "home/other/tool", "binary");
    bench.program = program = mem_printf("%s/local/bin/run", bench.home);
    CHECK_PLAN("read ~/local\n"
               "read ~/other/tool\n");
    bench.is_approved = true; /* it is not looked into */
    CHECK_PLAN("read ~/local/bin/run\n");
    bench.is_approved = false;
    free(program);
    put(&bench, "home/.local/bin/run.py", "");
    put(&bench, "home/.local/lib/python3.9/x", "");
    put(&bench, "home/.local/lib/python3/x", "");
    put(&bench, "home/.local/lib/other/x", "");
    bench.program = program = mem_printf("%s/.local/bin/run.py", bench.home);
    CHECK_PLAN("read ~/.local/bin/run.py\n"
               "read ~/.local/lib/python3\n"
               "read ~/.local/lib/python3.9\n");
    free(program);
    /* not the home, not a hidden directory in it, and none with the root in it */
    put(&bench, "run.rb", "");
    bench.program = program = mem_printf("%s/run.rb", bench.place.path);
    CHECK_PLAN("read /run.rb\n");
    free(program);
    put(&bench, "root/run.rb", "");
    bench.program = program = mem_printf("%s/root/run.rb", bench.place.path);
    CHECK_PLAN("read /root/run.rb\n");
    free(program);
    put(&bench, "home/run.sh", "echo\n~/other/tool x\n");
    bench.program = program = mem_printf("%s/run.sh", bench.home);
    CHECK_PLAN("read ~/other/tool\n"
               "read ~/run.sh\n");
    free(program);
    put(&bench, "home/.hidden/run.sh", "#!/bin/sh\nexec nothing\nenv X=1 tool --x\n\n");
    put(&bench, "bin/tool", "#!/bin/sh\n");
    _cleanup_free_ char *search = mem_printf("/usr/bin:/bin:%s/bin", bench.place.path);
    env_put(&bench.env, "PATH", search);
    bench.program = program = mem_printf("%s/.hidden/run.sh", bench.home);
    CHECK_PLAN("read /bin/tool\n"
               "read ~/.hidden/run.sh\n");
    free(program);
    put(&bench, "home/.hidden/in/run.sh", "true\n");
    bench.program = program = mem_printf("%s/.hidden/in/run.sh", bench.home);
    CHECK_PLAN("read ~/.hidden/in\n");
    free(program);
    /* scripts that run scripts, up to a depth */
    for (int i = 0; i < 6; i++) {
        _cleanup_free_ char *name = mem_printf("chain/%d/run", i);
        _cleanup_free_ char *line =
            mem_printf("#!/bin/sh\nexec %s/chain/%d/run\n", bench.place.path, i + 1);
        put(&bench, name, line);
    }
    bench.program = program = mem_printf("%s/chain/0/run", bench.place.path);
    CHECK_PLAN("read /chain/0\n"
               "read /chain/1\n"
               "read /chain/2\n"
               "read /chain/3\n");
    free(program);
    /* links: each, and what they lead to */
    make_link(&bench, "bin/one", "../links/two");
    _cleanup_free_ char *three = mem_printf("%s/links/three", bench.place.path);
    make_link(&bench, "links/two", three);
    put(&bench, "links/three", "binary");
    bench.program = program = mem_printf("%s/bin/one", bench.place.path);
    CHECK_PLAN("link /bin/../links/two from /links/three\n"
               "link /bin/one from ../links/two\n"
               "read /links/three\n");
    free(program);
    bench.program = "/bin/sh";
}

TEST(installations_are_known)
{
    static const struct {
        const char *files[6];
        const char *program;
        const char *want;
    } cases[] = {
        {{"v/pyvenv.cfg", "v/bin/python"}, "v/bin/python", "read /v\n"},
        {{"n/bin/node", "n/bin/tool", "n/lib/node_modules/x/y", "n/include/node/x", "n/share/x"},
         "n/bin/tool",
         "read /n/bin\nread /n/include/node\nread /n/lib/node_modules\n"},
        {{"p/bin/python3.9", "p/lib/python3.9/x"}, "p/bin/python3.9", "read /p/bin\nread /p/lib\n"},
        {{"p/bin/python3.9", "p/lib/python3.8/x"}, "p/bin/python3.9", "read /p/bin/python3.9\n"},
        {{"m/shims/tool", "m/installs/x"}, "m/shims/tool", "read /m\n"},
        {{"x/.volta/bin/tool", "x/.volta/y"}, "x/.volta/bin/tool", "read /x/.volta\n"},
        {{"x/volta/bin/tool", "x/volta/y"}, "x/volta/bin/tool", "read /x/volta/bin/tool\n"},
        {{"a/node_modules/b/tool", "a/node_modules/c/x", "a/x"},
         "a/node_modules/b/tool",
         "read /a/node_modules\n"},
        {{"s/libexec/tool", "s/pyvenv.cfg"}, "s/libexec/tool", "read /s/libexec/tool\n"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        A_BENCH("");
        _cleanup_str_ struct str text = STR_INIT;
        for (size_t j = 0; j < ARRAY_LEN(cases[i].files) && cases[i].files[j] != NULL; j++)
            put(&bench, cases[i].files[j], "binary");
        _cleanup_free_ char *program = mem_printf("%s/%s", bench.place.path, cases[i].program);
        bench.program = program;
        CHECK_STR(plan_text(&bench, &text), cases[i].want);
    }
}

/* A directory on the way may be a link. */
TEST(a_program_is_installed_where_it_really_is)
{
    A_BENCH("");
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_free_ char *venv = mem_printf("%s/venv", bench.place.path);
    _cleanup_free_ char *program = mem_printf("%s/links/v/bin/tool", bench.home);

    put(&bench, "venv/pyvenv.cfg", "");
    put(&bench, "venv/bin/tool", "binary");
    make_link(&bench, "home/links/v", venv);
    bench.program = program;
    CHECK_PLAN("read ~/links/v is /venv\n"
               "read /venv\n");
}

/* What an agent can write is there, and nothing that it names. */
TEST(programs_that_agents_can_write_are_not_believed)
{
    A_BENCH("wall.write = ~/w\n");
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_free_ char *script = mem_printf("%s/w/run.sh", bench.home);
    _cleanup_free_ char *to = mem_printf("%s/w/to", bench.home);
    _cleanup_free_ char *line = mem_printf("#!%s/bin/interpreter\nexec ~/other/tool\n", bench.home);

    put(&bench, "home/w/run.sh", line);
    put(&bench, "home/bin/interpreter", "binary");
    put(&bench, "home/other/tool", "binary");
    make_link(&bench, "home/w/to", "../other/tool");
    bench.program = script;
    CHECK_PLAN("write ~/w\n");
    bench.is_approved = true;
    CHECK_PLAN("read ~/bin/interpreter\n"
               "write ~/w\n");
    bench.is_approved = false;
    bench.program = to;
    CHECK_PLAN("write ~/w\n");
}

TEST(what_is_approved_is_one_file)
{
    A_BENCH("wall.write = ~/w\n");
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_free_ char *script = mem_printf("%s/w/run.sh", bench.home);
    _cleanup_free_ char *link = mem_printf("%s/bin/one", bench.home);
    _cleanup_free_ char *line = mem_printf("#!%s/w/interpreter\n", bench.home);
    _cleanup_free_ char *next = mem_printf("#!%s/other/tool\n", bench.home);

    put(&bench, "home/w/run.sh", line);
    put(&bench, "home/w/interpreter", next);
    put(&bench, "home/other/tool", "binary");
    make_link(&bench, "home/w/to", "../other/tool");
    make_link(&bench, "home/bin/one", "../w/to");
    bench.program = script;
    bench.is_approved = true;
    CHECK_PLAN("write ~/w\n");
    bench.program = link;
    CHECK_PLAN("write ~/w\n"
               "missing: left out, as a link leads there that an agent may have made: ~/bin/one\n");
}

TEST(secrets_are_hidden_from_what_root_runs)
{
    A_BENCH("");
    _cleanup_wall_plan_ struct wall_plan plan = WALL_PLAN_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    const struct wall_subject subject = subject_of(&bench);
    struct err err = ERR_INIT;

    strv_push(&bench.probe.secrets, "/etc/group");
    strv_push(&bench.probe.secrets, "/etc/there-is-no-such-file");
    strv_push(&bench.probe.secrets, "/etc/passwd");
    MUST(wall_plan_make(&subject, &bench.probe, &plan, &err));
    for (size_t i = 0; i < plan.count; i++)
        if (plan.mounts[i].kind == WALL_MOUNT_HIDDEN)
            str_addf(&text, "%s ", plan.mounts[i].path);
    CHECK_STR(str_text(&text), geteuid() == 0 ? "/etc/group /etc/passwd " : "");
}

TEST(words_of_the_command_are_there)
{
    A_BENCH("");
    _cleanup_str_ struct str text = STR_INIT;
    static const char *const words[] = {"data", "dir", "gone", "s/run.py", "t/run"};

    put(&bench, "data", "x");
    put(&bench, "relative", "x");
    make(&bench, "dir");
    put(&bench, "s/run.py", "x");
    put(&bench, "s/beside", "x");
    put(&bench, "t/run", "#!/bin/sh\ntrue\n");
    strv_push(&bench.argv, "sh");
    strv_push(&bench.argv, "relative");
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        _cleanup_free_ char *path = mem_printf("%s/%s", bench.place.path, words[i]);
        strv_push(&bench.argv, path);
    }
    CHECK_PLAN("read /data\n"
               "read /s\n"
               "read /t\n");
}

TEST(npx_has_the_package_that_it_keeps)
{
    static const struct {
        const char *words[5];
        bool has;
    } cases[] = {
        {{"npx", "pkg"}, true},
        {{"/usr/bin/npx", "-y", "--quiet", "pkg@1.2", "more"}, true},
        {{"npx", "@scope/pkg"}, false},
        {{"npx", "other", "pkg"}, false},
        {{"npx", "pk"}, false},
        {{"npx", "-y"}, false},
        {{"npx"}, false},
        {{"xnpx", "pkg"}, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        A_BENCH("");
        _cleanup_str_ struct str text = STR_INIT;
        put(&bench, "home/.npm/_npx/1/package.json", "{\"dependencies\": {\"another\": \"1\"}}");
        put(&bench, "home/.npm/_npx/1/node_modules/x", "");
        put(&bench, "home/.npm/_npx/2/package.json", "{\"dependencies\": {\"pkg\": \"1\"}}");
        put(&bench, "home/.npm/_npx/2/package-lock.json", "");
        put(&bench, "home/.npm/_npx/2/node_modules/x", "");
        for (size_t j = 0; j < ARRAY_LEN(cases[i].words) && cases[i].words[j] != NULL; j++)
            strv_push(&bench.argv, cases[i].words[j]);
        CHECK_PLAN(cases[i].has ? "read ~/.npm/_npx/2/node_modules\n"
                                  "read ~/.npm/_npx/2/package-lock.json\n"
                                  "read ~/.npm/_npx/2/package.json\n"
                                : "");
    }
}

/* ---- without bubblewrap */

TEST(alone_the_home_is_a_directory_of_the_session)
{
    A_BENCH("wall.home = .w .r:ro .c:copy .o/x:own .deep/in .gone .deep/c:copy\n"
            "wall.read = ~/read\n");
    static const char *const names[] = {".w",       ".r",      ".c",    ".o/x",
                                        ".deep/in", ".deep/c", ".gone", ".profile"};
    _cleanup_str_ struct str text = STR_INIT;
    struct err err = ERR_INIT;

    make(&bench, "home/.w");
    make(&bench, "home/.r");
    make(&bench, "home/.deep/in");
    make(&bench, "home/read");
    put(&bench, "home/.c", "content");
    put(&bench, "home/.deep/c", "deep");
    free(bench.probe.bwrap);
    bench.probe.bwrap = NULL;
    (void)err_set(&bench.probe.bwrap_lacks, MAS_FAILED, "there is no bwrap");
    for (int round = 0; round < 2; round++) { /* and once more over what the first has left */
        CHECK_PLAN("write ~/.deep/in\n"
                   "read ~/.r\n"
                   "write ~/.w\n"
                   "read ~/read\n"
                   "write @/home/a\n"
                   "empty /tmp\n"
                   "missing: there is no bwrap; Landlock alone holds no Unix sockets, and no modes "
                   "of files\n");
        _cleanup_str_ struct str found = STR_INIT;
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
            _cleanup_free_ char *path = mem_printf("home/a/%s", names[i]);
            char target[PATH_MAX] = "";
            struct stat st;
            if (fstatat(bench.dir, path, &st, AT_SYMLINK_NOFOLLOW) == -1)
                continue;
            str_addf(&found, "%s: ", names[i]);
            if (readlinkat(bench.dir, path, target, sizeof target - 1) > 0)
                (void)add_path(&bench, target, &found);
            else
                str_add(&found, path_type_name(st.st_mode));
            str_add(&found, "\n");
        }
        CHECK_STR(str_text(&found), ".w: ~/.w\n"
                                    ".r: ~/.r\n"
                                    ".c: a file\n"
                                    ".o/x: a directory\n"
                                    ".deep/in: ~/.deep/in\n"
                                    ".deep/c: a file\n"
                                    ".profile: a file\n");
        _cleanup_free_ char *is = NULL;
        size_t len = 0;
        WELL(file_read(bench.dir, "home/a/.c", 100, &is, &len, &err));
        CHECK_STR(is, round == 0 ? "content" : "newer");
        put(&bench, "home/.c", "newer");
    }
}

TEST(alone_the_environment_names_that_home)
{
    A_BENCH("wall.home = .w .deep/in\nwall.read = ~/read\n");
    static const struct {
        const char *value, *want;
    } cases[] = {
        {"~/.w", "@/home/a/.w"},
        {"~/.w/below", "@/home/a/.w/below"},
        {"~/.wx", "~/.wx"},
        {"~/.deep", "@/home/a/.deep"},
        {"~/.deep/in/x", "@/home/a/.deep/in/x"},
        {"~/.deep/other", "~/.deep/other"},
        {"~/.dee", "~/.dee"},
        {"~/read", "~/read"},
        {"~/.w:/bin", "~/.w:/bin"},
        {"~/.w/x:/bin", "~/.w/x:/bin"},
        {"~x/.w", "~x/.w"},
    };

    make(&bench, "home/.w");
    make(&bench, "home/read");
    free(bench.probe.bwrap);
    bench.probe.bwrap = NULL;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_free_ char *value = mem_printf("%s%s", bench.home, cases[i].value + 1);
        env_put(&bench.inside, "SOME", value);
        CHECK_STR(inside(&bench, "SOME"), cases[i].want);
    }
    env_put(&bench.inside, "HOME", bench.home);
    CHECK_STR(inside(&bench, "HOME"), "@/home/a");
    CHECK_STR(inside(&bench, "TMPDIR"), "@/home/a/.tmp");
    _cleanup_free_ char *read = mem_printf("%s/read", bench.home);
    static const char *const others[] = {"TMP", "TEMP", "TEMPDIR"};
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        env_put(&bench.inside, others[i], "/tmp");
        CHECK_STR(inside(&bench, others[i]), NULL);
        env_put(&bench.inside, others[i], read);
        CHECK_STR(inside(&bench, others[i]), "~/read");
    }
}

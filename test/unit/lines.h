/*
 * What the tests of verbs share: a root with two stopped sessions, and command lines that run in
 * this process.
 */
#pragma once

#include "root.h"

#include "base/time.h"
#include "cmd.h"

#include <sys/mman.h>

enum { OUTPUT_MAX = 1 << 16 };

static struct place ground;

/* What a command line came to. */
struct outcome {
    int rc;
    char *output; /* on standard output, see without_chance() */
    struct err err;
};

static void outcome_free(struct outcome *outcome)
{
    free(outcome->output);
}
#define _cleanup_outcome_ __attribute__((cleanup(outcome_free)))

/* Returns the text with ROOT for the directory of the root, NOW for times that are not those of
 * root_session() and CONVERSATION for ids that are not its sessions'. */
static char *without_chance(const char *text)
{
    static const char hex[] = "0123456789abcdef-";
    struct str to = STR_INIT;
    time_t when;

    while (*text != '\0') {
        _cleanup_free_ char *stamp = mem_dupn(text, strnlen(text, TIME_TEXT - 1));
        size_t len = strspn(text, hex);
        bool begins = to.len == 0 || strchr(hex, to.data[to.len - 1]) == NULL;
        if (str_starts(text, ground.path)) {
            str_add(&to, "ROOT");
            text += strlen(ground.path);
        } else if (begins && !str_starts(text, "2025") && time_parse(stamp, &when)) {
            str_add(&to, "NOW");
            text += strlen(stamp);
        } else if (begins && (len == 8 || len == 36) && !str_starts(text, "550e8400")) {
            str_add(&to, "CONVERSATION");
            text += len;
        } else {
            str_addc(&to, *text++);
        }
    }
    return str_steal(&to);
}

/* Runs the words behind `mas`, in the quotes of a shell. */
static int run_words(const char *line, struct err *err)
{
    const struct cmd_globals globals = {.root = ground.path};
    _cleanup_strv_ char **words = NULL;
    int code = MAS_OK;
    int rc = -1;

    CHECK(str_split_words(line, &words, err) == 0);
    size_t count = strv_len(words);
    char **argv = mem_alloc((count + 1) * sizeof *argv); /* parsing changes the order */
    memcpy(argv, words, (count + 1) * sizeof *argv);
    const struct cmd *cmd = cmd_find(argv[0]);
    if (CHECK(cmd != NULL))
        rc = cmd_run(cmd, (int)count, argv, &globals, &code, err);
    free(argv);
    return rc;
}

/* Likewise; what it prints goes where it always does. */
UNIT_MAYBE static int run_shown(const char *line)
{
    struct err err = ERR_INIT;
    int rc = run_words(line, &err);

    return fflush(stdout) == 0 ? rc : -1;
}

static struct outcome run(const char *line)
{
    struct outcome ret = {.err = ERR_INIT};
    _cleanup_free_ char *output = NULL;
    _cleanup_close_ int shown = dup(STDOUT_FILENO);
    _cleanup_close_ int written = memfd_create("stdout", MFD_CLOEXEC);
    struct err err = ERR_INIT;
    size_t len = 0;

    (void)fflush(stdout);
    (void)dup2(written, STDOUT_FILENO);
    ret.rc = run_words(line, &ret.err);
    (void)fflush(stdout);
    (void)dup2(shown, STDOUT_FILENO);
    CHECK(lseek(written, 0, SEEK_SET) == 0);
    CHECK(file_read_stream(written, "stdout", OUTPUT_MAX, &output, &len, &err) == 0);
    ret.output = without_chance(output != NULL ? output : "");
    return ret;
}

#define TEAM(windows, team)                                                                        \
    "{\"template\":\"tp\",\"windows\":[{\"name\":\"w\",\"layout\":\"tiled\",\"agents\":[" windows  \
    "]}],\"team\":[" team "]}"
#define AGENT(id, rank)                                                                            \
    "{\"id\":\"" id "\",\"role\":\"does " id "\",\"rank\":\"" rank "\",\"group\":\"g\"}"

/* "shop" with the agents a and b, "solo" with c. */
static bool make_sessions(struct root *root)
{
    static const struct {
        const char *id, *tmux, *name, *team;
    } sessions[] = {{ID(1), "mas-shop", "shop",
                     TEAM("\"a\",\"b\"", AGENT("a", "meta") "," AGENT("b", "worker"))},
                    {ID(2), "mas-solo", "solo", TEAM("\"c\"", AGENT("c", "worker"))}};

    for (size_t i = 0; i < ARRAY_LEN(sessions); i++) {
        _cleanup_session_ struct session session =
            root_session(sessions[i].id, sessions[i].tmux, sessions[i].name);
        if (!root_save(root, &session))
            return false;
        _cleanup_close_ int dir = workspace_open(root, sessions[i].id);
        if (!place_put(dir, WORKSPACE_CONFIG, sessions[i].team))
            return false;
    }
    return true;
}

#define SESSIONS                                                                                   \
    __attribute__((cleanup(place_leave))) struct place *here = &ground;                            \
    _cleanup_root_ struct root root = ROOT_INIT;                                                   \
    ground = place_make();                                                                         \
    root_clear_env(here);                                                                          \
    REQUIRE(root_make(here, &root) && make_sessions(&root))

static void place_leave(struct place **at)
{
    place_free(*at);
}

/* A line that is refused, and how the error begins. */
struct refused {
    int code;
    const char *line, *why;
};

UNIT_MAYBE static void check_refused(const struct refused *lines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        _cleanup_outcome_ struct outcome got = run(lines[i].line);
        if (!CHECK_INT(got.rc, -1) || !CHECK_INT(got.err.code, lines[i].code))
            printf("# mas %s: %s\n", lines[i].line, got.err.text);
        else if (!str_starts(got.err.text, lines[i].why) && !CHECK_STR(got.err.text, lines[i].why))
            printf("# mas %s\n", lines[i].line);
    }
}

/* Lines one after the other, and what they print. */
struct told {
    const char *line, *output;
};

UNIT_MAYBE static void check_told(const struct told *lines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        _cleanup_outcome_ struct outcome got = run(lines[i].line);
        if (!CHECK_INT(got.rc, 0) || !CHECK_STR(got.output, lines[i].output))
            printf("# mas %s: %s\n", lines[i].line, got.err.text);
    }
}

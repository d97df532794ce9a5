#include "fleet/reach.h"
#include "model/remote.h"
#include "os/proc.h"
#include "unit.h"

/* Reads one key of a new remote. Returns true if it is valid. */
static bool reads(const char *key, const char *value, struct remote *ret)
{
    const struct ini_line line = {
        .file = "f", .line = 1, .section = "host x", .key = key, .value = value};
    struct err err = ERR_INIT;

    remote_make(ret, "x", "f:1");
    return remote_read(ret, &line, &err) == 0;
}

TEST(reads_where_machines_are)
{
    static const struct {
        const char *value, *place;
        enum remote_via via;
    } rows[] = {
        {"ssh:n1", "n1", REMOTE_SSH},
        {"ssh:ann@n1.example.org", "ann@n1.example.org", REMOTE_SSH},
        {"ssh:ssh://ann@[fe80::1%eth0]:22", "ssh://ann@[fe80::1%eth0]:22", REMOTE_SSH},
        {"slurm:gpu", "gpu", REMOTE_SLURM},
        {"slurm:gpu,cpu", "gpu,cpu", REMOTE_SLURM},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct remote remote;
        char text[REMOTE_PLACE_MAX + 16];
        CHECK(reads("via", rows[i].value, &remote));
        CHECK_STR(remote.place, rows[i].place);
        CHECK_INT(remote.via, rows[i].via);
        CHECK_STR(remote_value(&remote, 0, text), rows[i].value);
        remote_free(&remote);
    }
}

TEST(refuses_what_could_be_an_option_or_a_command)
{
    static const char *const bad[] = {
        "",
        "ssh:",
        "ssh:-x",
        "ssh:-oProxyCommand=x",
        "ssh:ssh://-x",
        "ssh:a b",
        "ssh:a\tb",
        "ssh:$(x)",
        "ssh:`x`",
        "ssh:a;b",
        "ssh:a@-b",
        "ssh:@a",
        "ssh:a@",
        "ssh:a'b",
        "ssh:a\"b",
        "ssh:\xc3\xa4",
        "slurm:",
        "slurm:-x",
        "slurm:a b",
        "slurm:a/b",
        "rsh:a",
        "n1",
    };
    struct remote remote;
    char longest[REMOTE_PLACE_MAX + 8] = "ssh:";

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (reads("via", bad[i], &remote))
            CHECK_STR(bad[i], "refused");
        CHECK_INT(remote.via, REMOTE_UNSET);
        remote_free(&remote);
    }
    memset(longest + 4, 'a', REMOTE_PLACE_MAX + 1);
    longest[4 + REMOTE_PLACE_MAX + 1] = '\0';
    CHECK(!reads("via", longest, &remote));
    remote_free(&remote);
    longest[4 + REMOTE_PLACE_MAX] = '\0';
    CHECK(reads("via", longest, &remote));
    remote_free(&remote);
}

TEST(takes_only_absolute_paths)
{
    static const char *const keys[] = {"mas", "root", "store"};
    struct remote remote;

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        CHECK(reads(keys[i], "/a b/c", &remote));
        remote_free(&remote);
        CHECK(!reads(keys[i], "a", &remote));
        remote_free(&remote);
        CHECK(!reads(keys[i], "~/a", &remote));
        remote_free(&remote);
    }
    CHECK(reads("submit", "--gres 'a b'", &remote));
    remote_free(&remote);
    static const char *const bad[] = {"'", "--array=1-3", "--mem 4G -a 1-3", "-a1-3",
                                      "--arr '1-3'"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK(!reads("submit", bad[i], &remote));
        remote_free(&remote);
    }
    CHECK(reads("submit", "--account=array --acctg-freq=1", &remote));
    remote_free(&remote);
}

TEST(names_are_words)
{
    CHECK(remote_is_name("n1"));
    CHECK(remote_is_name("N_1-a"));
    CHECK(!remote_is_name(""));
    CHECK(!remote_is_name("-n"));
    CHECK(!remote_is_name("a:b"));
    CHECK(!remote_is_name("a b"));
    CHECK(!remote_is_name("abcdefghijklmnopqrstuvwxyz0123456"));
}

/* Lets a shell print one quoted word. */
static void check_word(const char *shell, const char *word)
{
    struct str text = STR_INIT;
    struct proc proc;
    struct proc_result result = PROC_RESULT_INIT;
    struct err err = ERR_INIT;

    str_add(&text, "printf %s ");
    reach_quote(&text, word);
    char *argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", text.data, NULL};
    const struct proc_spec spec = {
        .file = shell, .argv = argv, .cwd = -1, .output_max = 65536, .timeout_ms = 60000};
    REQUIRE(proc_start(&spec, &proc, &err) == 0);
    REQUIRE(proc_finish(&proc, &result, &err) == 0);
    CHECK_INT(result.status, 0);
    CHECK_STR(str_text(&result.out), word);
    proc_result_free(&result);
    str_free(&text);
}

TEST(shells_read_words_back)
{
    static const char *const shells[] = {"/bin/sh", "/bin/bash", "/usr/bin/zsh", "/usr/bin/fish",
                                         "/usr/bin/tcsh"};
    static const char *const words[] = {
        "",
        "a",
        " ",
        "a b",
        "'",
        "''",
        "a'b'c",
        "\\",
        "\\\\",
        "\\'",
        "'\\",
        "\\n",
        "\"",
        "$x",
        "$(x)",
        "`x`",
        "*",
        "~",
        "!x",
        "#",
        "-",
        "--",
        "a=b",
        "{a,b}",
        "%s",
        "\x01\x7f",
        "\xff",
        "\xc3\xa4",
        "a\\'b\\\\'c\\",
    };

    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        struct stat st;
        for (size_t j = 0; stat(shells[i], &st) == 0 && j < sizeof words / sizeof *words; j++)
            check_word(shells[i], words[j]);
    }
}

/*
 * Verbs that the server runs: a script plays mas.
 */
#include "place.h"

#include "serve/server.h"
#include "serve/verb.h"

/* Runs a verb; the script is what mas is. Returns "CODE TEXT | HINT | OUTPUT". */
static const char *run(struct server *server, const char *script, const char *input,
                       const struct verb_watch *watch, struct str *to)
{
    static char *words[] = {(char *)(uintptr_t) "verb", (char *)(uintptr_t) "a b", NULL};
    _cleanup_place_ struct place place = place_make();
    _cleanup_free_ char *path = mem_printf("%s/mas", place.path);
    _cleanup_free_ char *text = mem_printf("#!/bin/sh\n%s\n", script);
    _cleanup_str_ struct str in = STR_INIT;
    struct str out = STR_INIT;
    struct err err = ERR_INIT;

    CHECK(place_put(place.dir, "mas", text) && fchmodat(place.dir, "mas", 0755, 0) == 0);
    server->mas = path;
    str_add(&in, input != NULL ? input : "");
    int rc = verb_run_watched(server, words, input != NULL ? &in : NULL, watch, &out, &err);
    str_clear(to);
    str_addf(to, "%d %s | %s | %s", rc == 0 ? 0 : err.code, rc == 0 ? "" : err.text,
             rc == 0 ? "" : err.hint, str_text(&out));
    str_free(&out);
    return str_text(to);
}

TEST(an_error_of_a_verb_is_what_mas_says)
{
    static const struct {
        const char *script, *want;
    } cases[] = {
        {"printf '%s,' \"$@\"", "0  |  | --root,/root,verb,a b,"},
        {"cat", "0  |  | the input"},
        {"echo 'mas: cannot do it' >&2; exit 4", "4 cannot do it |  | "},
        {"printf 'mas: cannot do it\\nthe hint\\nmore\\n' >&2; exit 5",
         "5 cannot do it | the hint | "},
        {"printf 'mas: cannot do it\\nmas: warning: late\\n' >&2; exit 5", "5 cannot do it |  | "},
        {"printf 'mas: warning: early\\nmas: warning: and more\\nmas: cannot\\nhint' >&2; echo x; "
         "exit 7",
         "7 cannot | hint | x\n"},
        {"printf 'mas: warning: early\\n' >&2; exit 3", "3 mas exited with code 3 |  | "},
        {"printf 'mas: warning: early\\n' >&2; exit 0", "0  |  | "},
        {"echo nonsense >&2; exit 9", "9 mas exited with code 9 |  | "},
        {"exit 1", "1 mas exited with code 1 |  | "},
    };
    struct server server = {.root.path = (char *)(uintptr_t) "/root"};
    _cleanup_str_ struct str text = STR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        (void)run(&server, cases[i].script, i == 1 ? "the input" : NULL, NULL, &text);
        CHECK_STR(str_text(&text), cases[i].want);
    }
}

static bool refuse(const struct proc *proc, void *arg)
{
    (void)proc;
    *(int *)arg += 1;
    return false;
}

static bool agree(const struct proc *proc, void *arg)
{
    (void)proc;
    *(int *)arg += 1;
    return true;
}

TEST(a_verb_that_is_cancelled_as_it_starts_is_killed)
{
    struct server server = {.root.path = (char *)(uintptr_t) "/root"};
    _cleanup_str_ struct str text = STR_INIT;
    int calls = 0;

    CHECK_STR(run(&server, "exec sleep 1000", NULL, &(struct verb_watch){refuse, &calls}, &text),
              "1 it was cancelled |  | ");
    CHECK_INT(calls, 1);
    CHECK_STR(run(&server, "echo x", NULL, &(struct verb_watch){agree, &calls}, &text),
              "0  |  | x\n");
    CHECK_INT(calls, 2);
}

TEST(words_of_the_command_line_become_words_of_the_api)
{
    static const struct {
        const char *text, *from, *to, *want;
    } cases[] = {
        {"use --a now", "--a", "the query a", "use the query a now"},
        {"--a and --a", "--a", "b", "b and --a"},
        {"nothing", "--a", "b", "nothing"},
        {"--a", "--a", "", ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;
        (void)err_set(&err, MAS_FAILED, "%s", cases[i].text);
        verb_reword(&err, cases[i].from, cases[i].to);
        CHECK_STR(err.text, cases[i].want);
    }
}

TEST(options_become_members_or_queries)
{
    static const struct param params[] = {{.name = "keep", .option = "--keep N"},
                                          {.name = "force", .option = "--force"},
                                          {.name = NULL}};
    static const struct operation posts = {.method = METHOD_POST, .params = params};
    static const struct operation gets = {.method = METHOD_GET, .params = params};
    static const struct {
        const char *text, *post, *get;
    } cases[] = {
        {"use --keep now", "use the member keep now", "use the query keep now"},
        {"cannot do this with --force", "cannot do this with the member force",
         "cannot do this with the query force"},
        {"cannot do this with --force now", "cannot do this with --force now",
         "cannot do this with --force now"},
        {"use --keeper x", "use --keeper x", "use --keeper x"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;
        (void)err_set(&err, MAS_FAILED, "%s", cases[i].text);
        verb_say_params(&posts, &err);
        CHECK_STR(err.text, cases[i].post);
        (void)err_set(&err, MAS_FAILED, "%s", cases[i].text);
        verb_say_params(&gets, &err);
        CHECK_STR(err.text, cases[i].get);
    }
}

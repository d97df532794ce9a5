/*
 * The options of mas-wall.
 */
#include "unit.h"

#include "enter/options.h"

#include <getopt.h>

/* What they mean, or the error. */
static const char *parse(const char *line, struct str *to)
{
    struct entry_options options = {.init = 0};
    _cleanup_strv_ char **argv = NULL;
    _cleanup_free_ char *words = mem_printf("mas-wall %s", line);
    struct err err = ERR_INIT;
    char *rest = NULL;

    for (char *word = strtok_r(words, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest))
        strv_push(&argv, word);
    str_clear(to);
    optind = 0; /* from the beginning */
    if (options_parse((int)strv_len(argv), argv, &options, &err) == -1) {
        CHECK_INT(err.code, MAS_USAGE);
        str_addf(to, "error: %.*s", (int)strcspn(err.text, ":"), err.text);
    } else {
        str_addf(to, "%s%s%s", options.probe ? "probe " : "", options.tty ? "tty " : "",
                 options.filter.nested ? "nested " : "");
        for (size_t i = 0; i < options.landlock.path_count; i++)
            str_addf(to, "%d%s ", (int)options.landlock.paths[i].access,
                     options.landlock.paths[i].path);
        str_addf(to, "net %d%s", (int)options.filter.network, options.landlock.tcp ? " tcp" : "");
        for (size_t i = 0; i < options.landlock.port_count; i++)
            str_addf(to, " %u", (unsigned)options.landlock.ports[i]);
        str_addf(to, " parts %u fds %d %d %d:", options.required, options.init, options.keep,
                 options.environment);
        for (char *const *word = options.program; *word != NULL; word++)
            str_addf(to, " %s", *word);
    }
    options_free(&options);
    return str_text(to);
}

TEST(options_say_what_the_wall_is)
{
    static const struct {
        const char *line, *want;
    } cases[] = {
        {"-- prog", "net 0 parts 0 fds 0 0 0: prog"},
        {"prog --read x", "net 0 parts 0 fds 0 0 0: prog --read x"},
        {"-- prog -- --tty", "net 0 parts 0 fds 0 0 0: prog -- --tty"},
        {"--read /a --write /b --device /c -- p", "0/a 1/b 2/c net 0 parts 0 fds 0 0 0: p"},
        {"--network open -- p", "net 0 parts 0 fds 0 0 0: p"},
        {"--network none -- p", "net 2 tcp parts 0 fds 0 0 0: p"},
        {"--network 80 --network 65535 -- p", "net 1 tcp 80 65535 parts 0 fds 0 0 0: p"},
        {"--network none --network 80 -- p", "error: --network none allows no port"},
        {"--network 80 --network none -- p", "error: --network none allows no port"},
        {"--network 0 -- p", "error: expected none, open or a port, not '0'"},
        {"--network 65536 -- p", "error: expected none, open or a port, not '65536'"},
        {"--network x -- p", "error: expected none, open or a port, not 'x'"},
        {"--network -- p", "error: expected none, open or a port, not '--'"},
        {"--nested -- p", "nested net 0 parts 0 fds 0 0 0: p"},
        {"--nested --read /a -- p", "error: no process can mount under rules for files"},
        {"--require files -- p", "error: no files are named, but --require files"},
        {"--require files --read /a -- p", "0/a net 0 parts 1 fds 0 0 0: p"},
        {"--require network,signals --require sockets,calls -- p", "net 0 parts 30 fds 0 0 0: p"},
        {"--require files,x --read /a -- p", "error: unknown part 'x'"},
        {"--tty --init 3 --keep 1023 --environment 4 -- p", "tty net 0 parts 0 fds 3 1023 4: p"},
        {"--init 2 -- p", "error: cannot use descriptor '2'"},
        {"--keep 1024 -- p", "error: cannot use descriptor '1024'"},
        {"--environment 3x -- p", "error: cannot use descriptor '3x'"},
        {"--init -1 -- p", "error: cannot use descriptor '-1'"},
        {"", "error: missing program"},
        {"--", "error: missing program"},
        {"--probe", "probe net 0 parts 0 fds 0 0 0:"},
        {"--probe x", "probe net 0 parts 0 fds 0 0 0: x"},
        {"--unknown -- p", "error: cannot use '--unknown'"},
        {"--read", "error: cannot use '--read'"},
        {"--init x --unknown p", "error: cannot use descriptor 'x'"},
    };
    _cleanup_str_ struct str text = STR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (!CHECK_STR(parse(cases[i].line, &text), cases[i].want))
            unit_print_str("of", cases[i].line);
}

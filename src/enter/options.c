/*
 * Each option is checked as it comes, and what they mean together at the end. Nothing is opened
 * here: paths and the program are borrowed from the command line, descriptors are only numbers. The
 * first argument that is no option begins the program, whose own options stay as they are.
 */

#include "enter/options.h"

#include "base/number.h"

#include <getopt.h>

enum { KEEP_MAX = 1023 };

#define USAGE "mas-wall [OPTION]... -- PROGRAM [ARGUMENT]...: this program is part of mas"

static int parse_parts(const char *text, unsigned *ret, struct err *err)
{
    static const struct {
        const char *name;
        unsigned part;
    } parts[] = {{"files", PART_FILES},
                 {"network", PART_NETWORK},
                 {"signals", PART_SIGNALS},
                 {"sockets", PART_SOCKETS},
                 {"calls", PART_CALLS}};
    _cleanup_strv_ char **words = str_split_list(text);

    for (char **word = words; word != NULL && *word != NULL; word++) {
        size_t i = 0;
        while (i < ARRAY_LEN(parts) && strcmp(parts[i].name, *word) != 0)
            i++;
        if (i == ARRAY_LEN(parts))
            return err_set(err, MAS_USAGE, "unknown part '%s'", *word);
        *ret |= parts[i].part;
    }
    return 0;
}

static void add_path(struct landlock *landlock, enum landlock_access access, const char *path)
{
    landlock->paths = mem_room(landlock->paths, landlock->path_count, sizeof *landlock->paths);
    landlock->paths[landlock->path_count++] =
        (struct landlock_path){.access = access, .path = path};
}

/* "none", "open" or a port. */
static int parse_network(const char *text, struct entry_options *options, struct err *err)
{
    struct landlock *landlock = &options->landlock;
    uint64_t port;

    if (strcmp(text, "open") == 0)
        return 0;
    landlock->tcp = true;
    if (strcmp(text, "none") == 0) {
        options->filter.network = FILTER_NONE;
        return 0;
    }
    if (!number_parse_count(text, UINT16_MAX, &port) || port == 0)
        return err_set(err, MAS_USAGE, "expected none, open or a port, not '%s'", text);
    landlock->ports = mem_room(landlock->ports, landlock->port_count, sizeof *landlock->ports);
    landlock->ports[landlock->port_count++] = (uint16_t)port;
    if (options->filter.network == FILTER_OPEN)
        options->filter.network = FILTER_TCP;
    return 0;
}

static int parse_fd(const char *text, int *ret, struct err *err)
{
    char *end;
    long fd = strtol(text, &end, 10);

    if (*end != '\0' || fd <= STDERR_FILENO || fd > KEEP_MAX)
        return err_set(err, MAS_USAGE, "cannot use descriptor '%s': expected 3 to %d", text,
                       KEEP_MAX);
    *ret = (int)fd;
    return 0;
}

static int check(const struct entry_options *options, struct err *err)
{
    if (options->filter.network == FILTER_NONE && options->landlock.port_count > 0)
        return err_set(err, MAS_USAGE, "--network none allows no port");
    if (options->filter.nested && options->landlock.path_count > 0)
        return err_set(err, MAS_USAGE, "no process can mount under rules for files: --nested");
    if ((options->required & PART_FILES) != 0 && options->landlock.path_count == 0)
        return err_set(err, MAS_USAGE, "no files are named, but --require files");
    if (options->program[0] == NULL && !options->probe)
        return err_set(err, MAS_USAGE, "missing program: " USAGE);
    return 0;
}

enum { READ = 256, WRITE, DEVICE, NETWORK, NESTED, REQUIRE, PROBE, TTY, KEEP, INIT, ENVIRONMENT };
static const struct option known[] = {
    {"read", required_argument, NULL, READ},
    {"write", required_argument, NULL, WRITE},
    {"device", required_argument, NULL, DEVICE},
    {"network", required_argument, NULL, NETWORK},
    {"nested", no_argument, NULL, NESTED},
    {"require", required_argument, NULL, REQUIRE},
    {"probe", no_argument, NULL, PROBE},
    {"tty", no_argument, NULL, TTY},
    {"keep", required_argument, NULL, KEEP},
    {"init", required_argument, NULL, INIT},
    {"environment", required_argument, NULL, ENVIRONMENT},
    {NULL, 0, NULL, 0},
};

/* Takes one of the known options. */
static int take(int option, const char *value, struct entry_options *ret, struct err *err)
{
    switch (option) {
    case NETWORK:
        return parse_network(value, ret, err);
    case NESTED:
        ret->filter.nested = true;
        return 0;
    case REQUIRE:
        return parse_parts(value, &ret->required, err);
    case PROBE:
        ret->probe = true;
        return 0;
    case TTY:
        ret->tty = true;
        return 0;
    case KEEP:
        return parse_fd(value, &ret->keep, err);
    case INIT:
        return parse_fd(value, &ret->init, err);
    case ENVIRONMENT:
        return parse_fd(value, &ret->environment, err);
    default:
        add_path(&ret->landlock, (enum landlock_access)(option - READ), value);
        return 0;
    }
}

int options_parse(int argc, char **argv, struct entry_options *ret, struct err *err)
{
    int option;
    int rc = 0;

    opterr = 0;
    while (rc == 0 && (option = getopt_long(argc, argv, "+", known, NULL)) != -1)
        rc = option >= READ ? take(option, optarg, ret, err)
                            : err_set(err, MAS_USAGE, "cannot use '%s': " USAGE, argv[optind - 1]);
    ret->program = argv + optind;
    return rc == 0 ? check(ret, err) : -1;
}

void options_free(struct entry_options *options)
{
    free(options->landlock.paths);
    free(options->landlock.ports);
}

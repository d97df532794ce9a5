/*
 * What mas.ini has of this name is compared twice: before anything is done, and again under the
 * lock of that file, just before the section is written. What the machine says of itself is shown
 * without anything that a terminal would obey, and becomes a line of mas.ini only if it passes the
 * check of whoever reads that file. A host that is there already gets no more than this version.
 */

#include "cli/remote/remote_add.h"

#include "base/number.h"
#include "cli/brokered.h"
#include "cli/consent.h"
#include "fleet/greeting.h"
#include "fleet/install.h"
#include "fleet/reach.h"
#include "session/helper.h"
#include "store/config_add.h"

#include <sys/utsname.h>

enum { ANSWER_MAX = 8 << 20, ANSWER_MS = 60000 }; /* of what the new mas is asked */

struct host_adding {
    const struct call *call;
    const struct remote_wish *wish;
    struct remote remote; /* as it is to be */
    const struct remote *old; /* what mas.ini has of this name; NULL: nothing */
};

/* ---- what is wanted */

/* What becomes a line of mas.ini, which a machine may have said. */
static bool is_line(const char *text)
{
    size_t len = strlen(text);

    return len > 0 && !str_has_control(text) && text[0] != ' ' && text[len - 1] != ' ';
}

/* Sets a key of the host as mas.ini would. */
static int set_key(struct host_adding *adding, const char *key, const char *value, struct err *err)
{
    const struct ini_line line = {.file = "", .section = "host", .key = key, .value = value};
    struct err why = ERR_INIT;

    if (is_line(value) && remote_read(&adding->remote, &line, &why) == 0)
        return 0;
    return err_set(
        err, MAS_USAGE, "cannot add host '%s': '%s' is not %s", adding->wish->name, value,
        strcmp(key, "via") == 0 ? "a destination of ssh, [USER@]MACHINE" : "an absolute path");
}

static int conflict(const struct host_adding *adding, const char *key, const char *value,
                    struct err *err)
{
    (void)err_set(err, MAS_CONFLICT, "cannot add host '%s': '%s' has it, with %s = %s",
                  adding->wish->name, adding->old->origin, key, value);
    return err_hint(err, "take another name, or change that section by hand");
}

/* Fails if mas.ini has another host of this name. */
static int compare_old(const struct host_adding *adding, struct err *err)
{
    const struct remote_wish *wish = adding->wish;
    const struct remote *old = adding->old;
    char buf[REMOTE_PLACE_MAX + 16];

    if (old == NULL)
        return 0;
    if (old->via != REMOTE_SSH || strcmp(old->place, adding->remote.place) != 0)
        return conflict(adding, "via", remote_value(old, 0, buf), err);
    if (wish->mas != NULL && strcmp(old->mas, wish->mas) != 0)
        return conflict(adding, "mas", old->mas, err);
    if (wish->root != NULL && strcmp(old->root, wish->root) != 0)
        return conflict(adding, "root", old->root, err);
    return 0;
}

static int open_wish(struct host_adding *adding, struct err *err)
{
    const struct remote_wish *wish = adding->wish;
    const struct call *call = adding->call;
    /* also as the column VIA shows it */
    bool is_via = str_starts(wish->place, "ssh:") && !str_starts(wish->place, "ssh://");
    _cleanup_free_ char *via = mem_printf("%s%s", is_via ? "" : "ssh:", wish->place);

    if (brokered_is_agent())
        return err_set(err, MAS_FAILED,
                       "cannot add a host: only a person may, and this is an agent");
    if (!remote_is_name(wish->name))
        return err_set(err, MAS_USAGE,
                       "cannot add host '%s': a name has 1 to %d of the characters A-Z a-z 0-9 _ -",
                       wish->name, REMOTE_NAME_MAX);
    if (str_starts(wish->place, "slurm:")) {
        (void)err_set(err, MAS_USAGE, "cannot add host '%s': '%s' is not reached by ssh",
                      wish->name, wish->place);
        return err_hint(err, "write the section of a partition by hand, see: man 7 mas-fleet");
    }
    if (!call->root.accepted) {
        (void)err_set(
            err, MAS_CONFLICT,
            "cannot add host '%s': mas reads no hosts of a root that you have not accepted",
            wish->name);
        return err_hint(err, "accept it with: mas init %s", call->root.path);
    }
    if (set_key(adding, "via", via, err) == -1 ||
        (wish->mas != NULL && set_key(adding, "mas", wish->mas, err) == -1) ||
        (wish->root != NULL && set_key(adding, "root", wish->root, err) == -1))
        return -1;
    adding->old = config_remote(&call->config, wish->name);
    if (compare_old(adding, err) == -1)
        return -1;
    if (adding->old != NULL && adding->old->root[0] != '\0')
        return set_key(adding, "root", adding->old->root, err);
    return 0;
}

/* ---- installing */

static void say(const struct host_adding *adding, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void say(const struct host_adding *adding, const char *fmt, ...)
{
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_str_ struct str safe = STR_INIT;
    va_list args;

    if (adding->call->quiet)
        return;
    va_start(args, fmt);
    str_vaddf(&text, fmt, args);
    va_end(args);
    str_add_visible(&safe, str_text(&text), text.len);
    printf("%s: %s\n", adding->wish->name, str_text(&safe));
    (void)fflush(stdout);
}

static bool has_version(const struct install_place *place)
{
    return place->version != NULL && strcmp(place->version, MAS_VERSION) == 0;
}

/* Says what is there, and what is missing. */
static void say_place(const struct host_adding *adding, const struct install_place *place)
{
    static const struct {
        const char *program, *what;
    } programs[] = {{"tmux", "mas runs no session without it"},
                    {"git", "sessions with a project need it"}};
    char size[NUMBER_SIZE_TEXT];

    number_format_size(place->free > 0 ? (uint64_t)place->free : 0, size);
    say(adding, "%s %s, %s free in %s", place->system, place->arch, place->free < 0 ? "?" : size,
        place->home);
    for (size_t i = 0; i < ARRAY_LEN(programs); i++)
        if (install_lacks(place, programs[i].program))
            say(adding, "%s is missing there: %s", programs[i].program, programs[i].what);
    if (place->version == NULL)
        say(adding, "mas is missing there");
    else if (has_version(place))
        say(adding, "mas %s is there, '%s'", place->version, place->mas);
    else
        say(adding, "mas %s is there, '%s'; here is %s", place->version, place->mas, MAS_VERSION);
}

/* Fails if mas may not be installed there: it has to be a certain one, or nobody says yes. */
static int check_install(const struct host_adding *adding, const struct install_place *place,
                         struct err *err)
{
    const struct remote_wish *wish = adding->wish;
    const char *fixed = wish->mas != NULL ? wish->mas : adding->old != NULL ? adding->old->mas : "";
    _cleanup_free_ char *own = mem_printf("%s/.local/bin/mas", place->home);
    struct err why = ERR_INIT;

    if (fixed[0] == '/' && strcmp(fixed, own) != 0) {
        if (place->version == NULL)
            (void)err_set(err, MAS_CONFLICT, "cannot add host '%s': '%s' there is no mas",
                          wish->name, fixed);
        else
            (void)err_set(err, MAS_CONFLICT,
                          "cannot add host '%s': '%s' there is mas %s, and here is %s", wish->name,
                          fixed, place->version, MAS_VERSION);
        return err_hint(err, "install mas %s there, or do without --mas", MAS_VERSION);
    }
    if (config_number(&adding->call->config, SETTING_WALL_LEVEL) != WALL_REQUIRE)
        return 0;
    _cleanup_free_ char *helper = helper_find(HELPER_WALL, &why);
    if (helper != NULL)
        return 0;
    (void)err_set(err, MAS_CONFLICT,
                  "cannot install mas on host '%s': this mas is built without walls, and [wall] "
                  "level is require",
                  wish->name);
    return err_hint(err, "build and install it with WITH_WALL=1");
}

static int ask_yes(const struct host_adding *adding, const struct install_pack *pack,
                   const struct install_place *place, struct err *err)
{
    _cleanup_str_ struct str home = STR_INIT;
    char size[NUMBER_SIZE_TEXT];
    char said = '\0';

    if (adding->wish->yes)
        return 0;
    if (consent_possible()) {
        number_format_size(pack->tar.len, size);
        str_add_visible(&home, place->home, strlen(place->home));
        (void)fprintf(stderr,
                      "May mas %s be installed there, in %s/.local (%s)?\n"
                      "Where you are root, its Debian package is another way:\n"
                      "  scp mas_*.deb %s: && ssh -t %s sudo apt-get install './mas_*.deb'\n"
                      "y or n; Enter: no [y/n] ",
                      MAS_VERSION, str_text(&home), size, adding->remote.place,
                      adding->remote.place);
        if (consent_read(&said, err) == -1)
            return -1;
        if (said == 'y')
            return 0;
    }
    (void)err_set(err, MAS_CONFLICT, "cannot add host '%s': mas %s is not there",
                  adding->wish->name, MAS_VERSION);
    return err_hint(err,
                    "install it there by hand, or have it done with: mas remote add --yes %s %s",
                    adding->wish->name, adding->remote.place);
}

/* Installs mas there. *ret is its path. */
static int install(const struct host_adding *adding, const struct install_place *place, char **ret,
                   struct err *err)
{
    _cleanup_install_pack_ struct install_pack pack = INSTALL_PACK_INIT;
    char size[NUMBER_SIZE_TEXT];

    if (check_install(adding, place, err) == -1 ||
        install_pack(&adding->remote, place, &pack, err) == -1)
        return -1;
    number_format_size(pack.tar.len, size);
    if (adding->wish->dry_run) {
        say(adding, "mas %s would be installed in %s/.local (%s)", MAS_VERSION, place->home, size);
        return 0;
    }
    if (ask_yes(adding, &pack, place, err) == -1)
        return -1;
    say(adding, "sending %s", size);
    return install_send(&adding->remote, &pack, ret, err);
}

/* ---- what it is then */

/* Has the mas there run these words. The caller releases *ret. */
static int ask_there(const struct host_adding *adding, const char *words, struct reach_ask *ret,
                     struct err *err)
{
    _cleanup_strv_ char **list = str_split_list(words);

    *ret = (struct reach_ask){.command = {.remote = &adding->remote, .words = list, .greet = true},
                              .output_max = ANSWER_MAX,
                              .timeout_ms = ANSWER_MS};
    reach_ask_all(ret, 1);
    ret->command.words = NULL;
    if (ret->err.code == MAS_OK)
        return 0;
    *err = ret->err;
    return -1;
}

/* Makes the root there, if it is missing. */
static int make_root(const struct host_adding *adding, struct err *err)
{
    struct reach_ask ask;
    int rc = ask_there(adding, "init --quiet", &ask, err);

    if (rc == 0 && ask.code != MAS_OK)
        rc = err_set(err, MAS_FAILED, "cannot make a root on host '%s': %s", adding->wish->name,
                     str_text(&ask.why));
    reach_ask_free(&ask);
    return rc;
}

/* Where walls are required, fails if there are none there. */
static int check_walls(const struct host_adding *adding, struct err *err)
{
    struct greeting greeting = {.walls = ""};
    struct reach_ask ask;
    size_t len = 0;

    if (config_number(&adding->call->config, SETTING_WALL_LEVEL) != WALL_REQUIRE)
        return 0;
    int rc = ask_there(adding, "doctor --json", &ask, err);
    if (rc == 0 && (!greeting_parse(str_text(&ask.out), ask.out.len, &greeting, &len) ||
                    strcmp(greeting.walls, GREETING_WALLS) != 0)) {
        (void)err_set(
            err, MAS_CONFLICT,
            "cannot add host '%s': it cannot hold agents, and [wall] level is require: %s",
            adding->wish->name, greeting.walls);
        rc = err_hint(err, "see what it lacks: ssh %s %s doctor", adding->remote.place,
                      adding->remote.mas);
    }
    reach_ask_free(&ask);
    return rc;
}

/* Looks for the host, while nobody else adds one. */
static int find_again(void *arg, struct err *err)
{
    struct host_adding *adding = arg;
    _cleanup_config_ struct config config = CONFIG_INIT;

    if (config_load(&adding->call->root, false, &config, NULL, err) == -1)
        return -1;
    adding->old = config_remote(&config, adding->wish->name);
    int rc = compare_old(adding, err) == -1 ? -1 : adding->old != NULL;
    adding->old = NULL;
    return rc;
}

static int write_section(struct host_adding *adding, struct err *err)
{
    const struct remote *remote = &adding->remote;
    _cleanup_str_ struct str lines = STR_INIT;

    str_addf(&lines, "[host %s]\nvia = ssh:%s\nmas = %s\n", remote->name, remote->place,
             remote->mas);
    if (remote->root[0] != '\0')
        str_addf(&lines, "root = %s\n", remote->root);
    return config_add(&adding->call->root, str_text(&lines), find_again, adding, err);
}

static int add(struct host_adding *adding, struct err *err)
{
    const struct remote_wish *wish = adding->wish;
    const char *known = wish->mas != NULL                                   ? wish->mas
                        : adding->old != NULL && adding->old->mas[0] == '/' ? adding->old->mas
                                                                            : NULL;
    _cleanup_install_place_ struct install_place place = INSTALL_PLACE_INIT;
    _cleanup_free_ char *path = NULL;
    _cleanup_str_ struct str done = STR_INIT;

    if (reach_meet(&adding->remote, consent_possible(), err) == -1 ||
        install_look(&adding->remote, known, &place, err) == -1)
        return -1;
    say_place(adding, &place);
    if (!has_version(&place) && install(adding, &place, &path, err) == -1)
        return -1;
    if (wish->dry_run)
        return 0;
    if (set_key(adding, "mas", path != NULL ? path : place.mas, err) == -1 ||
        make_root(adding, err) == -1 || check_walls(adding, err) == -1)
        return -1;
    bool is_new = adding->old == NULL;
    if (is_new && write_section(adding, err) == -1)
        return -1;
    err_add_commands(&done, "%s; see what it has: mas remote check %s",
                     is_new         ? "is a host now"
                     : path != NULL ? "has mas " MAS_VERSION " now"
                                    : "is a host already",
                     wish->name);
    say(adding, "%s", done.data);
    return 0;
}

int remote_add(const struct call *call, const struct remote_wish *wish, struct err *err)
{
    struct host_adding adding = {.call = call, .wish = wish};

    remote_make(&adding.remote, wish->name, "");
    int rc = open_wish(&adding, err);
    if (rc == 0)
        rc = add(&adding, err);
    remote_free(&adding.remote);
    return rc;
}

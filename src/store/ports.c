/*
 * A host first looks without the lock, and finds its ports at every start but the first. Then it
 * locks, reads again, and takes them for the whole team, so that one write serves all its hosts.
 * Ports are free if nobody has them on record and each can be bound now. ports_spare() records
 * nothing.
 */

#include "store/ports.h"

#include "base/id.h"
#include "os/file.h"
#include "os/sock.h"
#include "store/user_state.h"
#include "store/workspace.h"

#define PORTS_FILE "ports"
#define PORTS_LOCK ".ports.lock"

enum {
    FIRST = 20000, /* where programs of users seldom are; below the kernel's own on most machines */
    LOWEST = 1030, /* the first ten that no privilege guards */
    END = 65530,
    SPREAD = 1000, /* users of a machine begin at different ports, so that they meet less often */
    FILE_BYTES_MAX = 1 << 22,
    LOCK_MS = 5000,
};

struct port_line {
    int port;
    char id[ID_TEXT];
    char *agent, *root;
};

struct record {
    struct port_line *lines;
    size_t count;
    bool changed;
};

static void line_free(struct port_line *line)
{
    free(line->agent);
    free(line->root);
}

static void record_free(struct record *record)
{
    for (size_t i = 0; i < record->count; i++)
        line_free(&record->lines[i]);
    free(record->lines);
}
#define _cleanup_record_ __attribute__((cleanup(record_free)))

static void add(struct record *record, int port, const char *id, const char *agent,
                const char *root)
{
    record->lines = mem_room(record->lines, record->count, sizeof *record->lines);
    struct port_line *line = &record->lines[record->count++];
    *line = (struct port_line){.port = port, .agent = mem_dup(agent), .root = mem_dup(root)};
    memcpy(line->id, id, ID_TEXT);
}

static bool is_taken(const struct record *record, int port)
{
    for (size_t i = 0; i < record->count; i++)
        if (record->lines[i].port == port)
            return true;
    return false;
}

/* Adds what a line says; "PORT ID AGENT ROOT". */
static void parse_line(char *text, struct record *record)
{
    const char *words[3];

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        words[i] = strsep(&text, " ");
        if (text == NULL)
            return;
    }
    long port = strtol(words[0], NULL, 10);
    if (port >= LOWEST && port < END && port % PORTS_EACH == 0 && id_is_valid(words[1]) &&
        str_is_word(words[2], TEAM_WORD_MAX) && text[0] == '/' && !str_has_control(text) &&
        !is_taken(record, (int)port))
        add(record, (int)port, words[1], words[2], text);
}

/* Reads what is recorded: nothing, if there is no file, or none that can be read. */
static void read_record(int dir, struct record *ret)
{
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    size_t len = 0;

    if (file_read(dir, PORTS_FILE, FILE_BYTES_MAX, &text, &len, &ignored) == -1)
        return;
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;)
        parse_line(line, ret);
}

static int write_record(int dir, const struct record *record, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;

    for (size_t i = 0; i < record->count; i++) {
        const struct port_line *line = &record->lines[i];
        str_addf(&text, "%d %s %s %s\n", line->port, line->id, line->agent, line->root);
    }
    return file_replace(dir, PORTS_FILE, str_text(&text), text.len, 0600, err);
}

static struct port_line *find(const struct record *record, const struct root *root, const char *id,
                              const char *agent)
{
    for (size_t i = 0; i < record->count; i++) {
        struct port_line *line = &record->lines[i];
        if (strcmp(line->id, id) == 0 && strcmp(line->agent, agent) == 0 &&
            strcmp(line->root, root->path) == 0)
            return line;
    }
    return NULL;
}

/* Removes the lines for which `goes` is true. */
static void leave_out(struct record *record,
                      bool (*goes)(const struct port_line *line, const void *arg), const void *arg)
{
    size_t kept = 0;

    for (size_t i = 0; i < record->count; i++) {
        if (!goes(&record->lines[i], arg)) {
            record->lines[kept++] = record->lines[i];
            continue;
        }
        line_free(&record->lines[i]);
        record->changed = true;
    }
    record->count = kept;
}

/* Returns true for a session that its root does not have; `arg` not NULL: also for one whose root
 * is not there. */
static bool is_gone(const struct port_line *line, const void *arg)
{
    _cleanup_free_ char *session = mem_printf("%s/%s/%s", line->root, ROOT_SESSIONS, line->id);
    _cleanup_free_ char *sessions = mem_printf("%s/" ROOT_SESSIONS, line->root);

    if (access(session, F_OK) == 0 || errno != ENOENT)
        return false;
    return arg != NULL || access(sessions, F_OK) == 0;
}

/* ---- choosing */

static bool all_free(int port)
{
    for (int i = 0; i < PORTS_EACH; i++)
        if (!sock_port_is_free(port + i))
            return false;
    return true;
}

/* Returns the first of ten ports that nobody has, `first` on, or 0. */
static int choose(const struct record *record, int first)
{
    int low = 0;
    int high = 0;

    sock_kernel_ports(&low, &high);
    for (int i = 0; i < END - LOWEST; i += PORTS_EACH) {
        int port = first + i < END ? first + i : LOWEST + (first + i - END);
        if ((port + PORTS_EACH <= low || port > high) && !is_taken(record, port) && all_free(port))
            return port;
    }
    return 0;
}

static int take_for(struct record *record, const struct root *root, const char *id,
                    const char *agent, struct err *err)
{
    int first = FIRST + (int)(geteuid() % 10) * SPREAD;

    if (find(record, root, id, agent) != NULL)
        return 0;
    int port = choose(record, first);
    if (port == 0) {
        leave_out(record, is_gone, "");
        port = choose(record, first);
    }
    if (port == 0)
        return err_set(err, MAS_FAILED, "no ten ports are free outside of the kernel's range");
    add(record, port, id, agent, root->path);
    record->changed = true;
    return 0;
}

/* ---- */

int *ports_find(const struct root *root, const char *id, const struct team *team)
{
    _cleanup_record_ struct record record = {.count = 0};
    _cleanup_free_ char *path = NULL;
    struct err ignored = ERR_INIT;
    int *ports = mem_alloc((team->agent_count + 1) * sizeof *ports);
    _cleanup_close_ int dir = user_state_open(false, &path, &ignored);

    if (dir != -1)
        read_record(dir, &record);
    for (size_t i = 0; i < team->agent_count; i++) {
        const struct port_line *line = find(&record, root, id, team->agents[i].id);
        ports[i] = line != NULL ? line->port : 0;
    }
    return ports;
}

int ports_take(const struct root *root, const char *id, const struct team *team,
               const struct agent *agent, int *ret, struct err *err)
{
    _cleanup_free_ int *known = ports_find(root, id, team);
    _cleanup_record_ struct record record = {.count = 0};
    _cleanup_free_ char *path = NULL;
    _cleanup_close_ int lock = -1;

    *ret = known[agent - team->agents];
    if (*ret != 0)
        return 0;
    _cleanup_close_ int dir = user_state_open(true, &path, err);
    if (dir == -1 || file_lock(dir, PORTS_LOCK, LOCK_MS, "host", &lock, err) == -1)
        return err_wrap(err, "cannot take ports for agent '%s'", agent->id);
    read_record(dir, &record);
    leave_out(&record, is_gone, NULL);
    for (size_t i = 0; i < team->agent_count; i++)
        if (take_for(&record, root, id, team->agents[i].id, err) == -1)
            return err_wrap(err, "cannot take ports for agent '%s'", agent->id);
    if (record.changed && write_record(dir, &record, err) == -1)
        return err_wrap(err, "cannot take ports for agent '%s'", agent->id);
    *ret = find(&record, root, id, agent->id)->port;
    return 0;
}

int ports_spare(int from)
{
    _cleanup_record_ struct record record = {.count = 0};
    _cleanup_free_ char *path = NULL;
    struct err ignored = ERR_INIT;
    _cleanup_close_ int dir = user_state_open(false, &path, &ignored);

    if (dir != -1)
        read_record(dir, &record);
    return choose(&record, from);
}

struct dropped {
    const char *root, *id, *agent;
};

static bool is_dropped(const struct port_line *line, const void *arg)
{
    const struct dropped *dropped = arg;

    return strcmp(line->id, dropped->id) == 0 && strcmp(line->root, dropped->root) == 0 &&
           (dropped->agent == NULL || strcmp(line->agent, dropped->agent) == 0);
}

void ports_drop(const struct root *root, const char *id, const char *agent)
{
    const struct dropped dropped = {.root = root->path, .id = id, .agent = agent};
    _cleanup_record_ struct record record = {.count = 0};
    _cleanup_free_ char *path = NULL;
    _cleanup_close_ int lock = -1;
    struct err ignored = ERR_INIT;
    _cleanup_close_ int dir = user_state_open(false, &path, &ignored);

    if (dir == -1 || file_lock(dir, PORTS_LOCK, LOCK_MS, "rm", &lock, &ignored) == -1)
        return;
    read_record(dir, &record);
    leave_out(&record, is_dropped, &dropped);
    if (record.changed)
        (void)write_record(dir, &record, &ignored);
}

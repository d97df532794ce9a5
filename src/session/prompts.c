/*
 * The reader goes down the document by tables: each member of an object has a function, and the
 * path of the current node grows and shrinks with it, for errors. A text member of an agent is a
 * row in fields[]: where it goes and what it must be. Each agent may be there once, with the rank
 * that it has in the template.
 */

#include "session/prompts.h"

#include "model/message.h"
#include "model/target.h"
#include "os/file.h"
#include "store/team_file.h"
#include "store/workspace.h"

enum { UNIT_ID_MAX = 1000000 };

struct prompts_reader {
    const char *name; /* name of the file */
    struct str path; /* path of the current node */
    const struct config *config;
    struct team *team;
    bool seen[TEAM_AGENTS_MAX]; /* by index in team->agents */
    struct err *err;
};

/* Fails with a message about the current node. */
static int fail(const struct prompts_reader *reader, int code, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
static int fail(const struct prompts_reader *reader, int code, const char *fmt, ...)
{
    char why[512];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    return err_set(reader->err, code, "cannot use '%s': %s%s%s", reader->name,
                   str_text(&reader->path), reader->path.len > 0 ? ": " : "", why);
}

/* Enters a member or an element; leave() with the returned value goes back. */
static size_t enter(struct prompts_reader *reader, const char *key)
{
    size_t was = reader->path.len;
    str_addf(&reader->path, "%s%s", was > 0 ? "." : "", key);
    return was;
}

static size_t enter_element(struct prompts_reader *reader, size_t i)
{
    size_t was = reader->path.len;
    str_addf(&reader->path, "[%zu]", i);
    return was;
}

static void leave(struct prompts_reader *reader, size_t was)
{
    reader->path.len = was;
    reader->path.data[was] = '\0';
}

/* Reads the node that the path names. */
typedef int read_fn(struct prompts_reader *reader, const struct json *node);

struct prompts_member {
    const char *key;
    read_fn *read;
};

/* Reads an object with these members, each of which is optional. */
static int read_object(struct prompts_reader *reader, const struct json *node,
                       const struct prompts_member *members, size_t count)
{
    if (!json_is_object(node))
        return fail(reader, MAS_FAILED, "it is not an object");
    for (const struct json *n = json_first(node); n != NULL; n = json_next(n)) {
        size_t i = 0;
        size_t was = enter(reader, json_key(n));
        while (i < count && strcmp(members[i].key, json_key(n)) != 0)
            i++;
        if (i == count)
            return fail(reader, MAS_FAILED, "unknown member");
        if (members[i].read(reader, n) == -1)
            return -1;
        leave(reader, was);
    }
    return 0;
}

static int read_list(struct prompts_reader *reader, const struct json *node, read_fn *read_element)
{
    size_t i = 0;

    if (!json_is_array(node))
        return fail(reader, MAS_FAILED, "it is not a list");
    for (const struct json *n = json_first(node); n != NULL; n = json_next(n)) {
        size_t was = enter_element(reader, i++);
        if (read_element(reader, n) == -1)
            return -1;
        leave(reader, was);
    }
    return 0;
}

/* Checks a text. Returns NULL, or what is wrong with it, worded to follow "it". */
typedef const char *check_fn(const struct config *config, const char *text);

static const char *check_message(const struct config *config, const char *text)
{
    (void)config;
    return message_check(text, strlen(text));
}

static const char *check_prompt(const struct config *config, const char *text)
{
    bool blank = text[0] != '\0' && message_is_blank(text, strlen(text));

    return blank ? "has nothing but blanks" : check_message(config, text);
}

static const char *check_system(const struct config *config, const char *text)
{
    return strlen(text) > TEAM_SYSTEM_MAX ? "is longer than 64 KiB" : check_message(config, text);
}

static const char *check_model(const struct config *config, const char *text)
{
    (void)config;
    if (strlen(text) > TEAM_MODEL_MAX)
        return "is longer than 256 bytes";
    return str_has_control(text) ? "contains a control character" : NULL;
}

static const char *check_command(const struct config *config, const char *text)
{
    struct err ignored = ERR_INIT;
    _cleanup_strv_ char **words = NULL;
    if (strlen(text) > TEAM_COMMAND_MAX)
        return "is longer than 8 KiB";
    if (str_split_words(text, &words, &ignored) == -1)
        return "has an unterminated quote or backslash";
    return check_message(config, text);
}

static const char *check_preset(const struct config *config, const char *text)
{
    return text[0] == '\0' || config_preset(config, text) != NULL ? NULL
                                                                  : "names an unknown preset";
}

/* A text member of an agent, and where it goes in struct agent. */
static const struct field {
    const char *key;
    size_t member;
    check_fn *check;
} fields[] = {
    {"prompt", offsetof(struct agent, prompt), check_prompt},
    {"system", offsetof(struct agent, system), check_system},
    {"model", offsetof(struct agent, model), check_model},
    {"preset", offsetof(struct agent, preset), check_preset},
    {"command", offsetof(struct agent, command), check_command},
};

static void set_text(char **to, const char *text)
{
    free(*to);
    *to = mem_dup(text);
}

/* Returns the agent that an object describes; NULL on failure. */
static struct agent *find_agent(struct prompts_reader *reader, const struct json *node,
                                enum rank rank)
{
    size_t was = enter(reader, "id");
    const struct json *member = json_get(node, "id");
    const char *id = json_text(member);

    if (id == NULL) {
        (void)fail(reader, MAS_FAILED, member == NULL ? "it is missing" : "it is not a string");
        return NULL;
    }
    const struct agent *agent = team_agent(reader->team, id);
    if (agent == NULL) {
        (void)fail(reader, MAS_NOT_FOUND, "the template has no agent '%s'", id);
        (void)target_hint(reader->team, id, false, reader->err);
        return NULL;
    }
    size_t place = (size_t)(agent - reader->team->agents);
    if (agent->rank != rank || reader->seen[place]) {
        if (reader->seen[place])
            (void)fail(reader, MAS_FAILED, "duplicate agent '%s'", id);
        else
            (void)fail(reader, MAS_FAILED, "agent '%s' has the rank %s in the template", id,
                       rank_name(agent->rank));
        return NULL;
    }
    reader->seen[place] = true;
    leave(reader, was);
    return &reader->team->agents[place];
}

static int read_field(struct prompts_reader *reader, const struct json *node, struct agent *agent)
{
    const char *text = json_text(node);
    size_t i = 0;

    while (i < ARRAY_LEN(fields) && strcmp(fields[i].key, json_key(node)) != 0)
        i++;
    if (i == ARRAY_LEN(fields))
        return fail(reader, MAS_FAILED, "unknown member");
    if (text == NULL)
        return fail(reader, MAS_FAILED, "it is not a string");
    const char *wrong = fields[i].check(reader->config, text);
    if (wrong != NULL)
        return fail(reader, fields[i].check == check_preset ? MAS_NOT_FOUND : MAS_FAILED, "it %s",
                    wrong);
    set_text((char **)(void *)((char *)agent + fields[i].member), text);
    return 0;
}

static int read_agent(struct prompts_reader *reader, const struct json *node, enum rank rank)
{
    if (!json_is_object(node))
        return fail(reader, MAS_FAILED, "it is not an object");
    struct agent *agent = find_agent(reader, node, rank);
    if (agent == NULL)
        return -1;
    if (json_get(node, "preset") != NULL) /* the template's command belongs to another preset */
        set_text(&agent->command, "");
    for (const struct json *n = json_first(node); n != NULL; n = json_next(n)) {
        if (strcmp(json_key(n), "id") == 0)
            continue;
        size_t was = enter(reader, json_key(n));
        if (read_field(reader, n, agent) == -1)
            return -1;
        leave(reader, was);
    }
    return 0;
}

static int read_meta(struct prompts_reader *reader, const struct json *node)
{
    return read_agent(reader, node, RANK_META);
}

static int read_manager(struct prompts_reader *reader, const struct json *node)
{
    return read_agent(reader, node, RANK_MANAGER);
}

static int read_worker(struct prompts_reader *reader, const struct json *node)
{
    return read_agent(reader, node, RANK_WORKER);
}

static int read_workers(struct prompts_reader *reader, const struct json *node)
{
    return read_list(reader, node, read_worker);
}

/* Only informs the reader of the file; mas does not use it. */
static int read_unit_id(struct prompts_reader *reader, const struct json *node)
{
    int64_t id = json_int(node, -1);
    return id >= 0 && id <= UNIT_ID_MAX
               ? 0
               : fail(reader, MAS_FAILED, "it is not the number of a unit");
}

static int read_unit(struct prompts_reader *reader, const struct json *node)
{
    static const struct prompts_member members[] = {
        {"unitId", read_unit_id}, {"manager", read_manager}, {"workers", read_workers}};
    return read_object(reader, node, members, ARRAY_LEN(members));
}

static int read_units(struct prompts_reader *reader, const struct json *node)
{
    return read_list(reader, node, read_unit);
}

static int read_agents(struct prompts_reader *reader, const struct json *node)
{
    static const struct prompts_member members[] = {{"metaManager", read_meta},
                                                    {"units", read_units}};
    return read_object(reader, node, members, ARRAY_LEN(members));
}

int prompts_from_json(const struct json *json, const char *name, const struct config *config,
                      struct team *team, struct err *err)
{
    static const struct prompts_member members[] = {{"agents", read_agents}};
    struct prompts_reader reader = {
        .name = name, .path = STR_INIT, .config = config, .team = team, .err = err};
    int rc = read_object(&reader, json, members, ARRAY_LEN(members));
    str_free(&reader.path);
    return rc;
}

int prompts_read(const char *path, struct json **ret, struct err *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    const char *name = is_stdin ? "standard input" : path;
    _cleanup_free_ char *text = NULL;
    size_t len = 0;
    _cleanup_close_ int fd =
        is_stdin ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);

    if (fd == -1)
        return err_errno(err, "cannot read '%s'", name);
    if (file_read_stream(fd, name, CONFIG_FILE_MAX, &text, &len, err) == -1)
        return -1;
    if (json_parse(text, len, CONFIG_FILE_MAX, ret, err) == 0)
        return 0;
    err->code = MAS_FAILED;
    return err_wrap(err, "cannot use '%s'", name);
}

int prompts_from_words(char *const *words, struct team *team, struct err *err)
{
    bool seen[TEAM_AGENTS_MAX] = {false};

    for (; words != NULL && *words != NULL; words++) {
        const char *equals = strchr(*words, '=');
        if (equals == NULL || equals == *words)
            return err_set(err, MAS_USAGE, "cannot use prompt '%s': it is not AGENT=TEXT", *words);
        _cleanup_free_ char *id = mem_dupn(*words, (size_t)(equals - *words));
        const struct agent *agent = team_agent(team, id);
        if (agent == NULL) {
            (void)err_set(err, MAS_NOT_FOUND,
                          "cannot use a prompt for agent '%s': the template has no such agent", id);
            return target_hint(team, id, false, err);
        }
        size_t place = (size_t)(agent - team->agents);
        const char *wrong = seen[place] ? "the agent has a prompt already"
                            : message_is_blank(equals + 1, strlen(equals + 1)) ? "it is empty"
                                                                               : NULL;
        if (wrong != NULL)
            return err_set(err, MAS_USAGE, "cannot use a prompt for agent '%s': %s", id, wrong);
        wrong = message_check(equals + 1, strlen(equals + 1));
        if (wrong != NULL)
            return err_set(err, MAS_USAGE, "cannot use a prompt for agent '%s': it %s", id, wrong);
        seen[place] = true;
        set_text(&team->agents[place].prompt, equals + 1);
    }
    return 0;
}

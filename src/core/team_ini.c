/* template.ini: the part of core/team.h that reads it. The format is in mas-template(5). */
#include "base/ini.h"
#include "base/str.h"
#include "core/layout.h"
#include "core/team_build.h"

#include <stdlib.h>
#include <string.h>

/* Windows may name agents that come later in the file, so places are kept until its end. */
struct reader {
    struct team team;
    struct place {
        size_t window;
        char *id;
        int line;
    } * places;
    size_t place_count;
    const char *file;
};

static void reader_free(struct reader *reader)
{
    for (size_t i = 0; i < reader->place_count; i++)
        free(reader->places[i].id);
    free(reader->places);
    team_free(&reader->team);
}

static int set_text(char **to, const struct ini_line *line, struct err *err)
{
    if (!str_is_utf8(line->value, strlen(line->value)))
        return ini_fail(line, err, "it is not UTF-8");
    free(*to);
    *to = mem_dup(line->value);
    return 0;
}

/* A name that may be left empty. */
static int set_word(char **to, const struct ini_line *line, struct err *err)
{
    if (line->value[0] != '\0' && !str_is_word(line->value, TEAM_WORD_MAX))
        return ini_fail(line, err, "'%s' is not 1 to 32 letters, digits, _ or -", line->value);
    return set_text(to, line, err);
}

static int read_window(struct reader *reader, const struct ini_line *line, struct err *err)
{
    const char *name = line->section + strlen("window ");
    struct team *team = &reader->team;

    if (line->key == NULL) {
        for (size_t i = 0; i < team->window_count; i++)
            if (strcmp(team->windows[i].name, name) == 0)
                return ini_fail(line, err, "there is such a window already");
        if (!str_is_word(name, TEAM_WORD_MAX))
            return ini_fail(line, err, "a window's name is 1 to 32 letters, digits, _ or -");
        if (team_add_window(team, name) == NULL)
            return ini_fail(line, err, "more than %d windows", TEAM_WINDOWS_MAX);
        return 0;
    }
    struct window *window = &team->windows[team->window_count - 1];
    if (strcmp(line->key, "layout") == 0) {
        const char *wrong = layout_check(line->value);
        return wrong != NULL ? ini_fail(line, err, "%s", wrong)
                             : set_text(&window->layout, line, err);
    }
    if (strcmp(line->key, "agents") != 0)
        return ini_fail(line, err, "there is no such key in a window");
    _cleanup_strv_ char **ids = str_split_list(line->value);
    for (char **id = ids; id != NULL && *id != NULL; id++) {
        reader->places = mem_grow(reader->places, reader->place_count + 1, sizeof *reader->places);
        reader->places[reader->place_count++] = (struct place){
            .window = team->window_count - 1, .id = mem_dup(*id), .line = line->line};
    }
    return 0;
}

static int read_agent(struct reader *reader, const struct ini_line *line, struct err *err)
{
    const char *id = line->section + strlen("agent ");
    struct team *team = &reader->team;

    if (line->key == NULL) {
        if (!str_is_word(id, TEAM_WORD_MAX))
            return ini_fail(line, err, "an agent's id is 1 to 32 letters, digits, _ or -");
        if (team_agent(team, id) != NULL)
            return ini_fail(line, err, "there is such an agent already");
        if (team_add_agent(team, id) == NULL)
            return ini_fail(line, err, "more than %d agents", TEAM_AGENTS_MAX);
        return 0;
    }
    struct agent *agent = &team->agents[team->agent_count - 1];
    if (strcmp(line->key, "role") == 0) {
        const char *wrong = team_check_role(line->value);
        return wrong != NULL ? ini_fail(line, err, "%s", wrong) : set_text(&agent->role, line, err);
    }
    if (strcmp(line->key, "rank") == 0)
        return team_rank_parse(line->value, &agent->rank) == 0
                   ? 0
                   : ini_fail(line, err, "a rank is meta, manager or worker");
    if (strcmp(line->key, "group") == 0 && line->value[0] != '\0')
        return set_word(&agent->group, line, err);
    if (strcmp(line->key, "preset") == 0)
        return set_word(&agent->preset, line, err);
    if (strcmp(line->key, "model") == 0)
        return strlen(line->value) <= TEAM_MODEL_MAX
                   ? set_text(&agent->model, line, err)
                   : ini_fail(line, err, "it is longer than 256 bytes");
    if (strcmp(line->key, "command") == 0)
        return set_text(&agent->command, line, err);
    if (strcmp(line->key, "system") == 0)
        return set_text(&agent->system, line, err);
    if (strcmp(line->key, "start") == 0)
        return start_parse(line->value, &agent->start)
                   ? 0
                   : ini_fail(line, err, "'%s' is not now or demand", line->value);
    return ini_fail(line, err, "there is no such key in an agent, or it is empty");
}

static int read_line(const struct ini_line *line, void *arg, struct err *err)
{
    struct reader *reader = arg;

    if (str_starts(line->section, "window "))
        return read_window(reader, line, err);
    if (str_starts(line->section, "agent "))
        return read_agent(reader, line, err);
    if (strcmp(line->section, "rules") == 0) {
        enum rank rank;
        if (line->key == NULL)
            return 0;
        if (team_rank_parse(line->key, &rank) == -1)
            return ini_fail(line, err, "a rule is for meta, manager or worker");
        return team_reach_parse(line->value, &reader->team.rules[rank]) == 0
                   ? 0
                   : ini_fail(line, err,
                              "a rule lists manager, unit, workers, managers, meta or all");
    }
    if (strcmp(line->section, "template") == 0) {
        if (line->key == NULL)
            return 0;
        if (strcmp(line->key, "description") == 0)
            return set_text(&reader->team.description, line, err);
        if (strcmp(line->key, "preset") == 0)
            return set_word(&reader->team.preset, line, err);
        return ini_fail(line, err, "there is no such key");
    }
    return ini_fail(line, err, "there is no such section");
}

static int read_all(struct reader *reader, int fd, struct err *err)
{
    if (ini_read(fd, reader->file, read_line, reader, err) == -1)
        return -1;
    for (size_t i = 0; i < reader->place_count; i++) {
        const struct place *place = &reader->places[i];
        const char *wrong = team_place(&reader->team, place->window, place->id);
        if (wrong != NULL)
            return err_set(err, MAS_DAMAGED, "%s:%d: agent %s %s", reader->file, place->line,
                           place->id, wrong);
    }
    if (team_finish(&reader->team, err) == -1)
        return err_wrap(err, "%s", reader->file);
    return 0;
}

int team_read_ini(int fd, const char *file, struct team *ret, struct err *err)
{
    struct reader reader = {.file = file};
    int rc = read_all(&reader, fd, err);
    if (rc == 0) {
        *ret = reader.team;
        reader.team = (struct team)TEAM_INIT;
    }
    reader_free(&reader);
    return rc;
}

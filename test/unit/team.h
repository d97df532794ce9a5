/*
 * What the tests of teams share: a team as text, from template.ini or config.json.
 */
#pragma once

#include "unit.h"

#include "model/team/team.h"

#include <sys/mman.h>

/* A descriptor to read the text from, at its beginning. */
UNIT_MAYBE static int open_text(const char *text)
{
    int fd = memfd_create("template.ini", MFD_CLOEXEC);

    CHECK(fd != -1 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    CHECK_INT(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

/* A team as lines: agents, then windows, then rules. */
UNIT_MAYBE static const char *show(const struct team *team, struct str *to)
{
    str_addf(to, "'%s' preset '%s'\n", team->description, team->preset);
    for (size_t i = 0; i < team->agent_count; i++) {
        const struct agent *a = &team->agents[i];
        str_addf(to,
                 "%s %s %s '%s' preset '%s' model '%s' command '%s' system '%s' prompt '%s' %s\n",
                 a->id, rank_name(a->rank), a->group, a->role, a->preset, a->model, a->command,
                 a->system, a->prompt, start_words[a->start]);
    }
    for (size_t i = 0; i < team->window_count; i++) {
        const struct window *w = &team->windows[i];
        str_addf(to, "[%s] %s:", w->name, w->layout);
        for (size_t j = 0; j < w->count; j++)
            str_addf(to, " %s", team->agents[w->agents[j]].id);
        str_addc(to, '\n');
    }
    for (size_t i = 0; i < RANK_COUNT; i++) {
        str_addf(to, "%s:", rank_name((enum rank)i));
        team_add_reach(to, team->rules[i]);
        str_addc(to, ';');
    }
    return str_text(to);
}

/* The team, or "error: <text>". */
UNIT_MAYBE static const char *read_ini(const char *text, struct str *to)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_close_ int fd = open_text(text);
    struct err err = ERR_INIT;

    str_clear(to);
    if (team_read_ini(fd, "t.ini", &team, &err) == 0)
        return show(&team, to);
    CHECK_INT(err.code, MAS_DAMAGED);
    CHECK(team.agents == NULL);
    str_addf(to, "error: %s", err.text);
    return str_text(to);
}

UNIT_MAYBE static const char *read_json(const char *text, struct str *to)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_json_ struct json *json = NULL;
    struct err err = ERR_INIT;

    str_clear(to);
    if (!CHECK(json_parse(text, strlen(text), 16 << 20, &json, &err) == 0))
        str_addf(to, "no JSON: %s", err.text);
    else if (team_from_json(json, &team, &err) == 0)
        (void)show(&team, to);
    else
        str_addf(to, "error: %s", err.text);
    return str_text(to);
}

/*
 * What programs on a terminal tell. Lines of their transcripts that mas does not know are passed
 * over, so that a later version of a program does no harm, but then mas may miss something: the
 * hosts count them, and here they are one line for each preset. So are agents that ask whether
 * their directory is to be trusted.
 */
#include "client/roster.h"
#include "session/doctor/doctor_internal.h"

struct passed_over {
    const char *preset; /* belongs to the roster */
    int64_t lines; /* 0: they ask */
    size_t agents;
};

static void add_team(struct roster *roster, const struct root *root, const struct view *view)
{
    struct roster_team team;
    struct err ignored = ERR_INIT;

    if (view->live != NULL && !view->row.missing && !view->unknown &&
        roster_open(root, view->row.id, &team, &ignored) == 0)
        (void)roster_add(roster, &team, NULL, &ignored);
}

static void count_lines(const char *preset, int64_t lines, struct passed_over *list, size_t *count)
{
    size_t i = 0;

    while (i < *count &&
           (strcmp(list[i].preset, preset) != 0 || (list[i].lines > 0) != (lines > 0)))
        i++;
    if (i == *count)
        list[(*count)++] = (struct passed_over){.preset = preset};
    list[i].lines += lines;
    list[i].agents++;
}

void doctor_check_told(struct doctor *doctor, const struct survey *survey)
{
    _cleanup_roster_ struct roster roster = ROSTER_INIT;
    size_t count = 0;

    for (size_t i = 0; i < survey->count; i++)
        add_team(&roster, doctor->root, &survey->views[i]);
    _cleanup_free_ struct passed_over *list = mem_alloc((2 * roster.count + 1) * sizeof *list);
    roster_ask(&roster, "{\"do\":\"status\"}", NULL, 0);
    roster_finish(&roster, HOSTS_ANSWER_MS);
    for (size_t i = 0; i < roster.count; i++) {
        const struct roster_agent *agent = &roster.agents[i];
        const char *preset =
            config_agent_preset_name(doctor->config, &roster.teams[agent->team].team, agent->agent);
        if (agent->told && agent->status.passed_over > 0)
            count_lines(preset, agent->status.passed_over, list, &count);
        if (agent->told && agent->status.state == AGENT_WAITING && agent->status.note != NULL &&
            str_starts(agent->status.note, TRUST_ASKED))
            count_lines(preset, 0, list, &count);
    }
    for (size_t i = 0; i < count; i++)
        if (list[i].lines == 0)
            doctor_add(doctor, FINDING_NOTE, list[i].preset,
                       "%zu agent%s asked whether %s to be trusted: " TRUST_ADVICE, list[i].agents,
                       list[i].agents == 1 ? " has" : "s have",
                       list[i].agents == 1 ? "its directory is" : "their directories are");
        else
            doctor_add(doctor, FINDING_NOTE, list[i].preset,
                       "mas does not know %" PRId64 " lines of the transcripts of %zu agent%s, and "
                       "passed them over; its program may be newer than its preset",
                       list[i].lines, list[i].agents, list[i].agents == 1 ? "" : "s");
}

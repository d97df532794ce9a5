/*
 * The team as it is now: agents join and leave while their fellows run (session/grow.h). What a
 * host is itself does not change, so only who writes to it is looked up here.
 */
#include "host/state.h"

#include "store/team_file.h"
#include "store/workspace.h"

struct newer_team {
    struct newer_team *before; /* none goes while the host lives: clients name agents of them */
    struct team team;
    struct stat of; /* its file */
};

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

void host_team_note(struct host *host)
{
    host->newer = mem_alloc(sizeof *host->newer);
    *host->newer = (struct newer_team){.team = TEAM_INIT};
    (void)fstatat(host->dir, WORKSPACE_CONFIG, &host->newer->of, AT_SYMLINK_NOFOLLOW);
}

const struct team *host_team(const struct host *host)
{
    struct newer_team *newest = host->newer;
    struct err ignored = ERR_INIT;
    struct stat st;

    if (newest == NULL || fstatat(host->dir, WORKSPACE_CONFIG, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return &host->team;
    if (!is_same(&st, &newest->of)) {
        struct newer_team was = *newest;
        struct team team = TEAM_INIT;
        newest->of = st; /* one that cannot be read is not read again */
        if (team_file_load(host->dir, &team, &ignored) == 0) {
            struct newer_team *before = mem_alloc(sizeof *before);
            *before = was;
            newest->before = before;
            newest->team = team;
        }
    }
    return newest->team.agent_count > 0 ? &newest->team : &host->team;
}

const struct agent *host_member(const struct host *host, const char *id)
{
    return strcmp(id, host->agent->id) == 0 ? host->agent : team_agent(host_team(host), id);
}

void host_team_free(struct host *host)
{
    for (struct newer_team *at = host->newer, *before; at != NULL; at = before) {
        before = at->before;
        team_free(&at->team);
        free(at);
    }
    host->newer = NULL;
}

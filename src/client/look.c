#include "client/look.h"

#include "client/roster.h"

#include <string.h>

/* Asks the hosts of all agents (NULL), or of one. */
static void ask(const struct root *root, const char *id, const char *agent, const char *head,
                const char *body)
{
    _cleanup_roster_ struct roster roster = ROSTER_INIT;
    struct roster_team team;
    struct err ignored = ERR_INIT;

    if (roster_open(root, id, &team, &ignored) == -1 ||
        roster_add(&roster, &team, agent, &ignored) == -1)
        return;
    roster_ask(&roster, head, body, body != NULL ? strlen(body) : 0);
    roster_finish(&roster, HOSTS_ANSWER_MS);
}

void look_again(const struct root *root, const char *id)
{
    ask(root, id, NULL, "{\"do\":\"look\"}", NULL);
}

void look_conflict(const struct root *root, const char *id, const char *agent, const char *files)
{
    ask(root, id, agent, "{\"do\":\"conflict\"}", files);
}

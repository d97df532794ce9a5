#include "client/look.h"

#include "client/roster.h"

void look_again(const struct root *root, const char *id)
{
    _cleanup_roster_ struct roster roster = ROSTER_INIT;
    struct roster_team team;
    struct err ignored = ERR_INIT;

    if (roster_open(root, id, &team, &ignored) == -1 ||
        roster_add(&roster, &team, NULL, &ignored) == -1)
        return;
    roster_ask(&roster, "{\"do\":\"look\"}", NULL, 0);
    roster_finish(&roster, HOSTS_ANSWER_MS);
}

#include "cmd.h"
#include "session/life.h"

#include <stdio.h>
#include <string.h>

static int run_set(struct call *call, struct err *err)
{
    static const char key[] = "private=";
    const struct life life = {.root = &call->root, .config = &call->config};
    const char *word = call->operands[1];
    const char *value = str_starts(word, key) ? word + strlen(key) : "";
    bool yes = strcmp(value, "yes") == 0;
    char id[ID_TEXT];

    if (!yes && strcmp(value, "no") != 0) {
        (void)err_set(err, MAS_USAGE, "cannot set '%s': it is not private=yes or private=no", word);
        return call_usage(call, err);
    }
    if (call_select(call, call->operands[0], id, err) == -1 ||
        life_set_private(&life, id, yes, err) == -1)
        return -1;
    if (!call->quiet)
        printf("%s is %s\n", call->operands[0], yes ? "private" : "not private");
    return 0;
}

const struct cmd cmd_set = {
    .name = "set",
    .group = GROUP_SESSIONS,
    .operands = " SESSION private=yes|no",
    .summary = "change whether a session is private",
    .examples = "mas set shop private=yes\n"
                "mas set -q shop private=no",
    .details = "A search finds messages of a private session only if it names the session, "
               "and the agents of a private session do not see what was said elsewhere.",
    .operands_min = 2,
    .operands_max = 2,
    .offer = OFFER_SESSION,
    .flags = CMD_ROOT | CMD_QUIET,
    .run = run_set,
};

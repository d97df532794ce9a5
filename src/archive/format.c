#include "archive/format.h"

#include "code/repo.h"
#include "store/every.h"
#include "store/limits/session_limits.h"
#include "store/team_file.h"
#include "store/workspace.h"

#define NO_LIMIT UINT64_MAX

const struct part parts[PARTS_COUNT] = {
    {.name = WORKSPACE_SESSION, .required = true, .mode = 0600, .max = KV_FILE_MAX},
    {.name = WORKSPACE_CONFIG, .required = true, .mode = 0600, .max = CONFIG_FILE_MAX},
    {.name = WORKSPACE_LIMITS, .mode = 0600, .max = LIMITS_FILE_MAX},
    {.name = EVERY_FILE, .mode = 0600, .max = EVERY_FILE_MAX},
    {.name = WORKSPACE_MEMORY, .mode = 0600, .max = NO_LIMIT},
    {.name = WORKSPACE_MEMORY "-wal", .mode = 0600, .max = NO_LIMIT},
    {.name = WORKSPACE_PICTURES, .dir = true, .mode = 0700},
    {.name = WORKSPACE_LOGS, .dir = true, .mode = 0700},
    {.name = WORKSPACE_UNIT, .dir = true, .required = true, .deep = true, .agents = true},
    {.name = WORKSPACE_HOME, .dir = true, .deep = true},
    {.name = CODE_GIT, .dir = true, .deep = true},
    {.name = CODE_DIR, .dir = true, .deep = true},
    {.name = WORKSPACE_WORKFLOWS, .dir = true, .deep = true, .agents = true},
};

const struct part *part_find(const char *name, size_t len)
{
    for (size_t i = 0; i < PARTS_COUNT; i++)
        if (strlen(parts[i].name) == len && memcmp(parts[i].name, name, len) == 0)
            return &parts[i];
    return NULL;
}

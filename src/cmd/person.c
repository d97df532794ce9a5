#include "cmd/person.h"

#include "base/proc.h"
#include "base/str.h"
#include "host/supervisor.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum who { WHO_UNKNOWN, WHO_PERSON, WHO_AGENT };

/* Asks the nearest supervisor above this process, as a host does for its clients. */
static enum who look_above(void)
{
    struct proc_id self;
    _cleanup_free_ struct proc_above *line = NULL;
    size_t count = 0;

    if (!proc_identify(getpid(), &self) || proc_lineage(&self, &line, &count) == -1)
        return WHO_UNKNOWN;
    for (size_t i = 1; i < count; i++) {
        if (strcmp(line[i].name, SUPERVISOR_NAME_OPERATOR) == 0)
            return WHO_PERSON;
        if (strcmp(line[i].name, SUPERVISOR_NAME) == 0 ||
            strcmp(line[i].name, SUPERVISOR_NAME_BEFORE) == 0)
            return WHO_AGENT;
    }
    return WHO_UNKNOWN;
}

int person_check(const char *what, struct err *err)
{
    const char *agent = getenv("MAS_AGENT_ID");
    bool named = agent != NULL && agent[0] != '\0';
    enum who who = look_above();

    if (who == WHO_PERSON || (who == WHO_UNKNOWN && !named))
        return 0;
    (void)err_set(err, MAS_FAILED, "cannot %s: only a person may %s, and this is %s%s%s", what,
                  what, named ? "agent '" : "an agent", named ? agent : "", named ? "'" : "");
    return err_hint(err, "say that the work is ready for it");
}

#include "cli/person.h"

#include "host/supervisor.h"
#include "os/proc.h"

enum who { WHO_UNKNOWN, WHO_PERSON, WHO_AGENT };

/* Asks the nearest supervisor above this process, as a host does for its clients. `entry`: only one
 * that has this in its environment; NULL: any. */
static enum who look_above(const char *entry)
{
    struct proc_id self;
    _cleanup_free_ struct proc_above *line = NULL;
    size_t count = 0;

    if (!proc_identify(getpid(), &self) || proc_lineage(&self, &line, &count) == -1)
        return WHO_UNKNOWN;
    for (size_t i = 1; i < count; i++) {
        bool is_agent = strcmp(line[i].name, SUPERVISOR_NAME) == 0;
        bool is_person = strcmp(line[i].name, SUPERVISOR_NAME_OPERATOR) == 0;
        if ((is_agent || is_person) && (entry == NULL || proc_has_entry(line[i].pid, entry)))
            return is_agent ? WHO_AGENT : WHO_PERSON;
    }
    return WHO_UNKNOWN;
}

static int fail(const char *what, const char *agent, struct err *err)
{
    bool named = agent != NULL && agent[0] != '\0';

    return err_set(err, MAS_FAILED, "cannot %s: only a person may %s, and this is %s%s%s", what,
                   what, named ? "agent '" : "an agent", named ? agent : "", named ? "'" : "");
}

int person_check(const char *what, struct err *err)
{
    const char *agent = getenv("MAS_AGENT_ID");
    bool named = agent != NULL && agent[0] != '\0';
    enum who who = look_above(NULL);

    if (who == WHO_PERSON || (who == WHO_UNKNOWN && !named))
        return 0;
    (void)fail(what, agent, err);
    return err_hint(err, "say that the work is ready for it");
}

int person_check_root(const char *root, const char *what, struct err *err)
{
    _cleanup_free_ char *entry = root != NULL ? mem_printf("MAS_ROOT=%s", root) : NULL;

    if (look_above(entry) != WHO_AGENT)
        return 0;
    (void)fail(what, getenv("MAS_AGENT_ID"), err);
    return err_hint(err, "ask a person to do it");
}

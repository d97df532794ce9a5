/* The part of the doctor that looks for what killed hosts have left outside of the root: cgroups,
 * and pages of leases in shared memory. */
#include "session/doctor_internal.h"
#include "store/lease_clock.h"
#include "wall/cgroup.h"

static bool is_live(const struct survey *survey, const char *id)
{
    bool live = false;

    for (size_t i = 0; i < survey->count && !live; i++)
        live = survey->views[i].live != NULL && strcmp(survey->views[i].row.id, id) == 0;
    return live;
}

static void check_groups(struct doctor *doctor, const struct survey *survey)
{
    const char *setting = config_text(doctor->config, SETTING_LIMIT_CGROUP);
    _cleanup_strv_ char **ids = cgroup_left(setting);

    for (char **id = ids; id != NULL && *id != NULL; id++) {
        if (is_live(survey, *id))
            continue;
        _cleanup_strv_ char **left = NULL;
        struct err why = ERR_INIT;
        int rc = 0;
        if (doctor->fix) {
            cgroup_forget(setting, *id);
            left = cgroup_left(setting);
        }
        for (char **still = left; still != NULL && *still != NULL; still++)
            if (strcmp(*still, *id) == 0)
                rc = err_set(&why, MAS_FAILED, "the kernel does not remove it");
        doctor_mend(doctor, *id, "it does not run, but its cgroup is left", rc, &why);
    }
}

static void check_pages(struct doctor *doctor)
{
    _cleanup_strv_ char **tokens = lease_clock_left(doctor->root->sessions);

    for (char **token = tokens; token != NULL && *token != NULL; token++) {
        _cleanup_free_ char *subject = mem_printf("/dev/shm/mas-lease-%s", *token);
        struct err why = ERR_INIT;
        if (doctor->fix)
            lease_clock_remove(*token);
        doctor_mend(doctor, subject, "the lease is over, but its page is left", 0, &why);
    }
}

void doctor_check_remains(struct doctor *doctor, const struct survey *survey)
{
    check_groups(doctor, survey);
    check_pages(doctor);
}

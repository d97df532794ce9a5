/* The part of session/doctor/doctor.h that checks prompts at set times. */

#include "os/path.h"
#include "session/doctor/doctor_internal.h"
#include "session/errand/tick.h"
#include "session/errand/timer.h"
#include "store/workspace.h"

enum { SILENT_S = 5 * 60 };

/* *ret_since: since when, in ms, the timer has to fire, as there is an entry. */
static void check_files(struct doctor *doctor, char *const *ids, int64_t *ret_since)
{
    *ret_since = INT64_MAX;
    for (; *ids != NULL; ids++) {
        _cleanup_every_ struct every every = EVERY_INIT;
        _cleanup_close_ int dir = workspace_open(doctor->root, *ids);
        struct err why = ERR_INIT;
        if (dir != -1 && every_read(dir, &every, &why) == -1)
            doctor_add(doctor, FINDING_HAND, *ids, "%s; %s", why.text, why.hint);
        for (size_t i = 0; i < every.count; i++) {
            const struct every_entry *it = &every.at[i];
            int64_t since = it->ran_ms > it->made_ms ? it->ran_ms : it->made_ms;
            if (every_needs_tick(it) && since < *ret_since)
                *ret_since = since;
        }
    }
}

static void check_fires(struct doctor *doctor, enum timer timer, int64_t since_ms)
{
    time_t last = tick_last(doctor->root), since = (time_t)(since_ms / 1000);
    time_t silent = time(NULL) - (last > since ? last : since);

    if (timer == TIMER_SYSTEMD && !timer_lingers())
        doctor_add(doctor, FINDING_NOTE, "every",
                   "prompts at set times stop when you log out; so that they go on: "
                   "loginctl enable-linger");
    if (silent > SILENT_S)
        doctor_add(doctor, FINDING_HAND, "every",
                   "the timer of prompts at set times (%s) has not fired for %lld minutes",
                   timer_name(timer), (long long)silent / 60);
}

void doctor_check_every(struct doctor *doctor)
{
    _cleanup_strv_ char **ids = NULL;
    _cleanup_free_ char *exe = path_exe();
    enum timer timer = TIMER_NONE;
    struct err why = ERR_INIT;
    int64_t since = 0;
    bool needed = false;

    if (every_sessions(doctor->root, &ids, &why) == -1 || ids == NULL || exe == NULL)
        return;
    check_files(doctor, ids, &since);
    if (timer_is_needed(doctor->root, &needed, &why) == -1 || !needed)
        return;
    timer = timer_look(doctor->root, exe);
    if (timer != TIMER_NONE) {
        check_fires(doctor, timer, since);
        return;
    }
    int rc = doctor->fix ? timer_settle(doctor->root, exe, &timer, &why) : 0;
    doctor_mend(doctor, "every", "no timer runs the prompts at set times", rc, &why);
}

/*
 * What runs `mas tick` every minute for a root that has entries (store/every.h): a timer of the
 * user's systemd, or a line in the user's crontab where systemd does not serve the user.
 *
 *     ~/.config/systemd/user/mas-tick-<sum of the root's path>.service, .timer
 *     * * * * * test -f '<root>/mas.ini' && exec '<mas>' --root '<root>' tick # mas-tick-<sum>
 *
 * Both do nothing once the root is not there any more. They are written and removed under
 * timers.lock in ${XDG_STATE_HOME:-~/.local/state}/mas, as a crontab is read and replaced as a
 * whole. A kill leaves a timer that does not run yet, which timer_settle() mends.
 */
#pragma once

#include "store/root.h"

enum timer { TIMER_NONE, TIMER_SYSTEMD, TIMER_CRONTAB };

/* Returns "none", "systemd" or "crontab". */
const char *timer_name(enum timer timer);
/* Fails with MAS_FAILED if a timer cannot name the root: its path has quotes or a backslash. */
int timer_check(const struct root *root, const char *exe, struct err *err);
/* Returns what runs the entries of the root. */
enum timer timer_look(const struct root *root, const char *exe);
/* *ret: the root has entries that are neither over nor paused, or that cannot be read. */
int timer_is_needed(const struct root *root, bool *ret, struct err *err);
/* Sees to it that there is a timer if one is needed, and else none. `exe` is mas. Fails with
 * MAS_FAILED if there is neither a systemd of the user nor a crontab. */
int timer_settle(const struct root *root, const char *exe, enum timer *ret, struct err *err);
/* Returns true if the user's systemd goes on after the last logout. */
bool timer_lingers(void);

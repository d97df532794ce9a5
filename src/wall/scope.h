/*
 * A scope of systemd: the way to a cgroup of one's own where nobody has delegated one.
 *
 * A process cannot make cgroups beside those of systemd. But systemd makes a scope around it when
 * it is asked (StartTransientUnit), and leaves all that is below it to the user (Delegate=yes).
 * A user's manager ends everything in its scopes when the user logs out, unless the user lingers:
 * so mas asks it only if that changes nothing. The scope ends with the last process in it.
 */
#pragma once

/* Returns those of the limits (bits of enum cgroup_limit) that certainly no group can hold for an
 * agent that starts now, and in *ret_why, without "cannot", why: none is there for mas, and no
 * systemd runs that could be asked for one, or it lacks controllers. */
unsigned scope_foresee(const char *setting, unsigned limits, struct err *ret_why);

/* Returns true if the user's programs go on after the last logout. */
bool scope_user_lingers(void);

/* Moves this process into a new scope, and there into a group of its own, so that it can make
 * others next to it. Starts one busctl(1), on `path` (as PATH). `unit` is the name of the scope,
 * `words` describe it. Fails without "cannot" if there is no systemd for this, or it refuses. */
int scope_make(const char *unit, const char *words, const char *path, int *ret_parent,
               struct err *err);

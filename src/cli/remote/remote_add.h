/*
 * `mas remote add`: makes another machine a host of mas.ini.
 *
 *     1. the host key: a person accepts one that is not known, on the terminal (reach_meet())
 *     2. what is there and what is missing (install_look())
 *     3. after a yes: mas of this version there, unless it is there already (fleet/install.h)
 *     4. a root there, by `mas init`
 *     5. the section [host NAME] in the mas.ini of the root here, in one piece (store/config_add.h)
 *
 * Killed before 5 nothing is here; what is there then is whole or never used, and the next time
 * goes on with it. So a host of mas.ini is one that has answered.
 */
#pragma once

#include "cmd.h"

struct remote_wish {
    const char *name, *place; /* the host; the destination of ssh */
    const char *mas, *root; /* paths there; NULL: mas finds them */
    bool yes; /* nobody is asked */
    bool dry_run; /* ends after 2 */
};

int remote_add(const struct call *call, const struct remote_wish *wish, struct err *err);

/*
 * Templates: named trees templates/<name>/ with template.ini, unit/ and workflows/.
 */
#ifndef MAS_CORE_TEMPLATE_H
#define MAS_CORE_TEMPLATE_H

#include "base/err.h"
#include "core/root.h"
#include "core/team.h"

struct template
{
    char *name;
    int fd; /* its directory */
    struct team team;
};

#define TEMPLATE_INIT                                                                              \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* Opens a template and checks that it makes a team: every agent has its directory. MAS_NOT_FOUND
 * where there is none of that name (the hint lists those there are), MAS_FAILED where it is bad. */
int template_open(const struct root *root, const char *name, struct template *ret, struct err *err);
/* The names of the templates there are, in no order; released with strv_free(), may be NULL. */
char **template_list(const struct root *root);
void template_free(struct template *tmpl);
#define _cleanup_template_ __attribute__((cleanup(template_free)))

#endif

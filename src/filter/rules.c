#include "filter/rules.h"

#include <errno.h>

void rules_begin(struct rules *rules, uint32_t otherwise)
{
    *rules = (struct rules){.context = seccomp_init(otherwise)};
    if (rules->context == NULL) {
        rules->error = -ENOMEM;
        return;
    }
    /* x32 and i386 have numbers of their own for all calls, which no rule here would match. */
    rules->error = seccomp_attr_set(rules->context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
}

void rules_add(struct rules *rules, uint32_t action, const char *call,
               const struct scmp_arg_cmp *conditions, unsigned count)
{
    if (rules->error != 0)
        return;
    int number = seccomp_syscall_resolve_name(call);
    if (number < 0) /* unknown, or of other architectures only */
        return;
    rules->error = seccomp_rule_add_array(rules->context, action, number, count, conditions);
    rules->name = call;
}

void rules_add_one(struct rules *rules, uint32_t action, const char *call,
                   struct scmp_arg_cmp condition)
{
    rules_add(rules, action, call, &condition, 1);
}

void rules_add_all(struct rules *rules, uint32_t action, const char *const *calls, size_t count)
{
    for (size_t i = 0; i < count; i++)
        rules_add(rules, action, calls[i], NULL, 0);
}

int rules_load(struct rules *rules, struct err *err)
{
    int rc = 0;

    if (rules->error != 0) {
        errno = -rules->error;
        rc = err_errno(err, "cannot make the filter of system calls%s%s",
                       rules->name != NULL ? " at " : "", rules->name != NULL ? rules->name : "");
    } else if ((rules->error = seccomp_load(rules->context)) != 0) {
        errno = -rules->error;
        rc = err_errno(err, "cannot load the filter of system calls");
    }
    seccomp_release(rules->context);
    rules->context = NULL;
    return rc;
}

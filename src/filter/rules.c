#include "filter/rules.h"

#include <linux/filter.h>
#include <sys/syscall.h>

enum {
    SINCE_PIDFD_OPEN = 434, /* from 424 on, a call has one number on all machines, */
    NUMBERS_FROM = SYS_pidfd_open - SINCE_PIDFD_OPEN, /* and some count from here */
    NUMBERS_TO = 0xf0000, /* from there on ARM has calls of its own */
};

/* Calls that Debian 12's libseccomp does not know. A rule for one of them must not get lost. */
static const struct {
    const char *name;
    int number;
} young[] = {{"mseal", 462}, {"open_tree_attr", 467}, {"file_setattr", 469}};

/* Returns the number of the call, or a negative one if this architecture does not have it. */
static int resolve(const char *call)
{
    int number = seccomp_syscall_resolve_name(call);

    for (size_t i = 0; number == __NR_SCMP_ERROR && i < ARRAY_LEN(young); i++)
        if (strcmp(young[i].name, call) == 0)
            number = NUMBERS_FROM + young[i].number;
    return number;
}

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
    int number = resolve(call);
    if (number < 0)
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

void rules_know(struct rules *rules, unsigned last)
{
    rules->known = last;
}

/* libseccomp has no rule for a range of calls. So this is a second filter. It need not look at the
 * architecture: what the first one kills is killed, whatever this one says. */
static int load_range(unsigned last)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, NUMBERS_FROM + last, 0, 2),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, NUMBERS_TO, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = ARRAY_LEN(steps), .filter = steps};

    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
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
    } else if (rules->known != 0 && load_range(rules->known) == -1) {
        rc = err_errno(err, "cannot load the filter of system calls");
    }
    seccomp_release(rules->context);
    rules->context = NULL;
    return rc;
}

/*
 * Runs a program on a kernel that lacks something: a filter answers ENOSYS in the place of the
 * calls.
 *
 *   deny landlock|seccomp|namespaces... -- COMMAND...
 *
 * All that the command starts has the filter, too, also a tmux server.
 */
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif

enum { LENGTH_MAX = 64 };

static struct sock_filter filter[LENGTH_MAX];
static unsigned short length;

static void add(struct sock_filter instruction)
{
    filter[length++] = instruction;
}

static void load(size_t offset)
{
    add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset));
}

static void answer(int code)
{
    add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
                                     SECCOMP_RET_ERRNO | ((unsigned)code & SECCOMP_RET_DATA)));
}

static void deny(long nr, int code)
{
    load(offsetof(struct seccomp_data, nr));
    add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, 1));
    answer(code);
}

/* A call whose first argument is this, or has one of these bits. */
static void deny_with(long nr, unsigned short compare, unsigned value, int code)
{
    load(offsetof(struct seccomp_data, nr));
    add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, 3));
    load(offsetof(struct seccomp_data, args));
    add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_K | compare, value, 0, 1));
    answer(code);
}

static int add_denial(const char *what)
{
    if (strcmp(what, "landlock") == 0) {
        deny(SYS_landlock_create_ruleset, ENOSYS);
    } else if (strcmp(what, "seccomp") == 0) {
        deny(SYS_seccomp, ENOSYS);
        deny_with(SYS_prctl, BPF_JEQ, PR_SET_SECCOMP, EINVAL);
    } else if (strcmp(what, "namespaces") == 0) {
        deny_with(SYS_unshare, BPF_JSET, CLONE_NEWUSER | CLONE_NEWNS, EPERM);
        deny_with(SYS_clone, BPF_JSET, CLONE_NEWUSER | CLONE_NEWNS, EPERM);
        deny(SYS_clone3, ENOSYS);
    } else {
        return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    int at = 1;

    for (; at < argc && strcmp(argv[at], "--") != 0; at++)
        if (add_denial(argv[at]) == -1)
            break;
    if (at + 1 >= argc || strcmp(argv[at], "--") != 0) {
        (void)fputs("usage: deny landlock|seccomp|namespaces... -- COMMAND...\n", stderr);
        return 2;
    }
    add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    struct sock_fprog program = {.len = length, .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == -1) {
        perror("deny");
        return 77;
    }
    (void)execvp(argv[at + 1], argv + at + 1);
    perror(argv[at + 1]);
    return 127;
}

/*
 * What the GNU C library has and others, such as musl, have not: base.h includes this. What is only
 * a knob of GNU's allocator does nothing elsewhere.
 */
#pragma once

#ifndef __GLIBC__
#ifndef STATX_TYPE /* they came late */
#include <linux/stat.h>
#endif

#define ALLPERMS 07777
#define W_EXITCODE(code, number) ((code) << 8 | (number))
#define dirent64 dirent
#define getdents64 getdents
#define mallopt(what, value) 0
#define malloc_trim(keep) 0
#define strerrordesc_np strerror

static inline const char *sigabbrev_np(int number)
{
    static const char *const names[NSIG] = {
        [SIGHUP] = "HUP",   [SIGINT] = "INT",   [SIGQUIT] = "QUIT", [SIGILL] = "ILL",
        [SIGTRAP] = "TRAP", [SIGABRT] = "ABRT", [SIGBUS] = "BUS",   [SIGFPE] = "FPE",
        [SIGKILL] = "KILL", [SIGUSR1] = "USR1", [SIGSEGV] = "SEGV", [SIGUSR2] = "USR2",
        [SIGPIPE] = "PIPE", [SIGALRM] = "ALRM", [SIGTERM] = "TERM", [SIGXCPU] = "XCPU",
        [SIGXFSZ] = "XFSZ", [SIGSYS] = "SYS"};

    return number > 0 && number < NSIG ? names[number] : NULL;
}
#endif

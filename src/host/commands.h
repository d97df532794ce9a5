/*
 * Commands of mas that a host runs for its agent (host/broker.c) without a program of their own,
 * which takes longer to start than they to run. They stand above the hosts, so `mas host` brings
 * them along.
 */
#ifndef MAS_HOST_COMMANDS_H
#define MAS_HOST_COMMANDS_H

#include <stdbool.h>

struct host_commands {
    bool (*has)(const char *verb);
    int (*run)(char *const *argv); /* argv[1] is the verb; returns the exit code */
};

#endif

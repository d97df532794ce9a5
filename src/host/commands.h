/*
 * Commands of mas that a host runs for its agent (host/broker.c) without a program of their own,
 * which takes longer to start than they to run. They stand above the hosts, so `mas host` brings
 * them along.
 */
#pragma once

struct host_commands {
    bool (*has)(const char *verb);
    int (*run)(char *const *argv); /* argv[1] is the verb; returns the exit code */
};

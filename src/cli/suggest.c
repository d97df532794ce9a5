#include "cli/suggest.h"

#include "base/suggest.h"
#include "cmd.h"

#include <strings.h>

/* Words that other programs use for these commands. */
static const struct {
    const char *typed;
    const char *meant;
} others[] = {
    {"create", "new"},       {"make", "new"},         {"run", "new"},
    {"up", "new"},           {"spawn", "new"},        {"launch", "new"},
    {"add", "new"},          {"ps", "list"},          {"sessions", "list"},
    {"agents", "status"},    {"top", "status"},       {"open", "attach"},
    {"join", "attach"},      {"connect", "attach"},   {"a", "attach"},
    {"kill", "stop"},        {"end", "stop"},         {"quit", "stop"},
    {"exit", "stop"},        {"down", "stop"},        {"halt", "stop"},
    {"resume", "start"},     {"continue", "start"},   {"recover", "start --crashed"},
    {"delete", "rm"},        {"del", "rm"},           {"remove", "rm"},
    {"destroy", "rm"},       {"prune", "clean"},      {"gc", "clean"},
    {"tell", "send"},        {"type", "send"},        {"message", "send"},
    {"exec", "send"},        {"chat", "ask"},         {"prompt", "ask"},
    {"say", "ask"},          {"reset", "clear"},      {"abort", "cancel"},
    {"interrupt", "cancel"}, {"allow", "approve"},    {"yes", "approve"},
    {"no", "deny"},          {"reject", "deny"},      {"screen", "peek"},
    {"capture", "peek"},     {"cat", "logs"},         {"tail", "logs"},
    {"find", "search"},      {"grep", "search"},      {"backup", "archive"},
    {"save", "archive"},     {"export", "archive"},   {"import", "restore"},
    {"check", "doctor"},     {"fix", "doctor --fix"}, {"repair", "doctor --fix"},
    {"settings", "config"},  {"disk", "du"},          {"api", "serve"},
    {"setup", "init"},
};

const char *suggest_command(const char *typed)
{
    struct suggest suggest = SUGGEST_INIT(typed);

    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (strcasecmp(others[i].typed, typed) == 0)
            return others[i].meant;
    for (size_t i = 0; cmd_table[i] != NULL; i++)
        if (cmd_table[i]->group != GROUP_HIDDEN)
            suggest_try(&suggest, cmd_table[i]->name);
    return suggest.nearest;
}

#include "cmd/guess.h"

#include "base/str.h"
#include "cmd.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { WORD_MAX = 24, PREFIX_MIN = 3 };

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* How many letters are added, left out, changed or swapped with the next between two words of at
 * most WORD_MAX bytes. */
static unsigned distance(const char *a, const char *b)
{
    unsigned rows[3][WORD_MAX + 1];
    unsigned *before = rows[0], *above = rows[1], *row = rows[2];
    size_t a_len = strlen(a), b_len = strlen(b);

    for (size_t j = 0; j <= b_len; j++)
        above[j] = (unsigned)j;
    memset(rows[0], 0, sizeof rows[0]);
    for (size_t i = 1; i <= a_len; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_len; j++) {
            int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);
            row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
                y == tolower((unsigned char)a[i - 2]))
                row[j] = least(row[j], before[j - 2] + 1);
        }
        unsigned *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[b_len];
}

/* How far off a word of that length may be: in a short one every letter counts. */
static unsigned allowed(size_t len)
{
    return len < 3 ? 0 : len < 6 ? 1 : 2;
}

void guess_try(struct guess *guess, const char *word)
{
    size_t len = strlen(guess->typed);

    if (len > WORD_MAX || strlen(word) > WORD_MAX)
        return;
    unsigned far = len >= PREFIX_MIN && strncasecmp(word, guess->typed, len) == 0
                       ? 0
                       : distance(guess->typed, word);
    if (far <= allowed(len) && (guess->nearest == NULL || far < guess->distance)) {
        guess->nearest = word;
        guess->distance = far;
    }
}

/* What other programs call it. */
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

const char *guess_command(const char *typed)
{
    struct guess guess = GUESS_INIT(typed);

    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (strcasecmp(others[i].typed, typed) == 0)
            return others[i].meant;
    for (size_t i = 0; cmd_table[i] != NULL; i++)
        if ((cmd_table[i]->flags & CMD_HIDDEN) == 0)
            guess_try(&guess, cmd_table[i]->name);
    return guess.nearest;
}

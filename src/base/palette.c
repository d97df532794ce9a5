#include "base/palette.h"

const struct palette_look palette[TINT_COUNT] = {
    [TINT_PLAIN] = {.many = -1, .chosen = 255},
    [TINT_DIM] = {.many = 243, .chosen = 250, .dim = true},
    [TINT_BOLD] = {.many = -1, .chosen = 255, .bold = true},
    [TINT_ASKS] = {.many = 163, .chosen = 221, .bold = true},
    [TINT_BAD] = {.many = 131, .chosen = 217, .bold = true},
    [TINT_GOOD] = {.many = 29, .chosen = 114},
    [TINT_DONE] = {.many = 29, .chosen = 80, .bold = true},
    [TINT_NEWS] = {.many = 63, .chosen = 117},
    [TINT_HELD] = {.many = 98, .chosen = 219},
};

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0';
}

int palette_colours(void)
{
    const char *term = getenv("TERM");

    if (is_set("NO_COLOR") || term == NULL || term[0] == '\0' || strcmp(term, "dumb") == 0)
        return 0;
    /* tmux takes 256 colours, whatever its TERM says, and shows them as its clients can */
    bool many = is_set("TMUX") || is_set("COLORTERM") || strstr(term, "256color") != NULL ||
                strstr(term, "direct") != NULL;
    return many ? PALETTE_MANY : 8;
}

const char *palette_sgr(enum tint tint, int colours)
{
    enum { SGR_MAX = 32 };
    static char texts[2][TINT_COUNT][SGR_MAX]; /* "": not made yet, or none */
    const struct palette_look *look = &palette[tint];
    bool many = colours >= PALETTE_MANY;
    char *text = texts[many][tint];

    if (colours == 0)
        return "";
    if (text[0] != '\0')
        return text;
    if (many && look->many != -1)
        (void)snprintf(text, SGR_MAX, "\033[%s38;5;%dm", look->bold ? "1;" : "", look->many);
    else if (look->bold || (look->dim && !many))
        (void)snprintf(text, SGR_MAX, "\033[%dm", look->bold ? 1 : 2);
    return text;
}

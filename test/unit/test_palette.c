/* The colours of mas on light and on dark terminals. */
#include "base/palette.h"
#include "unit.h"

#include <math.h>

struct rgb {
    int red, green, blue;
};

static const struct rgb black = {0, 0, 0}, white = {255, 255, 255};

/* The 256 colours as all terminals have them, but for the first 16. */
static struct rgb rgb_of(short colour)
{
    static const int steps[] = {0, 95, 135, 175, 215, 255};

    if (colour >= 232)
        return (struct rgb){8 + 10 * (colour - 232), 8 + 10 * (colour - 232),
                            8 + 10 * (colour - 232)};
    return (struct rgb){steps[(colour - 16) / 36], steps[(colour - 16) / 6 % 6],
                        steps[(colour - 16) % 6]};
}

static double part(int value)
{
    double share = value / 255.0;
    return share <= 0.03928 ? share / 12.92 : pow((share + 0.055) / 1.055, 2.4);
}

/* As the Web Content Accessibility Guidelines define it. */
static double contrast(struct rgb a, struct rgb b)
{
    double one = 0.2126 * part(a.red) + 0.7152 * part(a.green) + 0.0722 * part(a.blue) + 0.05;
    double other = 0.2126 * part(b.red) + 0.7152 * part(b.green) + 0.0722 * part(b.blue) + 0.05;
    return one > other ? one / other : other / one;
}

TEST(tints_can_be_read_on_white_and_on_black)
{
    for (enum tint tint = 0; tint < TINT_COUNT; tint++) {
        const struct palette_look *look = &palette[tint];
        CHECK(look->many == -1 || (look->many >= 16 && contrast(rgb_of(look->many), white) >= 4.5 &&
                                   contrast(rgb_of(look->many), black) >= 4.5));
        CHECK(look->chosen >= 16 && contrast(rgb_of(look->chosen), rgb_of(PALETTE_CHOSEN)) >= 4.5);
    }
}

/* What waits, or has failed, differs from plain text with any number of colours. */
TEST(what_asks_stands_out_with_any_number_of_colours)
{
    CHECK(palette[TINT_ASKS].bold && palette[TINT_BAD].bold);
    CHECK_STR(palette_sgr(TINT_ASKS, 8), "\033[1m");
    CHECK_STR(palette_sgr(TINT_ASKS, 256), "\033[1;38;5;163m");
    CHECK_STR(palette_sgr(TINT_BAD, 8), "\033[1m");
    for (enum tint tint = 0; tint < TINT_COUNT; tint++)
        CHECK_STR(palette_sgr(tint, 0), "");
    CHECK_STR(palette_sgr(TINT_PLAIN, 256), "");
    CHECK_STR(palette_sgr(TINT_DIM, 8), "\033[2m");
}

static int colours_of(const char *term, const char *tmux, const char *colorterm, const char *none)
{
    (void)setenv("TERM", term, 1);
    (void)setenv("TMUX", tmux, 1);
    (void)setenv("COLORTERM", colorterm, 1);
    (void)setenv("NO_COLOR", none, 1);
    return palette_colours();
}

TEST(the_environment_says_how_many_colours_there_are)
{
    CHECK_INT(colours_of("linux", "", "", ""), 8);
    CHECK_INT(colours_of("xterm-16color", "", "", ""), 8);
    CHECK_INT(colours_of("xterm-256color", "", "", ""), 256);
    CHECK_INT(colours_of("foot", "", "truecolor", ""), 256);
    CHECK_INT(colours_of("screen", "/tmp/x,1,0", "", ""), 256);
    CHECK_INT(colours_of("xterm-256color", "", "", "1"), 0);
    CHECK_INT(colours_of("dumb", "", "truecolor", ""), 0);
    CHECK_INT(colours_of("", "", "", ""), 0);
}

#include "markdown/markdown.h"

/* What is known at the beginning of a line. */
struct line_place {
    bool begun; /* there is more than empty lines */
    char fence; /* of the code that is open, '`' or '~'; 0: none */
    size_t fence_len;
    size_t inside; /* how far what belongs to the item that the text begins with is indented; 0: it
                      begins with no item */
    bool apart; /* nothing of the line before goes on here */
};

static size_t count(const char *text, size_t len, const char *chars)
{
    size_t n = 0;

    while (n < len && strchr(chars, text[n]) != NULL && text[n] != '\0')
        n++;
    return n;
}

/* Returns the length of the mark of an item and the blanks behind it; 0: there is none. */
static size_t item_mark(const char *line, size_t len)
{
    size_t mark = count(line, len, "0123456789");

    if (mark < len && strchr(mark > 0 ? ".)" : "-+*", line[mark]) != NULL)
        mark++;
    else
        return 0;
    size_t blanks = count(line + mark, len - mark, " \t");
    return blanks > 0 && mark + blanks < len ? mark + blanks : 0;
}

/* Goes over a whole line, whose first `blanks` bytes are blanks. */
static void pass(struct line_place *place, const char *line, size_t len, size_t blanks)
{
    const char *text = line + blanks;
    size_t left = len - blanks;
    size_t ticks = left > 0 && (*text == '`' || *text == '~')
                       ? count(text, left, (const char[]){*text, '\0'})
                       : 0;
    bool is_fence = ticks >= 3 && blanks < 4 && (place->inside == 0 || blanks < place->inside);

    place->apart = left == 0;
    if (place->fence != 0 && is_fence && *text == place->fence && ticks >= place->fence_len &&
        ticks + count(text + ticks, left - ticks, " \t\r") == left) {
        place->fence = 0;
        place->apart = true;
    } else if (place->fence == 0 && is_fence &&
               (*text == '~' || memchr(text + ticks, '`', left - ticks) == NULL)) {
        place->fence = *text;
        place->fence_len = ticks;
    }
}

size_t markdown_whole(const char *text, size_t len)
{
    struct line_place place = {.begun = false};
    size_t whole = 0;

    for (size_t at = 0, next; at < len; at = next) {
        const char *newline = memchr(text + at, '\n', len - at);
        size_t line = (newline != NULL ? (size_t)(newline - text) : len) - at;
        size_t blanks = count(text + at, line, " \t\r");
        bool empty = blanks == line;
        bool goes_on =
            place.inside > 0 && !empty && strchr("-+*0123456789", text[at + blanks]) != NULL;
        next = at + line + (newline != NULL);
        if (place.apart && place.fence == 0 && blanks < 2 && !empty && !goes_on) {
            whole = at;
            place = (struct line_place){.begun = false};
        }
        if (newline == NULL)
            break;
        if (!place.begun && !empty) {
            size_t mark = item_mark(text + at + blanks, line - blanks);
            place.begun = true;
            place.inside = mark > 0 ? blanks + mark : 0;
        }
        if (place.begun)
            pass(&place, text + at, line, blanks);
    }
    return whole;
}

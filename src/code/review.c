/*
 * Lines are compared as they are shown, without blanks at their ends: editors remove those. A line
 * of the edited text is the next one of the original, else a later one; any other is a comment. In
 * the file as it is now, equal lines are told apart by the lines around them that the diff shows,
 * then by the distance; a removed line is where its nearest neighbour in the new file is.
 */

#include "code/review.h"

enum { CONTEXT = 3 }; /* lines above and below that tell equal lines apart */

void review_free(struct review *review)
{
    for (size_t i = 0; i < review->line_count; i++)
        free(review->lines[i].shown);
    for (size_t i = 0; i < review->comment_count; i++) {
        str_free(&review->comments[i].text);
        free(review->comments[i].path);
        free(review->comments[i].shown);
    }
    free(review->lines);
    free(review->comments);
    *review = (struct review){.patch = NULL};
}

/* Returns the length without blanks at the end, which editors may remove. */
static size_t trim(const char *text, size_t len)
{
    while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t' || text[len - 1] == '\r'))
        len--;
    return len;
}

static void add_line(struct review *review, struct review_line line, const char *text, size_t len,
                     struct str *to)
{
    _cleanup_str_ struct str shown = STR_INIT;
    size_t end = len > 0 && text[len - 1] == '\r' ? len - 1 : len;

    str_add_line(&shown, text, end);
    str_addn(to, str_text(&shown), shown.len);
    str_addc(to, '\n');
    line.shown = mem_dupn(str_text(&shown), trim(str_text(&shown), shown.len));
    review->lines = mem_room(review->lines, review->line_count, sizeof *review->lines);
    review->lines[review->line_count++] = line;
}

static void add_hunk(struct review *review, size_t file, const struct patch_hunk *hunk,
                     struct str *to)
{
    const char *plus = memchr(hunk->header, '+', hunk->header_len);
    size_t number = plus != NULL ? strtoul(plus + 1, NULL, 10) : 1;

    add_line(review, (struct review_line){.file = file, .number = number}, hunk->header,
             hunk->header_len, to);
    for (size_t i = 0; i < hunk->lines_len;) {
        const char *at = hunk->lines + i;
        const char *end = memchr(at, '\n', hunk->lines_len - i);
        size_t len = end != NULL ? (size_t)(end - at) : hunk->lines_len - i;
        add_line(review,
                 (struct review_line){.text = at, .len = len, .file = file, .number = number}, at,
                 len, to);
        number += at[0] == '+' || at[0] == ' ';
        i += len + 1;
    }
}

static void add_file(struct review *review, size_t index, struct str *to)
{
    const struct patch_file *file = &review->patch->files[index];
    const struct review_line none = {.file = index};
    _cleanup_str_ struct str line = STR_INIT;

    add_line(review, (struct review_line){.file = SIZE_MAX}, "", 0, to);
    str_addf(&line, "=== %s (%s", file->path, file->status);
    if (file->old_path != NULL)
        str_addf(&line, " from %s", file->old_path);
    if (strcmp(file->old_mode, file->mode) != 0)
        str_addf(&line, ", mode %s, was %s", file->mode, file->old_mode);
    str_addf(&line, "%s)", file->binary ? ", binary" : "");
    add_line(review, none, line.data, line.len, to);
    for (size_t i = 0; i < file->hunk_count; i++)
        add_hunk(review, index, &file->hunks[i], to);
}

void review_make(const struct patch *patch, const char *title, struct review *ret, struct str *to)
{
    static const char *const help[] = {
        "Write comments on lines of their own, below the line that they are about; a line",
        "that begins with # is always a comment. All of them are sent when you leave the",
        "editor. Without a comment, nothing is sent.",
    };
    const struct review_line none = {.file = SIZE_MAX};

    ret->patch = patch;
    add_line(ret, none, title, strlen(title), to);
    for (size_t i = 0; i < ARRAY_LEN(help); i++)
        add_line(ret, none, help[i], strlen(help[i]), to);
    for (size_t i = 0; i < patch->count; i++)
        add_file(ret, i, to);
}

/* Returns where a line of the edited text is in the original, from `from` on; SIZE_MAX: it is new.
 */
static size_t find_line(const struct review *review, size_t from, const char *text, size_t len)
{
    for (size_t i = from; i < review->line_count; i++)
        if (strlen(review->lines[i].shown) == len && memcmp(review->lines[i].shown, text, len) == 0)
            return i;
    return SIZE_MAX;
}

static void add_comment(struct review *review, size_t line, const char *text, size_t len)
{
    struct review_comment *last =
        review->comment_count > 0 ? &review->comments[review->comment_count - 1] : NULL;

    if (last == NULL || last->line != line) {
        review->comments =
            mem_room(review->comments, review->comment_count, sizeof *review->comments);
        last = &review->comments[review->comment_count++];
        *last = (struct review_comment){.line = line, .text = STR_INIT};
    }
    if (text[0] == '#') {
        text++;
        len--;
        if (len > 0 && text[0] == ' ') {
            text++;
            len--;
        }
    }
    str_add(&last->text, last->text.len > 0 ? "\n" : "");
    str_add_line(&last->text, text, len);
}

void review_parse(struct review *review, const char *text, size_t len)
{
    size_t next = 0; /* of the original lines */

    for (size_t i = 0; i < len;) {
        const char *at = text + i;
        const char *end = memchr(at, '\n', len - i);
        size_t whole = end != NULL ? (size_t)(end - at) : len - i;
        size_t line = trim(at, whole);
        i += whole + 1;
        bool expected = next < review->line_count && strlen(review->lines[next].shown) == line &&
                        memcmp(review->lines[next].shown, at, line) == 0;
        size_t found = expected       ? next
                       : line == 0    ? SIZE_MAX
                       : at[0] == '#' ? SIZE_MAX
                                      : find_line(review, next, at, line);
        if (found != SIZE_MAX)
            next = found + 1;
        else if (line > 0)
            add_comment(review, next > 0 ? next - 1 : 0, at, line);
    }
}

/* ---- where a line is now */

struct file_lines {
    const char **at;
    size_t *len;
    size_t count;
};

static void split(const char *text, size_t len, struct file_lines *ret)
{
    for (size_t i = 0; i < len;) {
        const char *end = memchr(text + i, '\n', len - i);
        size_t line = end != NULL ? (size_t)(end - text) - i : len - i;
        ret->at = mem_room(ret->at, ret->count, sizeof *ret->at);
        ret->len = mem_room(ret->len, ret->count, sizeof *ret->len);
        ret->at[ret->count] = text + i;
        ret->len[ret->count++] = line;
        i += line + 1;
    }
}

/* Returns true if line `number` of the file is that of the diff. */
static bool is_line(const struct file_lines *file, size_t number, const struct review_line *line)
{
    return number >= 1 && number <= file->count && line->len == file->len[number - 1] + 1 &&
           memcmp(line->text + 1, file->at[number - 1], line->len - 1) == 0;
}

/* Counts the neighbours of a line of the diff that are also around line `number`. */
static size_t score(const struct review *review, size_t index, const struct file_lines *file,
                    size_t number)
{
    size_t points = 0;

    for (int step = -1; step <= 1; step += 2) {
        size_t at = number;
        size_t i = index;
        for (int seen = 0; seen < CONTEXT;) {
            i += (size_t)step;
            if (i >= review->line_count || review->lines[i].text == NULL)
                break;
            if (review->lines[i].text[0] == '-' || review->lines[i].text[0] == '\\')
                continue;
            at += (size_t)step;
            points += is_line(file, at, &review->lines[i]);
            seen++;
        }
    }
    return points;
}

/* Returns the line of the file that a line of the diff is now; 0: it is gone. */
static size_t find_now(const struct review *review, size_t index, const struct file_lines *file)
{
    const struct review_line *line = &review->lines[index];
    size_t best = 0;
    size_t best_score = 0;

    for (size_t number = 1; number <= file->count; number++) {
        if (!is_line(file, number, line))
            continue;
        size_t points = score(review, index, file, number);
        size_t far = number > line->number ? number - line->number : line->number - number;
        size_t best_far = best > line->number ? best - line->number : line->number - best;
        if (best == 0 || points > best_score || (points == best_score && far < best_far)) {
            best = number;
            best_score = points;
        }
    }
    return best;
}

/* Returns the line that stands for this one in the new file: itself, or for a removed line its
 * nearest neighbour there. */
static size_t anchor(const struct review *review, size_t index)
{
    for (size_t i = index; i < review->line_count && review->lines[i].text != NULL; i++)
        if (review->lines[i].text[0] == '+' || review->lines[i].text[0] == ' ')
            return i;
    for (size_t i = index; i > 0 && review->lines[i].text != NULL; i--)
        if (review->lines[i].text[0] == '+' || review->lines[i].text[0] == ' ')
            return i;
    return SIZE_MAX;
}

/* Finds the line of a comment in the file as it is now. *ret_stale tells whether it is gone. */
static size_t locate(const struct review *review, size_t index, review_read *read, void *arg,
                     bool *ret_stale)
{
    const struct review_line *line = &review->lines[index];
    struct file_lines file = {.count = 0};
    size_t len = 0;

    *ret_stale = false;
    if (read == NULL || line->file == SIZE_MAX)
        return line->number;
    _cleanup_free_ char *text = read(review->patch->files[line->file].path, &len, arg);
    if (line->text == NULL) {
        *ret_stale =
            text == NULL && strcmp(review->patch->files[line->file].status, "deleted") != 0;
        return line->number;
    }
    size_t at = anchor(review, index);
    if (text != NULL)
        split(text, len, &file);
    size_t now = at != SIZE_MAX && text != NULL ? find_now(review, at, &file) : 0;
    *ret_stale = now == 0;
    free(file.at);
    free(file.len);
    return now != 0 ? now : line->number;
}

/* ---- comments on a diff that was seen earlier */

static size_t distance(size_t a, size_t b)
{
    return a > b ? a - b : b - a;
}

/* Clients know the name of a file as it is shown. */
static bool is_path(const char *path, const char *named)
{
    _cleanup_str_ struct str shown = STR_INIT;

    if (strcmp(path, named) == 0)
        return true;
    str_add_visible(&shown, path, strlen(path));
    return strcmp(str_text(&shown), named) == 0;
}

/* Returns the line of the diff that the place means now; SIZE_MAX: there is none. */
static size_t find_place(const struct review *review, const struct review_place *place,
                         const char *shown)
{
    size_t best = SIZE_MAX;
    size_t file = SIZE_MAX;
    bool is = false; /* that file is the one */

    for (size_t i = 0; i < review->line_count; i++) {
        const struct review_line *line = &review->lines[i];
        if (line->file != file) {
            file = line->file;
            is = file != SIZE_MAX && is_path(review->patch->files[file].path, place->path);
        }
        if (!is)
            continue;
        if (shown == NULL)
            return i; /* the heading of the file */
        if (line->text != NULL && strcmp(line->shown, shown) == 0 &&
            (best == SIZE_MAX || distance(line->number, place->number) <
                                     distance(review->lines[best].number, place->number)))
            best = i;
    }
    return best;
}

/* Finds a line that the diff does not have in the file itself. */
static void find_in_file(struct review_comment *comment, const struct review_place *place,
                         review_read *read, void *arg)
{
    struct file_lines file = {.count = 0};
    size_t len = 0;
    size_t best = 0;
    bool removed = place->line != NULL && place->line[0] == '-';
    _cleanup_free_ char *text = removed ? NULL : read(place->path, &len, arg);
    size_t own = place->line != NULL ? strlen(place->line) : 0;

    comment->number = place->number;
    comment->stale = text == NULL;
    if (text == NULL || own == 0)
        return;
    split(text, len, &file);
    for (size_t i = 0; i < file.count; i++)
        if (file.len[i] == own - 1 && memcmp(file.at[i], place->line + 1, own - 1) == 0 &&
            (best == 0 || distance(i + 1, place->number) < distance(best, place->number)))
            best = i + 1;
    comment->stale = best == 0;
    comment->number = best != 0 ? best : place->number;
    free(file.at);
    free(file.len);
}

static void add_text(struct str *to, const char *text)
{
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        str_add_line(to, text, trim(text, len));
        text += len;
        if (*text == '\n' && *++text != '\0')
            str_addc(to, '\n');
    }
}

void review_add(struct review *review, const struct review_place *place, const char *text,
                review_read *read, void *arg)
{
    struct review_comment comment = {.line = 0, .text = STR_INIT};
    _cleanup_str_ struct str shown = STR_INIT;

    if (place->line != NULL) {
        size_t len = strlen(place->line);
        str_add_line(&shown, place->line, len - (len > 0 && place->line[len - 1] == '\r'));
        shown.len = trim(str_text(&shown), shown.len);
        if (shown.data != NULL)
            shown.data[shown.len] = '\0';
    }
    if (place->path != NULL)
        comment.line = find_place(review, place, place->line != NULL ? str_text(&shown) : NULL);
    if (comment.line == SIZE_MAX) {
        comment.path = mem_dup(place->path);
        comment.shown = place->line != NULL ? mem_dup(str_text(&shown)) : NULL;
        find_in_file(&comment, place, read, arg);
    }
    add_text(&comment.text, text);
    review->comments = mem_room(review->comments, review->comment_count, sizeof *review->comments);
    review->comments[review->comment_count++] = comment;
}

/* ---- the message */

static void format_place(const char *path, const char *shown, size_t number, bool stale,
                         struct str *to)
{
    str_add_name(to, path);
    if (shown != NULL && number > 0)
        str_addf(to, ":%zu", number);
    str_add(to, stale ? " (stale: this line has changed since)\n" : "\n");
    if (shown != NULL)
        str_addf(to, "> %s\n", shown);
}

void review_format(const struct review *review, review_read *read, void *arg, struct str *to)
{
    for (size_t i = 0; i < review->comment_count; i++) {
        const struct review_comment *comment = &review->comments[i];
        str_add(to, "\n");
        if (comment->line == SIZE_MAX) {
            format_place(comment->path, comment->shown, comment->number, comment->stale, to);
        } else if (review->lines[comment->line].file != SIZE_MAX) {
            const struct review_line *line = &review->lines[comment->line];
            bool stale = false;
            size_t number = locate(review, comment->line, read, arg, &stale);
            format_place(review->patch->files[line->file].path,
                         line->text != NULL ? line->shown : NULL, number, stale, to);
        }
        str_addn(to, comment->text.data, comment->text.len);
        str_add(to, "\n");
    }
}

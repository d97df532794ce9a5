#include "cli/diff_print.h"

#include "cli/print.h"
#include "git/patch.h"

static const char *colour_of_line(const char *line)
{
    switch (line[0]) {
    case '+':
        return str_starts(line, "+++ ") ? colour(TINT_DIM) : colour(TINT_GOOD);
    case '-':
        return str_starts(line, "--- ") ? colour(TINT_DIM) : colour(TINT_BAD);
    case '@':
        return colour(TINT_NEWS);
    case 'd':
        return colour(TINT_BOLD);
    default:
        return NULL;
    }
}

void diff_add_text(const struct str *diff, bool stat, struct str *to)
{
    const char *text = str_text(diff);

    for (size_t i = 0; i < diff->len;) {
        const char *end = memchr(text + i, '\n', diff->len - i);
        size_t len = end != NULL ? (size_t)(end - text) - i : diff->len - i;
        const char *begin = stat ? NULL : colour_of_line(text + i);
        str_add(to, begin != NULL ? begin : "");
        str_add_line(to, text + i, len);
        str_add(to, begin != NULL ? "\033[0m\n" : "\n");
        i += len + 1;
    }
}

/* Adds a text that need not be UTF-8. */
static void put_bytes(struct json_out *out, const char *key, const char *text, size_t len)
{
    _cleanup_str_ struct str shown = STR_INIT;

    if (str_is_utf8(text, len) && memchr(text, '\0', len) == NULL)
        str_addn(&shown, text, len);
    else
        str_add_visible(&shown, text, len);
    json_put(out, key, str_text(&shown));
}

static void put_hunk(struct json_out *out, const struct patch_hunk *hunk)
{
    json_open(out, NULL, '{');
    put_bytes(out, "header", hunk->header, hunk->header_len);
    json_open(out, "lines", '[');
    for (size_t i = 0; i < hunk->lines_len;) {
        const char *at = hunk->lines + i;
        const char *end = memchr(at, '\n', hunk->lines_len - i);
        size_t len = end != NULL ? (size_t)(end - at) : hunk->lines_len - i;
        put_bytes(out, NULL, at, len);
        i += len + 1;
    }
    json_close(out, ']');
    json_close(out, '}');
}

static void put_file(struct json_out *out, const struct patch_file *file, bool hunks)
{
    json_open(out, NULL, '{');
    put_bytes(out, "path", file->path, strlen(file->path));
    if (file->old_path != NULL)
        put_bytes(out, "oldPath", file->old_path, strlen(file->old_path));
    else
        json_put(out, "oldPath", NULL);
    json_put_all(out, JT("status", file->status), JT("oldMode", file->old_mode),
                 JT("mode", file->mode), JI("added", file->added), JI("removed", file->removed),
                 JB("binary", file->binary));
    if (hunks) {
        json_open(out, "hunks", '[');
        for (size_t i = 0; i < file->hunk_count; i++)
            put_hunk(out, &file->hunks[i]);
        json_close(out, ']');
    }
    json_close(out, '}');
}

int diff_put_files(const struct str *diff, bool hunks, struct json_out *out, struct err *err)
{
    _cleanup_patch_ struct patch patch = {.files = NULL};
    int rc = patch_parse(diff, &patch, err);

    json_open(out, "files", '[');
    for (size_t i = 0; rc == 0 && i < patch.count; i++)
        put_file(out, &patch.files[i], hunks);
    json_close(out, ']');
    return rc;
}

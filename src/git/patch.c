#include "git/patch.h"

void patch_free(struct patch *patch)
{
    for (size_t i = 0; i < patch->count; i++) {
        free(patch->files[i].path);
        free(patch->files[i].old_path);
        free(patch->files[i].hunks);
    }
    free(patch->files);
    *patch = (struct patch){.files = NULL};
}

static const char *status_of(char letter)
{
    switch (letter) {
    case 'A':
        return "added";
    case 'D':
        return "deleted";
    case 'R':
        return "renamed";
    case 'C':
        return "copied";
    case 'T':
        return "type";
    default:
        return "modified";
    }
}

/* Parses ":<mode> <mode> <oid> <oid> <letter>[score]", a NUL and one or two paths. Returns where it
 * ends; NULL: it is none. */
static const char *parse_raw(const char *at, const char *end, struct patch *patch)
{
    struct patch_file file = {.status = "modified"};
    char letter = 0;

    if (sscanf(at, ":%7s %7s %*s %*s %c", file.old_mode, file.mode, &letter) != 3)
        return NULL;
    file.status = status_of(letter);
    at += strlen(at) + 1;
    if (at >= end)
        return NULL;
    file.path = mem_dup(at);
    at += strlen(at) + 1;
    if (letter == 'R' || letter == 'C') {
        if (at >= end) {
            free(file.path);
            return NULL;
        }
        file.old_path = file.path;
        file.path = mem_dup(at);
        at += strlen(at) + 1;
    }
    patch->files = mem_room(patch->files, patch->count, sizeof *patch->files);
    patch->files[patch->count++] = file;
    return at;
}

/* Parses a hunk; counts of lines end it, because a line may look like a header. */
static const char *parse_hunk(const char *at, const char *end, struct patch_file *file)
{
    const char *line = memchr(at, '\n', (size_t)(end - at));
    struct patch_hunk hunk = {.header = at,
                              .header_len = (size_t)((line != NULL ? line : end) - at)};
    unsigned long counts[2] = {1, 1};

    const char *p = strchr(at, '-');
    for (int side = 0; side < 2 && p != NULL; side++) {
        char *next = NULL;
        (void)strtoul(p + 1, &next, 10);
        if (*next == ',')
            counts[side] = strtoul(next + 1, &next, 10);
        p = strchr(next, '+');
    }
    at = line != NULL ? line + 1 : end;
    hunk.lines = at;
    while (at < end && (counts[0] > 0 || counts[1] > 0 || *at == '\\')) {
        file->added += *at == '+';
        file->removed += *at == '-';
        counts[0] -= (*at == '-' || *at == ' ') && counts[0] > 0;
        counts[1] -= (*at == '+' || *at == ' ') && counts[1] > 0;
        line = memchr(at, '\n', (size_t)(end - at));
        at = line != NULL ? line + 1 : end;
    }
    hunk.lines_len = (size_t)(at - hunk.lines);
    file->hunks = mem_room(file->hunks, file->hunk_count, sizeof *file->hunks);
    file->hunks[file->hunk_count++] = hunk;
    return at;
}

/* Parses the patch of one file, from its "diff --git" line. */
static const char *parse_file(const char *at, const char *end, struct patch_file *file)
{
    bool first = true;

    while (at < end && *at != ':' && (first || strncmp(at, "diff --git ", 11) != 0)) {
        if (strncmp(at, "@@ -", 4) == 0) {
            at = parse_hunk(at, end, file);
            continue;
        }
        file->binary = file->binary || strncmp(at, "Binary files ", 13) == 0;
        const char *line = memchr(at, '\n', (size_t)(end - at));
        at = line != NULL ? line + 1 : end;
        first = false;
    }
    return at;
}

int patch_parse(const struct str *text, struct patch *ret, struct err *err)
{
    _cleanup_patch_ struct patch patch = {.files = NULL};
    const char *at = str_text(text);
    const char *end = at + text->len;
    size_t next = 0;

    while (at != NULL && at < end && *at == ':') {
        while (at != NULL && at < end && *at == ':')
            at = parse_raw(at, end, &patch);
        if (at != NULL && at < end && *at == '\0')
            at++;
        for (; at != NULL && at < end && next < patch.count; next++) {
            struct patch_file *file = &patch.files[next];
            at = parse_file(at, end, file);
            if (strcmp(file->status, "type") == 0 && at < end) /* the old one goes, a new comes */
                at = parse_file(at, end, file);
        }
    }
    if (at != NULL && at < end)
        at = NULL;
    if (at == NULL)
        return err_set(err, MAS_FAILED, "cannot read the output of git diff");
    *ret = patch;
    patch = (struct patch){.files = NULL};
    return 0;
}

/*
 * Parses the output of `git diff --raw -z --patch`, or several of them, one behind the other: which
 * files changed, and how.
 */
#pragma once

struct patch_hunk {
    const char *header; /* "@@ -1,3 +1,4 @@ ..."; with its lines, a part of the patch's text */
    size_t header_len;
    const char *lines;
    size_t lines_len;
};

struct patch_file {
    char *path;
    char *old_path; /* NULL: the same */
    const char *status; /* "added", "modified", "deleted", "renamed", "copied", "type" */
    char old_mode[8], mode[8]; /* "000000": none */
    size_t added, removed; /* lines */
    bool binary;
    struct patch_hunk *hunks;
    size_t hunk_count;
};

struct patch {
    struct patch_file *files;
    size_t count;
};

/* Parses `text`, which must outlive *ret. The caller releases *ret with patch_free(). Fails with
 * MAS_FAILED for any other text. */
int patch_parse(const struct str *text, struct patch *ret, struct err *err);
void patch_free(struct patch *patch);
#define _cleanup_patch_ __attribute__((cleanup(patch_free)))

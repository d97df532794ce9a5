/*
 * Patterns of the paths at which a program keeps files (told.kept and its kind): names, joined by
 * slashes, in which * stands for any text without a slash and ? for a character; {id} for the id of
 * a session, {id8} for its first 8 characters, {pid} for the number of a process. One that begins
 * with $NAME/ is below what that variable says, others are below a home.
 */
#pragma once

enum {
    PATH_STARS_MAX = 16,
    PATH_ID_MAX = 128, /* bytes of an id: letters, digits, '-' and '_' */
};

/* What the parts of a pattern stood for. */
struct path_found {
    char id[PATH_ID_MAX + 1]; /* "" none; with {id8} alone, 8 characters of it */
    bool whole; /* the pattern had {id} */
    pid_t pid; /* 0: none */
    struct path_star {
        const char *text; /* in the path */
        size_t len;
    } stars[PATH_STARS_MAX];
    size_t star_count;
};

/* Returns the pattern behind its $NAME/, and in *ret_name the name, which the caller frees; NULL:
 * it has none. */
const char *path_pattern_below(const char *pattern, char **ret_name);
/* Returns true if the pattern (without $NAME/) stands for all of the path. `id` is what it has to
 * have for {id}; NULL: any. Of the ways to read a path, one that finds a UUID comes first. */
bool path_pattern_match(const char *pattern, const char *path, const char *id,
                        struct path_found *ret);
/* Returns the path that the pattern stands for with this id, and the same texts for its stars,
 * which the caller frees; NULL if it has another number of them. */
char *path_pattern_fill(const char *pattern, const struct path_found *found, const char *id);
/* Returns how many bytes of the pattern stand for themselves: whole names, with their slash. */
size_t path_pattern_plain(const char *pattern);

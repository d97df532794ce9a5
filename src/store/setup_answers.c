#include "store/setup_answers.h"

#include "base/sha256.h"
#include "base/time.h"
#include "os/file.h"

enum { FILE_MAX = 256 * 1024 }; /* bytes */

/* Another user who can write there could answer in this user's name. */
static int check_owner(const struct root *root, struct err *err)
{
    struct stat st;

    if (fstatat(root->sessions, SETUP_ANSWERS_FILE, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return errno == ENOENT ? 0 : err_errno(err, "cannot read '" SETUP_ANSWERS_FILE "'");
    if (S_ISREG(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 077) == 0)
        return 0;
    (void)err_set(err, MAS_DAMAGED,
                  "cannot use '%s/" ROOT_SESSIONS "/" SETUP_ANSWERS_FILE
                  "': it is not a file that only you can read and write",
                  root->path);
    return err_hint(err, "remove it; mas asks again");
}

/* Reads the lines; *ret stays NULL if there are none. */
static int read_lines(const struct root *root, char ***ret, struct err *err)
{
    _cleanup_free_ char *text = NULL;
    size_t len = 0;

    if (check_owner(root, err) == -1)
        return -1;
    int there = file_read_if_there(root->sessions, SETUP_ANSWERS_FILE, FILE_MAX, &text, &len, err);
    if (there != 1)
        return there;
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;)
        if (strlen(line) > SHA256_HEX && line[SHA256_HEX] == ' ')
            strv_push(ret, line);
    return 0;
}

int setup_answers_find(const struct root *root, const char *hash, enum setup_answer *ret,
                       struct err *err)
{
    _cleanup_strv_ char **lines = NULL;

    if (read_lines(root, &lines, err) == -1)
        return -1;
    *ret = SETUP_UNANSWERED;
    for (char **line = lines; line != NULL && *line != NULL; line++) {
        const char *answer = *line + SHA256_HEX + 1;
        if (strncmp(*line, hash, SHA256_HEX) != 0)
            continue;
        if (str_starts(answer, "yes "))
            *ret = SETUP_YES;
        else if (str_starts(answer, "no "))
            *ret = SETUP_NO;
    }
    return 0;
}

int setup_answers_keep(const struct root *root, const char *hash, enum setup_answer answer,
                       struct err *err)
{
    _cleanup_strv_ char **lines = NULL;
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_close_ int lock = -1;
    char now[TIME_TEXT];

    if (root_lock(root, &lock, err) == -1 || read_lines(root, &lines, err) == -1)
        return err_wrap(err, "cannot keep the answer");
    size_t count = strv_len(lines);
    for (size_t i = count < SETUP_ANSWERS_MAX ? 0 : count - SETUP_ANSWERS_MAX + 1; i < count; i++)
        if (strncmp(lines[i], hash, SHA256_HEX) != 0)
            str_addf(&text, "%s\n", lines[i]);
    time_format(time(NULL), now);
    str_addf(&text, "%s %s %s\n", hash, answer == SETUP_YES ? "yes" : "no", now);
    return file_replace(root->sessions, SETUP_ANSWERS_FILE, text.data, text.len, 0600, err);
}

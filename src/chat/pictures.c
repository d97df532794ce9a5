/*
 * A paste, or a line, that is nothing but paths of pictures becomes marks in the line, such as
 * "[picture red.png]". A picture is read, and kept in the session, when a line with its mark is
 * sent; one whose mark was deleted is not. Marks stay known, so that a line that is recalled, or
 * comes back because it was refused, has its pictures.
 */

#include "chat/chat.h"

#include "os/path.h"
#include "store/pictures.h"

#define ADDRESS "file://"

enum { PATHS_MAX = 32 * 1024 }; /* bytes of a paste that may be paths */

/* Replaces %XX. Returns false if something else is behind a %. */
static bool decode(char *text)
{
    char *to = text;

    for (; *text != '\0'; text++) {
        unsigned byte = 0;
        if (*text != '%') {
            *to++ = *text;
            continue;
        }
        if (strspn(text + 1, "0123456789abcdefABCDEF") < 2 || sscanf(text + 1, "%2x", &byte) != 1 ||
            byte == 0)
            return false;
        *to++ = (char)byte;
        text += 2;
    }
    *to = '\0';
    return true;
}

/* Returns the path that a word names, which the caller frees; NULL: it names none that is whole. */
static char *to_path(const char *word)
{
    static const char local[] = "localhost/";

    if (str_starts(word, "~/"))
        return path_user_dir("", word + 2);
    bool is_address = str_starts(word, ADDRESS);
    if (is_address)
        word += strlen(ADDRESS);
    if (is_address && str_starts(word, local))
        word += strlen(local) - 1;
    if (word[0] != '/')
        return NULL;
    char *path = mem_dup(word);
    if (is_address && !decode(path)) {
        free(path);
        path = NULL;
    }
    return path;
}

/* Returns true if a word names a picture. The caller frees *ret_path. */
static bool read_word(const char *word, struct picture *ret, char **ret_path)
{
    _cleanup_free_ char *path = to_path(word);
    _cleanup_free_ char *bytes = NULL;
    struct err ignored = ERR_INIT;
    size_t len = 0;

    if (path == NULL || pictures_read_file(path, &bytes, &len, &ignored) == -1)
        return false;
    (void)snprintf(ret->file, sizeof ret->file, "%0*d.%s", SHA256_HEX, 0, picture_kind(bytes, len));
    picture_set_name(ret, path);
    *ret_path = TAKE_PTR(path);
    return true;
}

static struct chat_picture *find(struct chat *chat, const char *mark)
{
    for (size_t i = 0; i < chat->picture_count; i++)
        if (strcmp(chat->pictures[i].mark, mark) == 0)
            return &chat->pictures[i];
    return NULL;
}

static void drop(struct chat *chat, size_t i)
{
    free(chat->pictures[i].mark);
    free(chat->pictures[i].path);
    chat->picture_count--;
    memmove(&chat->pictures[i], &chat->pictures[i + 1],
            (chat->picture_count - i) * sizeof chat->pictures[0]);
}

void pictures_forget(struct chat *chat)
{
    while (chat->picture_count > 0)
        drop(chat, 0);
}

/* Inserts the mark of a picture into the line. Pictures of the same name have marks of their own.
 */
static void add(struct chat *chat, const char *name, const char *path)
{
    _cleanup_free_ char *mark = mem_printf("[picture %s]", name);
    const struct chat_picture *known;

    for (int n = 2; (known = find(chat, mark)) != NULL && strcmp(known->path, path) != 0; n++) {
        free(mark);
        mark = mem_printf("[picture %s (%d)]", name, n);
    }
    if (known == NULL) {
        if (chat->picture_count == CHAT_PICTURES_MAX)
            drop(chat, 0);
        chat->pictures[chat->picture_count++] =
            (struct chat_picture){.mark = mem_dup(mark), .path = mem_dup(path)};
    }
    line_insert_whole(chat->line, mark);
    line_insert(chat->line, " ", 1);
}

bool pictures_paste(struct chat *chat, const char *text)
{
    struct picture pictures[PICTURES_MAX];
    char *paths[PICTURES_MAX];
    _cleanup_strv_ char **words = NULL;
    struct err ignored = ERR_INIT;
    size_t count = 0;
    bool all = chat->takes_pictures != TAKES_NONE && strlen(text) <= PATHS_MAX;

    if (!all || text[0] == '\0' || strchr("/~f'\"", text[strspn(text, " \t\n")]) == NULL)
        return false;
    _cleanup_free_ char *trimmed = mem_dup(text + strspn(text, " \t\n"));
    for (size_t len = strlen(trimmed); len > 0 && strchr(" \t\n", trimmed[len - 1]) != NULL;)
        trimmed[--len] = '\0';
    /* it may be one path as it stands, with blanks and all */
    if (read_word(trimmed, &pictures[0], &paths[0]))
        count = 1;
    else if (str_split_words(trimmed, &words, &ignored) == -1)
        return false;
    for (char **word = words; all && word != NULL && *word != NULL; word++) {
        all = count < PICTURES_MAX && read_word(*word, &pictures[count], &paths[count]);
        count += all;
    }
    for (size_t i = 0; i < count; i++) {
        if (all)
            add(chat, pictures[i].name, paths[i]);
        free(paths[i]);
    }
    return all && count > 0;
}

/* Returns the picture whose mark stands at the beginning of a text, NULL: none. */
static const struct chat_picture *at(const struct chat *chat, const char *text)
{
    for (size_t i = 0; i < chat->picture_count; i++)
        if (str_starts(text, chat->pictures[i].mark))
            return &chat->pictures[i];
    return NULL;
}

int pictures_take(const struct chat *chat, const char *text, struct str *to, struct pictures *ret,
                  struct err *err)
{
    _cleanup_close_ int dir = path_open_dir(chat->dir, ".");
    const struct chat_picture *picture;

    if (ret != NULL)
        ret->count = 0;
    while (*text != '\0') {
        picture = *text == '[' ? at(chat, text) : NULL;
        if (picture == NULL) {
            str_addc(to, *text++);
            continue;
        }
        text += strlen(picture->mark);
        text += *text == ' ';
        if (ret == NULL)
            continue;
        _cleanup_free_ char *bytes = NULL;
        size_t len = 0;
        if (ret->count == PICTURES_MAX)
            return err_set(err, MAS_USAGE, "cannot send more than %d pictures at once",
                           PICTURES_MAX);
        if (pictures_read_file(picture->path, &bytes, &len, err) == -1)
            return -1;
        if (pictures_keep(dir, picture->path, bytes, len, &ret->list[ret->count], err) == -1)
            return err_wrap(err, "cannot send '%s'", picture->path);
        ret->count++;
    }
    return 0;
}

/*
 * A paste, or a line, that is nothing but paths of pictures becomes marks in the line, such as
 * "[picture red.png]"; a long paste becomes one like "[300 lines]". A picture is read, and kept in
 * the session, when a line with its mark is sent; one whose mark was deleted is not. Marks stay
 * known, so that a line that is recalled, or comes back because it was refused, has what they stand
 * for. There are so many at most; lines of the history that have an older one are forgotten with
 * it, since it would be sent as text.
 */

#include "chat/chat.h"

#include "model/message.h"
#include "os/path.h"
#include "store/pictures.h"
#include "store/workspace.h"

#define ADDRESS "file://"

enum {
    PATHS_MAX = 32 * 1024, /* bytes of a paste that may be paths */
    FOLDED_LINES = 10, /* of a paste; a longer one gets a mark */
    FOLDED_BYTES_MAX = 4 * MESSAGE_MAX, /* of all pastes that have one */
};

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

static struct chat_mark *find(struct chat *chat, const char *name)
{
    for (size_t i = 0; i < chat->mark_count; i++)
        if (strcmp(chat->marks[i].name, name) == 0)
            return &chat->marks[i];
    return NULL;
}

static void drop_oldest(struct chat *chat)
{
    struct chat_mark *mark = &chat->marks[0];

    line_forget(chat->line, mark->name);
    free(mark->name);
    free(mark->path);
    free(mark->text);
    chat->mark_count--;
    memmove(mark, mark + 1, chat->mark_count * sizeof *mark);
}

void marks_forget(struct chat *chat)
{
    while (chat->mark_count > 0)
        drop_oldest(chat);
}

/* Returns false if a mark that had to go for a text of `bytes` stands in the line. */
static bool make_room(struct chat *chat, size_t bytes)
{
    _cleanup_str_ struct str line = STR_INIT;
    size_t cursor;

    line_get(chat->line, &line, &cursor);
    for (size_t i = 0; i < chat->mark_count; i++)
        bytes += strlen(chat->marks[i].text);
    while (chat->mark_count == CHAT_MARKS_MAX || bytes > FOLDED_BYTES_MAX) {
        if (chat->mark_count == 0 || strstr(str_text(&line), chat->marks[0].name) != NULL)
            return false;
        bytes -= strlen(chat->marks[0].text);
        drop_oldest(chat);
    }
    return true;
}

/* Returns the mark of a picture, whose name is `text`, or of a text, with `path` NULL. What is
 * called the same has marks of its own. NULL: there are too many. */
static const char *name_mark(struct chat *chat, const char *what, const char *path,
                             const char *text)
{
    _cleanup_free_ char *name = mem_printf("[%s]", what);
    const struct chat_mark *known;

    for (int n = 2; (known = find(chat, name)) != NULL; n++) {
        if (path == NULL ? known->path == NULL && strcmp(known->text, text) == 0
                         : known->path != NULL && strcmp(known->path, path) == 0)
            return known->name;
        free(name);
        name = mem_printf("[%s (%d)]", what, n);
    }
    if (!make_room(chat, strlen(text)))
        return NULL;
    struct chat_mark *mark = &chat->marks[chat->mark_count++];
    *mark = (struct chat_mark){TAKE_PTR(name), mem_dup(path), mem_dup(text)};
    line_whole(chat->line, mark->name);
    return mark->name;
}

static const char *name_picture(struct chat *chat, const char *name, const char *path)
{
    _cleanup_free_ char *what = mem_printf("picture %s", name);

    return name_mark(chat, what, path, name);
}

void marks_of_pictures(struct chat *chat, const struct pictures *pictures, struct str *to)
{
    char dir[PATH_FD_TEXT];

    for (size_t i = 0; i < pictures->count; i++) {
        _cleanup_free_ char *path = mem_printf("%s/" WORKSPACE_PICTURES "/%s",
                                               path_fd(chat->dir, dir), pictures->list[i].file);
        const char *name = name_picture(chat, pictures->list[i].name, path);
        str_addf(to, "%s%s", name != NULL ? name : "", name != NULL ? " " : "");
    }
}

bool marks_fold(struct chat *chat, const char *text)
{
    _cleanup_str_ struct str clean = STR_INIT;
    size_t lines = 1;

    line_clean(text, strlen(text), &clean);
    for (size_t i = 0; i + 1 < clean.len; i++) /* the last line may have an end */
        lines += clean.data[i] == '\n';
    if (lines <= FOLDED_LINES || message_check(str_text(&clean), clean.len) != NULL)
        return false;
    _cleanup_free_ char *what = mem_printf("%zu lines", lines);
    const char *name = name_mark(chat, what, NULL, str_text(&clean));
    if (name != NULL)
        line_insert(chat->line, name, strlen(name));
    return name != NULL;
}

bool marks_paste(struct chat *chat, const char *text)
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
        if (all) {
            const char *name = name_picture(chat, pictures[i].name, paths[i]);
            line_insert(chat->line, name, name != NULL ? strlen(name) : 0);
            line_insert(chat->line, " ", name != NULL ? 1 : 0);
        }
        free(paths[i]);
    }
    return all && count > 0;
}

/* Returns the mark that stands at the beginning of a text, NULL: none. */
static const struct chat_mark *at(const struct chat *chat, const char *text)
{
    for (size_t i = 0; i < chat->mark_count; i++)
        if (str_starts(text, chat->marks[i].name))
            return &chat->marks[i];
    return NULL;
}

int marks_take(const struct chat *chat, const char *text, struct str *to, struct pictures *ret,
               struct err *err)
{
    _cleanup_close_ int dir = path_open_dir(chat->dir, ".");
    const struct chat_mark *mark;

    ret->count = 0;
    while (*text != '\0') {
        mark = *text == '[' ? at(chat, text) : NULL;
        if (mark == NULL) {
            str_addc(to, *text++);
            continue;
        }
        text += strlen(mark->name);
        if (mark->path == NULL) {
            str_add(to, mark->text);
            continue;
        }
        text += *text == ' ';
        _cleanup_free_ char *bytes = NULL;
        size_t len = 0;
        if (ret->count == PICTURES_MAX)
            return err_set(err, MAS_USAGE, "cannot send more than %d pictures at once",
                           PICTURES_MAX);
        if (pictures_read_file(mark->path, &bytes, &len, err) == -1)
            return -1;
        if (pictures_keep(dir, mark->text, bytes, len, &ret->list[ret->count], err) == -1)
            return err_wrap(err, "cannot send '%s'", mark->path);
        ret->count++;
    }
    return 0;
}

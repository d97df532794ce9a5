/*
 * Behind '/' at the beginning of the line the candidates are the pane's own commands, then those
 * that the agent has told of; behind '@' at the beginning of any word they are the files of
 * the project, one level at a time, as in a shell. The first TAB adds what all of them have
 * in common; if that is nothing, it notes the line in chat->listed, and the footer shows the list
 * for as long as the line stays the same. Nothing is kept in between: the candidates are found
 * again each time. This program may start nothing, so git is not asked which files are its own.
 */

#include "chat/chat.h"

#include "base/wrap.h"
#include "os/path.h"

#include <dirent.h>

/* Characters that end a name and cannot be part of it. */
#define BLANKS " \t\n"

enum { FILES_MAX = 16384 }; /* entries of a directory that are looked at */

struct candidate {
    char *name;
    const char *operand, *summary;
};

struct candidates {
    struct candidate *list;
    size_t count;
};

static void free_candidates(struct candidates *found)
{
    for (size_t i = 0; i < found->count; i++)
        free(found->list[i].name);
    free(found->list);
}

/* What stands before the cursor, behind its sign: '/' or '@'. */
struct begun {
    char sign;
    const char *text;
    size_t len;
};

/* Returns true if the cursor is at the end of a command's name, or of a word that begins with '@'.
 */
static bool find_word(const struct str *line, size_t cursor, struct begun *ret)
{
    const char *text = str_text(line);
    size_t from = cursor;

    while (from > 0 && strchr(BLANKS, text[from - 1]) == NULL)
        from--;
    bool is_command = from == 0 && text[0] == '/' && text[1] != '/';
    if ((!is_command && text[from] != '@') || from + strcspn(text + from, BLANKS) != cursor)
        return false;
    *ret = (struct begun){text[from], text + from + 1, cursor - from - 1};
    return true;
}

/* An agent may send, and make, any name. Offer only names that a user can type and a terminal shows
 * unchanged. */
static bool is_typed(const char *name)
{
    _cleanup_str_ struct str visible = STR_INIT;

    str_add_visible(&visible, name, strlen(name));
    return name[0] != '\0' && name[strcspn(name, BLANKS)] == '\0' &&
           strcmp(str_text(&visible), name) == 0;
}

/* Takes the name. */
static void add(struct candidates *to, char *name, const char *operand, const char *summary)
{
    to->list = mem_room(to->list, to->count, sizeof *to->list);
    to->list[to->count++] = (struct candidate){name, operand, summary};
}

static void offer_command(struct candidates *to, const char *name, const char *operand,
                          const char *summary)
{
    for (size_t i = 0; i < to->count; i++)
        if (strcmp(to->list[i].name, name) == 0)
            return;
    add(to, mem_dup(name), operand, summary);
}

static int compare(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;

    return strcmp(a->name, b->name);
}

static bool is_odd(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, ".git") == 0;
}

static bool is_directory(DIR *in, const struct dirent *entry)
{
    struct stat st;

    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return fstatat(dirfd(in), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* Finds the paths that begin with a word, in the project as the agent has it, or where it starts,
 * and through no symbolic link: the agent can make one that leads anywhere. Names with a dot in
 * front have to be typed so. */
static struct candidates find_files(const struct begun *word)
{
    struct candidates found = {.list = NULL};
    const char *slash = memrchr(word->text, '/', word->len);
    size_t above = slash != NULL ? (size_t)(slash - word->text) + 1 : 0;
    const char *begin = word->text + above;
    size_t len = word->len - above;
    _cleanup_free_ char *place = above > 0 ? mem_dupn(word->text, above) : mem_dup(".");
    const char *code = getenv("MAS_CODE_DIR"); /* this program has the agent's environment */
    const char *home = code != NULL ? code : getenv("PWD");
    _cleanup_close_ int top = home != NULL ? path_open_dir(AT_FDCWD, home) : -1;
    int fd = top != -1 ? path_open_beneath(top, place, O_RDONLY | O_DIRECTORY) : -1;
    DIR *in = fd != -1 ? fdopendir(fd) : NULL;
    const struct dirent *entry;

    for (int i = 0; in != NULL && i < FILES_MAX && (entry = readdir(in)) != NULL; i++) {
        const char *name = entry->d_name;
        bool hidden = len == 0 ? name[0] == '.' : is_odd(name);
        if (!hidden && strncmp(name, begin, len) == 0 && is_typed(name))
            add(&found,
                mem_printf("%.*s%s%s", (int)above, word->text, name,
                           is_directory(in, entry) ? "/" : ""),
                "", "");
    }
    if (in != NULL)
        (void)closedir(in);
    if (found.count > 1)
        qsort(found.list, found.count, sizeof *found.list, compare);
    return found;
}

/* Finds the commands that begin with a word. The pane's own come first, as when they are
 * executed. */
static struct candidates find_commands(const struct chat *chat, const struct begun *word)
{
    struct candidates found = {.list = NULL};

    for (const struct command *own = chat_commands; own->name != NULL; own++)
        if (strncmp(own->name, word->text, word->len) == 0)
            offer_command(&found, own->name, own->operand, own->summary);
    for (const struct json *one = json_first(chat->commands); one != NULL; one = json_next(one)) {
        const char *name = json_get_text(one, "name");
        const char *description = json_get_text(one, "description");
        if (name != NULL && strncmp(name, word->text, word->len) == 0 && is_typed(name))
            offer_command(&found, name, "", description != NULL ? description : "");
    }
    return found;
}

static struct candidates find(const struct chat *chat, const struct begun *word)
{
    return word->sign == '@' ? find_files(word) : find_commands(chat, word);
}

/* Returns the length of the common beginning in bytes, up to a whole character. */
static size_t common(const struct candidates *found)
{
    const char *first = found->list[0].name;
    size_t len = strlen(first);

    for (size_t i = 1; i < found->count; i++) {
        size_t same = 0;
        while (same < len && found->list[i].name[same] == first[same])
            same++;
        len = same;
    }
    return str_fit(first, len);
}

void complete(struct chat *chat)
{
    _cleanup_str_ struct str line = STR_INIT;
    _cleanup_str_ struct str more = STR_INIT;
    struct begun word;
    size_t cursor;

    line_get(chat->line, &line, &cursor);
    if (!find_word(&line, cursor, &word))
        return;
    struct candidates found = find(chat, &word);
    if (found.count > 0) {
        const char *name = found.list[0].name;
        str_addn(&more, name + word.len, common(&found) - word.len);
        if (found.count == 1 && word.text[word.len] == '\0' && name[strlen(name) - 1] != '/')
            str_addc(&more, ' ');
    }
    line_insert(chat->line, str_text(&more), more.len);
    if (found.count > 1 && more.len == 0) {
        free(chat->listed);
        chat->listed = str_steal(&line);
    }
    free_candidates(&found);
}

/* ---- the list */

/* "/name [operand]" */
static char *label_of(char sign, const struct candidate *one)
{
    return mem_printf("%c%s%s%s", sign, one->name, one->operand[0] != '\0' ? " " : "",
                      one->operand);
}

static int widest(char sign, const struct candidates *found, size_t count)
{
    int columns = 0;

    for (size_t i = 0; i < count; i++) {
        _cleanup_free_ char *label = label_of(sign, &found->list[i]);
        int wide = wrap_columns(label, strlen(label));
        columns = wide > columns ? wide : columns;
    }
    return columns;
}

bool complete_list(struct chat *chat, const struct str *line, size_t cursor, size_t rows)
{
    struct begun word;

    if (chat->listed != NULL && strcmp(chat->listed, str_text(line)) != 0) {
        free(chat->listed);
        chat->listed = NULL;
    }
    if (chat->listed == NULL || !find_word(line, cursor, &word))
        return false;
    struct candidates found = find(chat, &word);
    size_t shown = found.count > rows && rows > 0 ? rows - 1 : found.count;
    int columns = widest(word.sign, &found, shown);
    columns = columns < chat->view.columns / 2 ? columns : chat->view.columns / 2;
    for (size_t i = 0; i < shown; i++) {
        const struct candidate *one = &found.list[i];
        _cleanup_free_ char *label = label_of(word.sign, one);
        int left = columns - wrap_columns(label, strlen(label));
        _cleanup_free_ char *row =
            mem_printf("%s%*s  %s", label, left > 0 ? left : 0, "", one->summary);
        view_live(&chat->view, STYLE_NOTE, row);
    }
    if (shown < found.count) {
        _cleanup_free_ char *row = mem_printf("+%zu more", found.count - shown);
        view_live(&chat->view, STYLE_NOTE, row);
    }
    free_candidates(&found);
    return true;
}

#include "store/came_from.h"

#include "os/file.h"

#define FRESH CAME_FROM_FILE ".new"

enum { WAIT_MS = 1000 };

struct places {
    struct came_from *places; /* the oldest comes first */
    size_t count;
};

static void places_free(struct places *list)
{
    free(list->places);
}
#define _cleanup_places_ __attribute__((cleanup(places_free)))

static bool copy(char *to, size_t size, const char *from)
{
    if (from == NULL || from[0] == '\0' || strlen(from) >= size || str_has_control(from))
        return false;
    memcpy(to, from, strlen(from) + 1);
    return true;
}

static bool parse_line(char *line, struct came_from *ret)
{
    char *save = NULL;
    const char *terminal = strtok_r(line, " ", &save);
    const char *session = strtok_r(NULL, " ", &save);
    const char *window = strtok_r(NULL, " ", &save);
    const char *pane = strtok_r(NULL, " ", &save);
    const char *socket = strtok_r(NULL, "", &save);

    *ret = (struct came_from){.terminal = ""};
    return copy(ret->terminal, sizeof ret->terminal, terminal) &&
           copy(ret->session, sizeof ret->session, session) &&
           copy(ret->window, sizeof ret->window, window) &&
           copy(ret->pane, sizeof ret->pane, pane) &&
           copy(ret->socket, sizeof ret->socket, socket) && ret->socket[0] == '/';
}

static void add(struct places *list, const struct came_from *place)
{
    list->places = mem_room(list->places, list->count, sizeof *list->places);
    list->places[list->count++] = *place;
}

static void read_places(const struct root *root, struct places *ret)
{
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    struct came_from place;
    char *save = NULL;
    size_t len = 0;

    if (file_read(root->sessions, CAME_FROM_FILE, CAME_FROM_FILE_MAX, &text, &len, &ignored) == -1)
        return;
    for (char *line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save))
        if (parse_line(line, &place))
            add(ret, &place);
}

static int write_places(const struct root *root, const struct places *list, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    size_t first = list->count > CAME_FROM_MAX ? list->count - CAME_FROM_MAX : 0;

    for (size_t i = first; i < list->count; i++) {
        const struct came_from *place = &list->places[i];
        str_addf(&text, "%s %s %s %s %s\n", place->terminal, place->session, place->window,
                 place->pane, place->socket);
    }
    (void)unlinkat(root->sessions, FRESH, 0); /* of a writer that was killed */
    if (file_create(root->sessions, FRESH, str_text(&text), text.len, 0600, err) == -1)
        return -1;
    if (renameat(root->sessions, FRESH, root->sessions, CAME_FROM_FILE) == -1)
        return err_errno(err, "cannot replace '%s'", CAME_FROM_FILE);
    return 0;
}

/* Returns the index of the last place of a terminal; list->count if there is none. */
static size_t find_last(const struct places *list, const char *terminal)
{
    for (size_t i = list->count; i-- > 0;)
        if (strcmp(list->places[i].terminal, terminal) == 0)
            return i;
    return list->count;
}

int came_from_push(const struct root *root, const struct came_from *place, struct err *err)
{
    _cleanup_places_ struct places list = {.count = 0};
    _cleanup_close_ int lock = -1;

    if (file_lock(root->sessions, CAME_FROM_LOCK, WAIT_MS, "next", &lock, err) == -1)
        return -1;
    read_places(root, &list);
    size_t last = find_last(&list, place->terminal);
    if (last < list.count && memcmp(&list.places[last], place, sizeof *place) == 0)
        return 0;
    add(&list, place);
    return write_places(root, &list, err);
}

int came_from_pop(const struct root *root, const char *terminal, struct came_from *ret,
                  struct err *err)
{
    _cleanup_places_ struct places list = {.count = 0};
    _cleanup_close_ int lock = -1;

    if (file_lock(root->sessions, CAME_FROM_LOCK, WAIT_MS, "next", &lock, err) == -1)
        return -1;
    read_places(root, &list);
    size_t last = find_last(&list, terminal);
    if (list.places == NULL || last == list.count)
        return 0;
    struct came_from found = list.places[last];
    for (size_t i = last; i + 1 < list.count; i++)
        list.places[i] = list.places[i + 1];
    list.count--;
    if (write_places(root, &list, err) == -1)
        return -1;
    *ret = found;
    return 1;
}

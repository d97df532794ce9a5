/* The part of tmux/tmux.h that knows which calls only read. */
#include "tmux/tmux.h"
#include "tmux/tmux_call.h"

void tmux_capture_say(const char *pane, const char *id, const char *nonce, size_t i, int history,
                      struct tmux_capture_words *ret)
{
    (void)snprintf(ret->pane, sizeof ret->pane, "%s", pane);
    (void)snprintf(ret->is_ours, sizeof ret->is_ours,
                   "#{&&:#{==:#{pane_id},%s},#{==:#{@mas_id},%s}}", pane, id);
    (void)snprintf(ret->capture, sizeof ret->capture,
                   "display-message -p '%s %zu.' ; capture-pane -p -S -%d -t '%s'", nonce, i,
                   history, pane);
    (void)snprintf(ret->end, sizeof ret->end, "%s", nonce);
}

static bool is_list(char *const *argv, const char *const *form)
{
    for (; *argv != NULL && *form != NULL; argv++, form++) {
        size_t len = strlen(*argv);
        bool target = **form == '\0'; /* "$1:" */
        _cleanup_free_ char *id = mem_dupn(*argv, len > 0 ? len - 1 : 0);
        if (target ? len == 0 || (*argv)[len - 1] != ':' || !tmux_is_target(id, '$')
                   : strcmp(*argv, *form) != 0)
            return false;
    }
    return *argv == NULL && *form == NULL;
}

/* Copies the id that follows `mark` in a text. */
static bool id_after(const char *text, const char *mark, char ret[ID_TEXT])
{
    const char *at = strstr(text, mark);

    (void)snprintf(ret, ID_TEXT, "%s", at != NULL ? at + strlen(mark) : "");
    return id_is_valid(ret);
}

/* Returns true if the arguments are these words, and no more. */
static bool are(char *const *argv, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (argv[i] == NULL || strcmp(argv[i], words[i]) != 0)
            return false;
    return argv[count] == NULL;
}

/* Takes out which session it is, and compares with the call that has the same. */
static bool is_team(char *const *argv)
{
    enum { FILTER = 7 };
    char filter[TMUX_FILTER_TEXT] = "";
    const char *want[] = {TMUX_TEAM_ARGS(filter)};
    char id[ID_TEXT];

    for (size_t i = 0; i <= FILTER; i++)
        if (argv[i] == NULL)
            return false;
    if (!id_after(argv[FILTER], " host ", id))
        return false;
    tmux_team_say(id, filter);
    return are(argv, want, ARRAY_LEN(want));
}

/* The same for the screen of a pane. */
static bool is_capture(char *const *argv)
{
    enum { PANE = 3, IS_OURS, CAPTURE, END = 9, ARGS };
    struct tmux_capture_words words;
    const char *want[] = {TMUX_CAPTURE_ARGS(&words)};
    char id[ID_TEXT];
    char *end;

    for (size_t i = 0; i < ARGS; i++)
        if (argv[i] == NULL)
            return false;
    const char *lines = strstr(argv[CAPTURE], " -S -");
    if (argv[ARGS] != NULL || lines == NULL || !tmux_is_target(argv[PANE], '%') ||
        !id_is_valid(argv[END]) || !id_after(argv[IS_OURS], "@mas_id},", id))
        return false;
    long history = strtol(lines + strlen(" -S -"), &end, 10);
    if (history < 0 || history > TMUX_HISTORY_MAX)
        return false;
    tmux_capture_say(argv[PANE], id, argv[END], 0, (int)history, &words);
    return are(argv, want, ARRAY_LEN(want));
}

bool tmux_only_reads(char *const *argv)
{
    enum { OPTIONS = 4 }; /* tmux -u -S SOCKET */
    static const char *const sessions[] = {"list-sessions", "-F", tmux_list_format, NULL};
    static const char *const panes[] = {"list-panes",      "-s", "-t", "", "-F",
                                        tmux_panes_format, NULL};

    for (size_t i = 0; i < OPTIONS; i++)
        if (argv[i] == NULL)
            return false;
    if (strcmp(argv[1], "-u") != 0 || strcmp(argv[2], "-S") != 0)
        return false;
    argv += OPTIONS;
    return is_list(argv, sessions) || is_list(argv, panes) || is_team(argv) || is_capture(argv);
}

/*
 * The part of tmux/tmux.h that moves the client of one person. Names and numbers that tmux reports
 * are checked before they become words of a script. Whether a pane is still there, and of the
 * session that is meant, tmux decides in the command that goes there.
 */

#include "tmux/tmux.h"
#include "tmux/tmux_call.h"

char *tmux_inside(void)
{
    const char *tmux = getenv("TMUX");
    const char *comma = tmux != NULL ? strchr(tmux, ',') : NULL;
    return comma != NULL && comma != tmux ? mem_dupn(tmux, (size_t)(comma - tmux)) : NULL;
}

bool tmux_inside_session(char ret[24])
{
    const char *tmux = getenv("TMUX"); /* "<socket>,<pid of the server>,<session>" */
    const char *comma = tmux != NULL ? strrchr(tmux, ',') : NULL;

    if (comma == NULL)
        return false;
    (void)snprintf(ret, 24, "$%s", comma + 1);
    return tmux_is_target(ret, '$');
}

bool tmux_same_socket(const char *a, const char *b)
{
    struct stat x;
    struct stat y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Returns true for a name that tmux gives to clients. It is safe as a word of a script. */
static bool is_client(const char *name)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_.-";
    size_t len = strlen(name);

    return len > 0 && len < TMUX_CLIENT_MAX && strspn(name, safe) == len && name[0] != '-';
}

static void copy(char *to, size_t size, const char *from)
{
    (void)snprintf(to, size, "%s", from);
}

/* Parses "<time> <$session> <@window> <%pane> <id or -> <client>". */
static bool parse_client(char *line, struct tmux_place *ret, long long *ret_used)
{
    char *save = NULL;
    const char *words[6];

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        words[i] = strtok_r(i == 0 ? line : NULL, " ", &save);
        if (words[i] == NULL)
            return false;
    }
    if (!tmux_is_target(words[1], '$') || !tmux_is_target(words[2], '@') ||
        !tmux_is_target(words[3], '%') || !is_client(words[5]))
        return false;
    *ret = (struct tmux_place){.id = ""};
    *ret_used = strtoll(words[0], NULL, 10);
    copy(ret->session, sizeof ret->session, words[1]);
    copy(ret->window, sizeof ret->window, words[2]);
    copy(ret->pane, sizeof ret->pane, words[3]);
    copy(ret->client, sizeof ret->client, words[5]);
    if (id_is_valid(words[4]))
        copy(ret->id, sizeof ret->id, words[4]);
    return true;
}

/* Returns how well a client fits; 0: not at all. */
static int fit(const struct tmux_place *place, const char *client)
{
    const char *pane = getenv("TMUX_PANE");

    if (client != NULL)
        return strcmp(place->client, client) == 0;
    return pane != NULL && strcmp(place->pane, pane) == 0 ? 2 : 1;
}

int tmux_client_place(const char *socket, const char *client, struct tmux_place *ret,
                      struct err *err)
{
    const char *args[] = {"list-clients", "-F",
                          "#{client_activity} #{session_id} #{window_id} #{pane_id} "
                          "#{?@mas_id,#{@mas_id},-} #{client_name}",
                          NULL};
    const struct tmux_call call = {.socket = socket, .args = args, .dir = -1};
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    struct tmux_place place;
    char *save = NULL;
    long long used;
    long long best_used = -1;
    int best = 0;

    int rc = tmux_call(&call, &result, err);
    if (rc == 0 && result.status != 0)
        rc = tmux_fail(&result, "list tmux clients", err);
    char *line = rc == 0 ? tmux_first_line(&result, &save) : NULL;
    for (; line != NULL; line = strtok_r(NULL, "\n", &save)) {
        int fits = parse_client(line, &place, &used) ? fit(&place, client) : 0;
        if (fits < best || fits == 0 || (fits == best && used < best_used))
            continue;
        best = fits;
        best_used = used;
        *ret = place;
    }
    if (rc == 0 && best == 0)
        return err_set(err, MAS_NOT_FOUND, "cannot find a tmux client%s%s%s on '%s'",
                       client != NULL ? " '" : "", client != NULL ? client : "",
                       client != NULL ? "'" : "", socket);
    return rc;
}

int tmux_client_go(const char *socket, const char *client, const char *pane, const char *id,
                   struct err *err)
{
    _cleanup_str_ struct str script = STR_INIT;
    _cleanup_str_ struct str out = STR_INIT;
    _cleanup_free_ char *go = mem_printf("switch-client -Z -c '%s' -t '%s'", client, pane);

    if (!is_client(client) || !tmux_is_target(pane, '%'))
        return err_set(err, MAS_NOT_FOUND, "cannot go to pane '%s': there is no such pane", pane);
    /* a format of a pane that does not exist is empty, and if-shell then takes another one */
    str_addf(&script, "if-shell -F -t '%s' '", pane);
    if (id != NULL)
        str_addf(&script, "#{&&:#{==:#{pane_id},%s},#{==:#{@mas_id},%s}}'", pane, id);
    else
        str_addf(&script, "#{==:#{pane_id},%s}'", pane);
    tmux_add_word(&script, go);
    str_add(&script, " 'display-message -p gone'\n");
    if (tmux_run_script(socket, &script, "go to an agent", &out, err) == -1) {
        if (strstr(err->text, "can't find pane") != NULL)
            err->code = MAS_NOT_FOUND;
        return -1;
    }
    return out.len == 0 ? 0
                        : err_set(err, MAS_NOT_FOUND, "cannot go to pane '%s': it is gone", pane);
}

int tmux_client_hand_over(const char *socket, const char *client, const char *command,
                          struct err *err)
{
    _cleanup_str_ struct str script = STR_INIT;

    if (!is_client(client))
        return err_set(err, MAS_NOT_FOUND, "cannot find a tmux client '%s'", client);
    str_addf(&script, "detach-client -t '%s' -E", client);
    tmux_add_word(&script, command);
    str_addc(&script, '\n');
    return tmux_run_script(socket, &script, "hand the client over", NULL, err);
}

void tmux_client_say(const char *socket, const char *client, const char *text)
{
    _cleanup_str_ struct str script = STR_INIT;
    _cleanup_free_ char *plain = mem_dup(text);
    struct err ignored = ERR_INIT;

    for (char *p = plain; *p != '\0'; p++)
        if (*p < ' ' || *p == '#' || *p == '%' || *p == 127)
            *p = ' ';
    if (!is_client(client))
        return;
    str_addf(&script, "display-message -c '%s'", client);
    tmux_add_word(&script, plain);
    str_addc(&script, '\n');
    (void)tmux_run_script(socket, &script, "show a message", NULL, &ignored);
}

int tmux_add_attach(const char *socket, const struct tmux_place *place, struct str *to,
                    struct err *err)
{
    _cleanup_free_ char *program = NULL;

    if (tmux_program(&program, err) == -1)
        return -1;
    str_add_shell(to, program, false);
    str_add(to, " -u -S ");
    str_add_shell(to, socket, false);
    str_addf(to, " select-window -t %s \\; select-pane -t %s \\; attach-session -t '%s:'",
             place->window, place->pane, place->session);
    return 0;
}

void tmux_add_key(const char *key, const char *program, const char *args, bool popup,
                  struct str *to)
{
    _cleanup_str_ struct str line = STR_INIT;

    for (const char *p = program; *p != '\0'; p++) {
        str_addc(&line, *p);
        if (*p == '#' && !popup) /* run-shell expands formats */
            str_addc(&line, '#');
    }
    str_add(&line, args);
    str_addf(to, "bind-key %s ", key);
    str_add(to, popup ? "display-popup -E -w 100% -h 100%" : "run-shell -b");
    tmux_add_word(to, line.data);
    str_addc(to, '\n');
}

/*
 * The part of tmux/tmux.h that acts on an existing session. tmux itself compares @mas_id in the
 * same script, because after a look another session may have got the number. Several screens come
 * in one answer, with a word between them that no screen can contain. An attach replaces this
 * process, so what it needs is checked before.
 */

#include "os/path.h"
#include "tmux/tmux.h"
#include "tmux/tmux_call.h"

enum { ATTACH_ARGS_MAX = 24, SERVER_EXIT_MS = 1000 };

void tmux_wait_exit(const char *socket_path, int timeout_ms)
{
    struct err ignored = ERR_INIT;
    struct proc_id server;
    pid_t pid;
    if (tmux_is_alive(socket_path, &pid, &ignored) == 1 && proc_identify(pid, &server))
        (void)proc_wait_gone(&server, 1, timeout_ms);
}

void tmux_drop_own_server(const char *socket_path, const char *tmux_name)
{
    const char *base = strrchr(socket_path, '/');
    struct err ignored = ERR_INIT;
    struct stat st;
    pid_t pid;

    if (base == NULL || strcmp(base + 1, tmux_name) != 0)
        return;
    tmux_wait_exit(socket_path, SERVER_EXIT_MS);
    if (lstat(socket_path, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_uid == geteuid() &&
        tmux_is_alive(socket_path, &pid, &ignored) == 0)
        (void)unlink(socket_path);
}

int tmux_who_has(const char *socket_path, const char *name, char ret[ID_TEXT], struct err *err)
{
    const char *args[] = {"list-sessions", "-F", "#{session_name}:#{@mas_id}", NULL};
    struct tmux_call call = {.socket = socket_path, .args = args, .dir = -1};
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    size_t len = strlen(name);
    char *save = NULL;
    int found = 0;

    int alive = tmux_is_alive(socket_path, &call.server, err);
    if (alive != 1)
        return alive;
    int rc = tmux_call(&call, &result, err);
    if (rc == 0 && result.status != 0 && !tmux_said_gone(&result))
        rc = tmux_fail(&result, "list sessions", err);
    char *line = rc == 0 && result.status == 0 ? tmux_first_line(&result, &save) : NULL;
    for (; line != NULL && found == 0; line = strtok_r(NULL, "\n", &save)) {
        if (strncmp(line, name, len) != 0 || line[len] != ':')
            continue;
        const char *id = line + len + 1;
        found = 1;
        ret[0] = '\0';
        if (id_is_valid(id))
            memcpy(ret, id, ID_TEXT);
    }
    return rc == -1 ? -1 : found;
}

/* Reads a line "TTY PANE". Returns false if it is not one. */
static bool parse_client(const char *line, struct tmux_client *ret)
{
    const char *blank = strrchr(line, ' ');
    size_t len = blank != NULL ? (size_t)(blank - line) : 0;

    if (blank == NULL || len >= sizeof ret->tty || strlen(blank + 1) >= sizeof ret->pane ||
        !str_starts(line, "/dev/") || !tmux_is_target(blank + 1, '%'))
        return false;
    *ret = (struct tmux_client){.tty = ""};
    memcpy(ret->tty, line, len);
    memcpy(ret->pane, blank + 1, strlen(blank + 1));
    return true;
}

int tmux_clients(const char *socket_path, struct tmux_client **ret, size_t *ret_count,
                 struct err *err)
{
    const char *args[] = {"list-clients", "-F", "#{client_tty} #{pane_id}", NULL};
    struct tmux_call call = {.socket = socket_path, .args = args, .dir = -1};
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    struct tmux_client *clients = NULL;
    size_t count = 0;
    char *save = NULL;

    int rc = tmux_call(&call, &result, err);
    if (rc == 0 && result.status != 0 && !tmux_said_gone(&result))
        rc = tmux_fail(&result, "list the clients", err);
    char *line = rc == 0 && result.status == 0 ? tmux_first_line(&result, &save) : NULL;
    for (; line != NULL; line = strtok_r(NULL, "\n", &save)) {
        clients = mem_room(clients, count, sizeof *clients);
        count += parse_client(line, &clients[count]);
    }
    if (rc == -1) {
        free(clients);
        return -1;
    }
    *ret = clients;
    *ret_count = count;
    return 0;
}

int tmux_kill(const char *socket_path, const char *target, const char *id, struct err *err)
{
    _cleanup_str_ struct str script = STR_INIT;
    struct err why = ERR_INIT;
    struct err ignored = ERR_INIT;
    pid_t pid;

    /* the server itself compares, so another session that has the number by now is safe */
    str_addf(&script, "if-shell -F -t '%s:' '#{==:#{@mas_id},%s}' \"kill-session -t '%s'\"\n",
             target, id, target);
    if (tmux_run_script(socket_path, &script, "end the tmux session", NULL, &why) == 0 ||
        tmux_is_alive(socket_path, &pid, &ignored) == 0 ||
        strstr(why.text, "can't find session") != NULL)
        return 0;
    *err = why;
    return -1;
}

int tmux_capture(const char *socket_path, const char *target, struct str *to, struct err *err)
{
    const char *list[] = {"list-panes", "-s", "-t", target, "-F", "#{pane_id}", NULL};
    struct tmux_call call = {.socket = socket_path, .args = list, .dir = -1};
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    _cleanup_str_ struct str script = STR_INIT;
    char *save = NULL;

    int rc = tmux_call(&call, &result, err);
    if (rc == 0 && result.status != 0)
        rc = tmux_fail(&result, "list panes", err);
    char *line = rc == 0 ? tmux_first_line(&result, &save) : NULL;
    for (; line != NULL; line = strtok_r(NULL, "\n", &save))
        if (tmux_is_target(line, '%'))
            str_addf(&script,
                     "display-message -p -t '%s' '=== #{pane_id} #{q:pane_title}'\n"
                     "capture-pane -p -S - -t '%s'\n",
                     line, line);
    if (rc == 0 && script.len > 0)
        rc = tmux_run_script(socket_path, &script, "read the contents of the panes", to, err);
    return rc;
}

static const char capturing[] = "read the contents of the panes";

/* Returns the text between a pane's mark and the next one, without the empty lines at its end. */
static char *cut_screen(const char *start, const char *end)
{
    while (end > start && end[-1] == '\n')
        end--;
    return end > start ? mem_printf("%.*s\n", (int)(end - start), start) : mem_dup("");
}

/* Reads one pane. Without a script, so that others can check the arguments. */
static int capture_one(const char *socket_path, const struct tmux_capture_words *words,
                       struct str *out, struct err *err)
{
    const char *const args[] = {TMUX_CAPTURE_ARGS(words), NULL};
    const struct tmux_call call = {.socket = socket_path, .args = args, .dir = -1};
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;

    int rc = tmux_call(&call, &result, err);
    if (rc == 0 && result.status != 0)
        rc = tmux_fail(&result, capturing, err);
    if (rc == 0)
        str_addn(out, str_text(&result.out), result.out.len);
    return rc;
}

/* Reads several panes in one call. */
static int capture_all(const char *socket_path, const struct tmux_capture_words *words,
                       size_t count, struct str *out, struct err *err)
{
    _cleanup_str_ struct str script = STR_INIT;

    for (size_t i = 0; i < count; i++)
        str_addf(&script, "if-shell -F -t '%s' '%s' \"%s\"\n", words[i].pane, words[i].is_ours,
                 words[i].capture);
    str_addf(&script, "display-message -p '%s'\n", words[0].end);
    return tmux_run_script(socket_path, &script, capturing, out, err);
}

int tmux_capture_panes(const char *socket_path, const char *id, int history,
                       struct tmux_screen *screens, size_t count, struct err *err)
{
    _cleanup_free_ struct tmux_capture_words *words = mem_alloc(count * sizeof *words);
    _cleanup_str_ struct str out = STR_INIT;
    char nonce[ID_TEXT]; /* unpredictable, so no screen can contain it */
    size_t known = 0;

    if (id_make(nonce, err) == -1)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (tmux_is_target(screens[i].pane, '%'))
            tmux_capture_say(screens[i].pane, id, nonce, i, history, &words[known++]);
    if (known == 0)
        return 0;
    if ((known == 1 ? capture_one(socket_path, words, &out, err)
                    : capture_all(socket_path, words, known, &out, err)) == -1)
        return -1;
    const char *at = strstr(str_text(&out), nonce);
    while (at != NULL) {
        const char *line = strchr(at, '\n');
        const char *next = line != NULL ? strstr(line, nonce) : NULL;
        size_t i = strtoul(at + strlen(nonce), NULL, 10);
        if (next != NULL && i < count && screens[i].text == NULL)
            screens[i].text = cut_screen(line + 1, next);
        at = next;
    }
    return 0;
}

int tmux_respawn(const char *socket_path, const struct tmux_pane *const *panes, size_t count,
                 struct err *err)
{
    _cleanup_str_ struct str script = STR_INIT;

    for (size_t i = 0; i < count; i++)
        str_addf(&script,
                 "respawn-pane -k -t '%s'\nset-option -p -t '%s' " TMUX_PANE_STATE " idle\n"
                 "set-option -p -t '%s' " TMUX_PANE_WAITS " ''\n",
                 panes[i]->pane, panes[i]->pane, panes[i]->pane);
    return tmux_run_script(socket_path, &script, "restart the hosts", NULL, err);
}

int tmux_set_root(const char *socket_path, const char *target, const struct root *root,
                  const struct session *session, struct err *err)
{
    _cleanup_str_ struct str script = STR_INIT;
    _cleanup_kv_ struct kv env = {.count = 0};

    session_env(root, session, &env);
    str_addf(&script, "set-option -t '%s:' @mas_root", target);
    tmux_add_word(&script, root->path);
    for (size_t i = 0; i < env.count; i++) {
        str_addf(&script, " ; set-environment -t '%s:' %s", target, env.pairs[i].key);
        tmux_add_word(&script, env.pairs[i].value);
    }
    str_addc(&script, '\n');
    return tmux_run_script(socket_path, &script, "tell tmux the new root", NULL, err);
}

void tmux_add_name(const char *target, const char *was, const char *name, struct str *script)
{
    str_addf(script,
             "if-shell -F -t '%s:' '#{==:#{status-left},[%s] }' "
             "{ set-option -t '%s:' status-left '[%s] ' }",
             target, was[0] != '\0' ? was : "##{session_name#}", target,
             name[0] != '\0' ? name : "#{session_name}");
}

int tmux_set_name(const char *socket, const char *target, const char *was, const char *name,
                  struct err *err)
{
    _cleanup_str_ struct str script = STR_INIT;

    tmux_add_name(target, was, name, &script);
    str_addc(&script, '\n');
    return tmux_run_script(socket, &script, "tell tmux the new name", NULL, err);
}

/* Looks for the description in a list of directories, separated by colons. Sets *any if one of them
 * has descriptions. */
static bool is_in(const char *dirs, const char *term, bool *any)
{
    for (const char *at = dirs; at != NULL && *at != '\0';) {
        size_t len = strcspn(at, ":");
        _cleanup_free_ char *common = mem_printf("%.*s/x/xterm", (int)len, at);
        _cleanup_free_ char *file = mem_printf("%.*s/%c/%s", (int)len, at, term[0], term);
        if (len > 0 && access(file, F_OK) == 0)
            return true;
        *any = *any || (len > 0 && access(common, F_OK) == 0);
        at += len + (at[len] == ':');
    }
    return false;
}

/* Returns false if this machine has descriptions of terminals, but none of `term`. */
static bool terminfo_knows(const char *term)
{
    const char *home = getenv("HOME");
    _cleanup_free_ char *own = mem_printf("%s/.terminfo", home != NULL ? home : "");
    const char *const places[] = {getenv("TERMINFO"), own, getenv("TERMINFO_DIRS"),
                                  "/etc/terminfo:/lib/terminfo:/usr/share/terminfo:/usr/lib/"
                                  "terminfo:/usr/local/share/terminfo"};
    bool any = false;

    if (strchr(term, '/') != NULL)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        if (is_in(places[i], term, &any))
            return true;
    return !any;
}

int tmux_check_attach(const char *socket_path, struct err *err)
{
    _cleanup_free_ char *inside = tmux_inside();
    const char *term = getenv("TERM");

    if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0) {
        (void)err_set(err, MAS_FAILED, "cannot attach: stdin or stdout is not a terminal");
        return err_hint(err, "see an agent's screen with: mas peek SESSION AGENT");
    }
    if (term == NULL || term[0] == '\0' || strcmp(term, "dumb") == 0) {
        (void)err_set(err, MAS_FAILED,
                      "cannot attach: TERM does not name the type of this terminal");
        return err_hint(err, "set it, for example: export TERM=xterm-256color");
    }
    if (inside == NULL && !terminfo_knows(term)) {
        (void)err_set(err, MAS_FAILED, "cannot attach: terminfo does not know this terminal, '%s'",
                      term);
        return err_hint(err, "name one that is like it, for example: export TERM=xterm-256color");
    }
    if (inside != NULL && !tmux_same_socket(inside, socket_path)) {
        (void)err_set(err, MAS_TMUX,
                      "cannot attach: this terminal is inside another tmux server ('%s')", inside);
        return err_hint(err, "detach from it first, or begin the command with: TMUX=");
    }
    return 0;
}

int tmux_attach(const char *socket_path, const char *target, const struct tmux_pane *pane,
                struct err *err)
{
    _cleanup_free_ char *inside = tmux_inside();
    _cleanup_free_ char *program = NULL;
    char session[32];
    const char *argv[ATTACH_ARGS_MAX] = {"tmux", "-u", "-S", socket_path};
    size_t n = 4;
    pid_t pid;

    if (tmux_program(&program, err) == -1 || tmux_is_alive(socket_path, &pid, err) == -1)
        return -1;
    if (pane != NULL) {
        const char *select[] = {"select-window", "-t", pane->window, ";",
                                "select-pane",   "-t", pane->pane,   ";"};
        for (size_t i = 0; i < ARRAY_LEN(select); i++)
            argv[n++] = select[i];
    }
    (void)snprintf(session, sizeof session, "%s:", target);
    argv[n++] = inside != NULL ? "switch-client" : "attach-session";
    argv[n++] = "-t";
    argv[n++] = session;
    argv[n] = NULL;
    (void)proc_exec(program, (char *const *)(uintptr_t)argv, NULL, err);
    err->code = MAS_TMUX;
    return -1;
}

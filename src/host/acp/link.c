/*
 * The pipes to the agent's process, and what is said of it. What the agent writes goes to
 * protocol/acp.h, which calls process.c. When clients or the disk cannot keep up, it waits in its
 * pipe.
 */

#include "host/acp/conversation.h"

#include "base/time.h"
#include "host/acp/agent_side.h"
#include "host/acp/turn_side.h"
#include "host/talk/event.h"
#include "host/unwritten.h"

enum {
    READ_CHUNK = 64 * 1024,
    READ_ROUNDS = 8, /* chunks at once, so that others are heard too */
    LAST_WORDS = 1000, /* bytes of what the agent printed last, in an error */
    WORDS_SHOWN = 200, /* bytes of an agent's words */
    COMMAND_SHOWN = 600, /* bytes of a command by which a person logs in */
    METHODS_MAX = 32 * 1024, /* bytes of its login methods */
};

/* ---- the pipes */

int link_connect(struct host *host, int ret_fds[3], struct err *err)
{
    struct agent_link *link = &host->conversation->link;
    int in[2] = {-1, -1};
    int out[2] = {-1, -1};
    int error[2] = {-1, -1};

    if (pipe2(in, O_CLOEXEC) == -1 || pipe2(out, O_CLOEXEC) == -1 ||
        pipe2(error, O_CLOEXEC) == -1) {
        (void)err_errno(err, "cannot create a pipe");
        for (int i = 0; i < 2; i++) {
            fd_closep(&in[i]);
            fd_closep(&out[i]);
            fd_closep(&error[i]);
        }
        return -1;
    }
    link->in = in[1];
    link->out = out[0];
    link->err = error[0];
    for (size_t i = 0; i < 3; i++)
        (void)fcntl(((int[]){in[1], out[0], error[0]})[i], F_SETFL, O_NONBLOCK);
    ret_fds[0] = in[0];
    ret_fds[1] = out[1];
    ret_fds[2] = error[1];
    return 0;
}

void link_close(struct agent_link *link)
{
    fd_closep(&link->in);
    fd_closep(&link->out);
    fd_closep(&link->err);
    acp_free(link->acp);
    link->acp = NULL;
    link->cleared = false;
    link->left = link->unclosed = 0;
}

void link_free(struct agent_link *link)
{
    watcher_free(&link->printed);
    free(link->cwd);
    free(link->machine);
    free(link->tools);
    free(link->program);
}

void link_enter(struct host *host, enum phase phase, int64_t serial, int64_t until)
{
    struct phase_state *state = &host->conversation->link.phase;
    enum phase before = state->now;

    if (phase_enter(state, phase, serial, until))
        return;
    _cleanup_free_ char *words =
        mem_printf("bug in mas: the phase %s follows %s, which waits for %s", phase_name(phase),
                   phase_name(before), phase_event(before));
    host_log(host, words);
}

/* ---- bytes */

void link_flush(struct host *host)
{
    struct agent_link *link = &host->conversation->link;
    size_t len = 0;

    while (link->acp != NULL && link->in != -1) {
        const char *bytes = acp_out(link->acp, &len);
        if (len == 0)
            return;
        ssize_t n = write(link->in, bytes, len);
        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1 && errno != EAGAIN) /* the supervisor tells its end */
            fd_closep(&link->in);
        if (n <= 0)
            return;
        acp_sent(link->acp, (size_t)n);
    }
}

/* Reads once from a pipe, and closes it at its end. Returns -1 with errno if nothing is there. */
static ssize_t read_pipe(int *fd, char *chunk, size_t size)
{
    if (*fd == -1) {
        errno = EBADF;
        return -1;
    }
    ssize_t n = read(*fd, chunk, size);
    if (n == 0)
        fd_closep(fd);
    return n;
}

/* Reads the protocol once. Returns false if nothing is there now. */
static bool read_out(struct host *host)
{
    static char chunk[READ_CHUNK];
    struct agent_link *link = &host->conversation->link;
    ssize_t n = read_pipe(&link->out, chunk, sizeof chunk);

    if (n <= 0)
        return n == -1 && errno == EINTR;
    host->output_ms = time_epoch_ms();
    if (link->acp != NULL)
        acp_feed(link->acp, chunk, (size_t)n);
    return true;
}

/* Reads the standard error once, for the log. Returns false if nothing is there now. */
static bool read_err(struct host *host)
{
    static char chunk[READ_CHUNK];
    struct agent_link *link = &host->conversation->link;
    ssize_t n = read_pipe(&link->err, chunk, sizeof chunk);

    if (n <= 0)
        return n == -1 && errno == EINTR;
    chat_keep_error(host, chunk, (size_t)n);
    watcher_output(&link->printed, chunk, (size_t)n, time_monotonic_ms());
    return true;
}

/* Reads all that is there. */
void link_drain(struct host *host)
{
    enum { MOST = 4096 }; /* chunks: a process that holds the pipe may go on printing */

    for (int i = 0; i < MOST && read_err(host); i++)
        ;
    for (int i = 0; i < MOST && read_out(host); i++)
        ;
}

void link_want(const struct host *host, struct loop *loop)
{
    const struct agent_link *link = &host->conversation->link;
    size_t len = 0;

    if (link->acp != NULL && link->in != -1)
        (void)acp_out(link->acp, &len);
    if (len > 0)
        loop_want(loop, link->in, POLLOUT);
    if (!event_has_full_listener(host) && !unwritten_is_full(host))
        loop_want(loop, link->out, POLLIN);
    loop_want(loop, link->err, POLLIN);
}

void link_serve(struct host *host, struct loop *loop)
{
    const struct agent_link *link = &host->conversation->link;

    if (loop_got(loop, link->err) != 0)
        for (int i = 0; i < READ_ROUNDS && read_err(host); i++)
            ;
    if (loop_got(loop, link->out) != 0)
        for (int i = 0; i < READ_ROUNDS && !event_has_full_listener(host) &&
                        !unwritten_is_full(host) && read_out(host);
             i++)
            ;
}

void link_keep_trouble(struct agent_link *link, const char *words)
{
    (void)snprintf(link->trouble, sizeof link->trouble, "%.*s",
                   (int)str_fit(words, sizeof link->trouble - 1), words);
}

/* ---- words about it */

void link_add_last_words(struct host *host, struct str *to)
{
    enum { MOST = 64 }; /* chunks: the agent may go on printing */
    _cleanup_str_ struct str lines = STR_INIT;

    for (int i = 0; i < MOST && read_err(host); i++)
        ;
    if (geteuid() == 0 && host->preset->as_root[0] != '\0')
        str_addf(to, "; as root: %s", host->preset->as_root);
    watcher_last_lines(&host->conversation->link.printed, LAST_WORDS, &lines);
    if (lines.len == 0)
        return;
    str_add(to, "; it printed: ");
    for (char *line, *rest = lines.data; (line = strsep(&rest, "\n")) != NULL;) {
        str_add_visible(to, line, strlen(line));
        str_add(to, rest != NULL ? " | " : "");
    }
}

/* Appends the command by which a person logs in on a terminal: that of the agent, with the
 * arguments and variables of the method. */
static void add_command(const struct host *host, const struct json *method, struct str *to)
{
    enum { WORDS = 32 };
    _cleanup_str_ struct str command = STR_INIT;
    size_t words = 0;

    for (const struct json *it = json_first(json_get(method, "env")); it != NULL;
         it = json_next(it)) {
        if (!json_is_string(it) || ++words > WORDS)
            continue;
        str_addf(&command, "%s=", json_key(it));
        str_add_shell(&command, json_text(it), false);
        str_addc(&command, ' ');
    }
    for (char *const *word = host->argv; *word != NULL; word++) {
        str_add_shell(&command, *word, false);
        str_addc(&command, ' ');
    }
    for (const struct json *it = json_first(json_get(method, "args")); it != NULL;
         it = json_next(it)) {
        if (!json_is_string(it) || ++words > WORDS)
            continue;
        str_add_shell(&command, json_text(it), false);
        str_addc(&command, ' ');
    }
    str_add(to, ", in a terminal: ");
    str_add_visible(to, str_text(&command), str_fit(str_text(&command), COMMAND_SHOWN));
    while (to->len > 0 && to->data[to->len - 1] == ' ')
        to->data[--to->len] = '\0';
}

void link_add_login(const struct host *host, struct str *to)
{
    const struct acp *acp = host->conversation->link.acp;
    const struct acp_info *info = acp != NULL ? acp_info(acp) : NULL;
    _cleanup_json_ struct json *methods = NULL;
    struct err err = ERR_INIT;
    bool any = false;

    if (info == NULL || info->auth == NULL ||
        json_parse(info->auth, strlen(info->auth), METHODS_MAX, &methods, &err) == -1)
        methods = NULL;
    for (const struct json *m = json_first(methods); m != NULL; m = json_next(m)) {
        const char *name = json_get_text(m, "name");
        const char *description = json_get_text(m, "description");
        if (name == NULL)
            continue;
        str_addf(to, "%s%.*s", any ? ", or " : "; log in by: ", WORDS_SHOWN, name);
        if (description != NULL && description[0] != '\0')
            str_addf(to, " (%.*s)", WORDS_SHOWN, description);
        if (strcmp(json_get_text_or(m, "type", "agent"), "terminal") == 0)
            add_command(host, m, to);
        any = true;
    }
    if (host->preset->login[0] != '\0')
        str_addf(to, "%s%.*s", any ? ", or with: " : "; log in with: ", WORDS_SHOWN,
                 host->preset->login);
    else if (host->preset->login_command[0] != '\0')
        str_addf(to, "%s%.*s", any ? ", or with: " : "; log in with: ", WORDS_SHOWN,
                 host->preset->login_command);
    else if (!any)
        str_add(to, "; log in with its own program");
    if (host->wall.report.level != WALL_OFF && host->preset->login_command[0] != '\0')
        str_add(to, ", or with /login in its pane");
    str_add(to, any ? "; then ask again" : ", then ask again");
}

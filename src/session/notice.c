/*
 * The session, its team and the clients of its tmux server are read once, then each notice goes
 * through all ways in turn, the quick ones first. One way that fails does not stop the others.
 * Programs are run one at a time, each with a mark in its environment; if one has to be ended,
 * everything with its mark is. Nothing is tried again.
 */

#include "session/notice.h"

#include "base/json.h"
#include "base/time.h"
#include "model/notice.h"
#include "model/team/team.h"
#include "os/path.h"
#include "os/proc.h"
#include "store/session.h"
#include "store/team_file.h"
#include "store/workspace.h"
#include "tmux/tmux.h"

enum {
    OUTPUT_MAX = 64 * 1024, /* bytes of a program's output; one that prints more is ended */
    MINUTES = 60,
};

extern char **environ;

enum notify_way { NOTIFY_TERMINAL, NOTIFY_DESKTOP, NOTIFY_COMMAND, NOTIFY_WEBHOOK, NOTIFY_WAYS };

struct notice_delivery {
    const struct root *root;
    const struct config *config;
    struct session session;
    struct team team;
    const struct agent *agent;
    int dir; /* the workspace */
    struct tmux_client *clients;
    size_t client_count;
    int hangs[NOTIFY_WAYS]; /* time limits in a row */
    struct err last[NOTIFY_WAYS]; /* why it failed last; the same reason is logged once */
};

/* The texts of one notice. */
struct texts {
    struct str title; /* "login: 11 (worker) waits for you" */
    struct str body; /* what it asks, and how to answer */
    struct str json;
};

static const char *label(const struct notice_delivery *delivery)
{
    return delivery->session.name[0] != '\0' ? delivery->session.name : delivery->session.tmux_name;
}

static void put_json(const struct notice_delivery *delivery, const struct notice *notice,
                     const char *answer, struct str *to)
{
    struct json_out out = {.to = to};
    char time[TIME_TEXT];

    time_format((time_t)(notice->at_ms / 1000), time);
    json_put_all(&out, JO(NULL), JT("notice", notice_kind_name(notice->kind)), JT("time", time),
                 JI("timeMs", notice->at_ms), JT("root", delivery->root->path),
                 JT("sessionId", delivery->session.id), JT("name", delivery->session.name),
                 JT("tmuxSession", delivery->session.tmux_name), JT("agent", delivery->agent->id),
                 JT("role", delivery->agent->role), JT("text", notice->text),
                 JT("request", notice->request[0] != '\0' ? notice->request : NULL),
                 JT("answer", answer), JOE);
}

static void make_texts(const struct notice_delivery *delivery, const struct notice *notice,
                       struct texts *ret)
{
    static const char *const what[NOTICE_KIND_COUNT] = {
        [NOTICE_WAITING] = "waits for you",
        [NOTICE_CRASHED] = "has crashed",
        [NOTICE_FAILED] = "has failed",
        [NOTICE_DONE] = "is done",
        [NOTICE_LIMIT] = "was stopped by a limit",
        [NOTICE_CONFLICT] = "conflicts",
    };
    _cleanup_free_ char *answer =
        notice->request[0] != '\0' ? mem_printf("mas approve %s", notice->request) : NULL;

    str_addf(&ret->title, "mas: %s: %s (%s) %s", label(delivery), delivery->agent->id,
             delivery->agent->role, what[notice->kind]);
    str_add(&ret->body, notice->text);
    if (answer != NULL)
        str_addf(&ret->body, "%s%s", ret->body.len > 0 ? " - " : "", answer);
    put_json(delivery, notice, answer, &ret->json);
}

static void texts_free(struct texts *texts)
{
    str_free(&texts->title);
    str_free(&texts->body);
    str_free(&texts->json);
}

/* ---- programs */

/* Returns this process's environment without variables of mas, except the root, and with those of
 * the notice. */
static char **make_env(const struct notice_delivery *delivery, const struct notice *notice)
{
    const struct {
        const char *key, *value;
    } all[] = {
        {"MAS_ROOT", delivery->root->path},
        {"MAS_NOTICE", notice_kind_name(notice->kind)},
        {"MAS_NOTICE_TEXT", notice->text},
        {"MAS_NOTICE_REQUEST", notice->request},
        {"MAS_NOTICE_SESSION", delivery->session.id},
        {"MAS_NOTICE_NAME", delivery->session.name},
        {"MAS_NOTICE_AGENT", delivery->agent->id},
        {"MAS_NOTICE_ROLE", delivery->agent->role},
    };
    char **env = NULL;

    for (char **e = environ; *e != NULL; e++)
        if (!str_starts(*e, "MAS_"))
            strv_push(&env, *e);
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        _cleanup_free_ char *entry = mem_printf("%s=%s", all[i].key, all[i].value);
        strv_push(&env, entry);
    }
    return env;
}

/* Runs a program with this input. Fails with MAS_TIMEOUT after the time limit; then all that it has
 * started ends too. */
static int run(const struct notice_delivery *delivery, const struct notice *notice,
               char *const *argv, const struct str *input, struct err *err)
{
    const char *search = getenv("PATH");
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    _cleanup_strv_ char **env = make_env(delivery, notice);
    _cleanup_free_ char *file =
        path_find_program(argv[0], search != NULL ? search : "/usr/bin:/bin", delivery->root->fd);
    if (file == NULL)
        return err_set(err, MAS_FAILED, "there is no program '%s'", argv[0]);
    const struct proc_spec spec = {
        .file = file,
        .argv = argv,
        .envp = env,
        .cwd = delivery->root->fd,
        .input = input != NULL ? str_text(input) : NULL,
        .input_len = input != NULL ? input->len : 0,
        .output_max = OUTPUT_MAX,
        .timeout_ms = NOTICE_WAY_MS,
        .bound = true,
        .whole = true,
    };
    if (proc_capture(&spec, &result, err) == -1)
        return -1;
    return result.status == 0
               ? 0
               : err_set(err, MAS_FAILED, "'%s' exited with code %d", argv[0], result.status);
}

static int tell_command(struct notice_delivery *delivery, const struct notice *notice,
                        const struct texts *texts, struct err *err)
{
    const char *command = config_text(delivery->config, SETTING_NOTIFY_COMMAND);
    _cleanup_strv_ char **words = NULL;

    if (command[0] == '\0')
        return 0;
    if (str_split_words(command, &words, err) == -1)
        return -1;
    if (words == NULL || words[0] == NULL)
        return err_set(err, MAS_FAILED, "it names no program");
    return run(delivery, notice, words, &texts->json, err);
}

/* Notification servers read markup in the body. */
static void add_markup(struct str *to, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '&')
            str_add(to, "&amp;");
        else if (*text == '<')
            str_add(to, "&lt;");
        else if (*text == '>')
            str_add(to, "&gt;");
        else
            str_addc(to, *text);
    }
}

static int tell_desktop(struct notice_delivery *delivery, const struct notice *notice,
                        const struct texts *texts, struct err *err)
{
    _cleanup_str_ struct str body = STR_INIT;
    _cleanup_free_ char *urgency =
        mem_printf("--urgency=%s", notice->kind <= NOTICE_FAILED ? "critical" : "normal");

    if (!config_yes(delivery->config, SETTING_NOTIFY_DESKTOP))
        return 0;
    add_markup(&body, str_text(&texts->body));
    const char *argv[] = {"notify-send",           "--app-name=mas", urgency, "--",
                          str_text(&texts->title), str_text(&body),  NULL};
    return run(delivery, notice, (char *const *)(uintptr_t)argv, NULL, err);
}

/* Appends a line of curl's configuration. Its words are quoted with backslashes. */
static void add_option(struct str *to, const char *name, const char *value)
{
    str_addf(to, "%s = \"", name);
    for (; *value != '\0'; value++) {
        if (*value == '"' || *value == '\\')
            str_addc(to, '\\');
        str_addc(to, *value);
    }
    str_add(to, "\"\n");
}

/* curl reads everything from its standard input, because other users can see arguments, and a URL
 * may hold a secret. */
static int tell_webhook(struct notice_delivery *delivery, const struct notice *notice,
                        const struct texts *texts, struct err *err)
{
    static const char *const argv[] = {"curl", "-q", "--config", "-", NULL};
    static const char *const options[][2] = {
        {"proto", "=http,https"},
        {"max-redirs", "0"},
        {"header", "Content-Type: application/json"},
        {"user-agent", "mas"},
        {"output", "/dev/null"},
    };
    const char *url = config_text(delivery->config, SETTING_NOTIFY_WEBHOOK);
    _cleanup_str_ struct str input = STR_INIT;

    if (url[0] == '\0')
        return 0;
    str_add(&input, "silent\nfail\ngloboff\n");
    for (size_t i = 0; i < ARRAY_LEN(options); i++)
        add_option(&input, options[i][0], options[i][1]);
    add_option(&input, "url", url);
    add_option(&input, "data-raw", str_text(&texts->json));
    return run(delivery, notice, (char *const *)(uintptr_t)argv, &input, err);
}

/* ---- terminals */

/* Writes to a terminal in one piece, or not at all. */
static int write_tty(const char *tty, const struct str *bytes, struct err *err)
{
    _cleanup_close_ int fd = open(tty, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    if (fd == -1)
        return errno == ENXIO || errno == EIO || errno == ENOENT
                   ? 0 /* the client has gone */
                   : err_errno(err, "cannot open '%s'", tty);
    if (fstat(fd, &st) == -1 || !S_ISCHR(st.st_mode) || st.st_uid != geteuid())
        return err_set(err, MAS_FAILED, "'%s' is not a terminal of this user", tty);
    if (write(fd, bytes->data, bytes->len) == -1 && errno != EAGAIN && errno != EIO)
        return err_errno(err, "cannot write to '%s'", tty);
    return 0;
}

/* The texts have no control characters: notice_fill() and the checks of names see to that. */
static int tell_terminal(struct notice_delivery *delivery, const struct notice *notice,
                         const struct texts *texts, struct err *err)
{
    _cleanup_str_ struct str bytes = STR_INIT;
    const int ways = config_number(delivery->config, SETTING_NOTIFY_TERMINAL);
    int rc = 0;

    (void)notice;
    if ((ways & NOTICE_OSC9) != 0)
        str_addf(&bytes, "\033]9;%s: %s\033\\", str_text(&texts->title), str_text(&texts->body));
    if ((ways & NOTICE_OSC777) != 0)
        str_addf(&bytes, "\033]777;notify;%s;%s\033\\", str_text(&texts->title),
                 str_text(&texts->body));
    if ((ways & NOTICE_BELL) != 0)
        str_addc(&bytes, '\a');
    for (size_t i = 0; i < delivery->client_count && ways != 0; i++)
        if (write_tty(delivery->clients[i].tty, &bytes, err) == -1)
            rc = -1;
    return rc;
}

/* ---- all of them */

/* The quick ones first. */
static const struct {
    const char *name;
    int (*tell)(struct notice_delivery *delivery, const struct notice *notice,
                const struct texts *texts, struct err *err);
} ways[NOTIFY_WAYS] = {
    [NOTIFY_TERMINAL] = {"terminal", tell_terminal},
    [NOTIFY_DESKTOP] = {"desktop", tell_desktop},
    [NOTIFY_COMMAND] = {"command", tell_command},
    [NOTIFY_WEBHOOK] = {"webhook", tell_webhook},
};

static void log_failure(struct notice_delivery *delivery, enum notify_way way,
                        const struct err *why)
{
    bool given_up = delivery->hangs[way] == NOTICE_HANGS_MAX;

    if (strcmp(why->text, delivery->last[way].text) == 0 && !given_up)
        return;
    delivery->last[way] = *why;
    workspace_log(delivery->dir, config_log_limits(delivery->config),
                  "cannot notify by [notify] %s: %s%s", ways[way].name, why->text,
                  given_up ? "; the notices that wait are not sent this way" : "");
}

static void deliver_one(struct notice_delivery *delivery, const struct notice *notice)
{
    struct texts texts = {.title = STR_INIT};

    make_texts(delivery, notice, &texts);
    for (int way = 0; way < NOTIFY_WAYS; way++) {
        struct err why = ERR_INIT;
        if (delivery->hangs[way] == NOTICE_HANGS_MAX)
            continue;
        if (ways[way].tell(delivery, notice, &texts, &why) == 0) {
            delivery->hangs[way] = 0;
            continue;
        }
        delivery->hangs[way] = why.code == MAS_TIMEOUT ? delivery->hangs[way] + 1 : 0;
        log_failure(delivery, (enum notify_way)way, &why);
    }
    texts_free(&texts);
}

static bool is_quiet(const struct config *config)
{
    time_t now = time(NULL);
    struct tm local;

    return localtime_r(&now, &local) != NULL &&
           notice_is_quiet(&config_value(config, SETTING_NOTIFY_QUIET)->quiet,
                           local.tm_hour * MINUTES + local.tm_min);
}

/* Returns true if a person looks at the pane. */
static bool is_looked_at(const struct notice_delivery *delivery, const char *pane)
{
    for (size_t i = 0; i < delivery->client_count; i++)
        if (strcmp(delivery->clients[i].pane, pane) == 0)
            return true;
    return false;
}

static int deliver_lines(struct notice_delivery *delivery, const char *text, struct err *err)
{
    while (text[0] != '\0') {
        _cleanup_json_ struct json *json = NULL;
        size_t len = strcspn(text, "\n");
        struct notice notice;
        if (json_parse(text, len, NOTICE_INPUT_MAX, &json, err) == -1 ||
            notice_parse(json, &notice, err) == -1)
            return err_wrap(err, "cannot read a notice");
        deliver_one(delivery, &notice);
        text += len + (text[len] != '\0');
    }
    return 0;
}

static int load(struct notice_delivery *delivery, const char *id, const char *agent,
                struct err *err)
{
    delivery->dir = workspace_open(delivery->root, id);
    if (delivery->dir == -1)
        return err_errno(err, "cannot open the workspace of session '%s'", id);
    if (session_load(delivery->root, delivery->dir, id, &delivery->session, err) == -1 ||
        team_file_load(delivery->dir, &delivery->team, err) == -1)
        return -1;
    delivery->agent =
        agent != NULL ? team_agent(&delivery->team, agent) : &delivery->team.agents[0];
    return delivery->agent != NULL
               ? 0
               : err_set(err, MAS_NOT_FOUND, "session '%s' has no agent '%s'", id, agent);
}

int notice_deliver(const struct root *root, const struct config *config, const char *id,
                   const char *agent, const char *pane, const char *text, struct err *err)
{
    struct notice_delivery delivery = {
        .root = root, .config = config, .session = SESSION_INIT, .team = TEAM_INIT, .dir = -1};
    struct err ignored = ERR_INIT;
    int rc = 0;

    if (is_quiet(config))
        return 0;
    rc = load(&delivery, id, agent, err);
    if (rc == 0)
        (void)tmux_clients(delivery.session.tmux_socket, &delivery.clients, &delivery.client_count,
                           &ignored);
    if (rc == 0 && !is_looked_at(&delivery, pane))
        rc = deliver_lines(&delivery, text, err);
    free(delivery.clients);
    team_free(&delivery.team);
    session_free(&delivery.session);
    fd_closep(&delivery.dir);
    return rc;
}

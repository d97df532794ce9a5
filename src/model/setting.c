/*
 * First the checks, which return NULL or what a valid value is, in words that follow "is not"; then
 * the table, in which the settings of a section stand together, because setting_write_defaults()
 * begins a section where its name changes. Last come the lists of settings that are special: those
 * that name programs, and those that hosts read only when they start.
 */

#include "model/setting.h"

#include "base/address.h"
#include "base/number.h"
#include "base/path.h"
#include "base/time.h"
#include "model/budget.h"
#include "model/limits.h"
#include "model/notice.h"
#include "model/retention_status.h"
#include "model/template_name.h"
#include "model/wall.h"

enum {
    SOCKET_PATH_MAX = 107,
    STOP_MAX_MS = 600 * 1000,
    LOG_KEEP_MAX = 1000,
    CLEAN_KEEP_MAX = 1000000,
    TURNS_MAX = 1000,
    MESSAGES_MAX = 10000,
    CHARACTERS_MIN = 100,
    CHARACTERS_MAX = 4000000,
    URL_MAX = 2048,
};

#define LOG_SIZE_MIN UINT64_C(4096)
#define LOG_SIZE_MAX (UINT64_C(1) << 40)

static const char *check_mode(const char *v)
{
    return strcmp(v, "isolated") == 0 || strcmp(v, "legacy") == 0 ? NULL : "isolated or legacy";
}

static const char *check_server(const char *v)
{
    return strcmp(v, "shared") == 0 || strcmp(v, "per-session") == 0 ? NULL
                                                                     : "shared or per-session";
}

static const char *check_name(const char *v)
{
    return str_is_word(v, 32) ? NULL : "1 to 32 letters, digits, _ or -";
}

static const char *check_socket(const char *v)
{
    if (strlen(v) > SOCKET_PATH_MAX || str_has_control(v))
        return "a text of at most 107 bytes without control characters";
    if (strchr(v, '/') != NULL && v[0] != '/')
        return "a name, or an absolute path";
    return strcmp(v, ".") == 0 || strcmp(v, "..") == 0 ? "a name, or an absolute path" : NULL;
}

static const char *check_size(const char *v)
{
    int columns;
    int rows;
    return setting_parse_size(v, &columns, &rows) ? NULL : "COLUMNSxROWS, from 10x3 to 1000x1000";
}

static const char *check_stop_time(const char *v)
{
    static const struct unit units[] = {{"", 1000}, {"s", 1000}};
    uint64_t ms;
    return number_parse(v, units, ARRAY_LEN(units), STOP_MAX_MS, &ms)
               ? NULL
               : "a number of seconds from 0 to 600, such as 2s";
}

static const char *check_log_size(const char *v)
{
    uint64_t size;
    return number_parse_size(v, LOG_SIZE_MAX, &size) && size >= LOG_SIZE_MIN
               ? NULL
               : "a size from 4K to 1T, such as 10M";
}

bool setting_parse_count(const char *v, uint64_t max, uint64_t *ret)
{
    return number_parse(v, (const struct unit[]){{"", 1}}, 1, max, ret);
}

static const char *check_log_keep(const char *v)
{
    uint64_t n;
    return setting_parse_count(v, LOG_KEEP_MAX, &n) ? NULL : "a number from 0 to 1000";
}

static const char *check_yes(const char *v)
{
    return strcmp(v, "yes") == 0 || strcmp(v, "no") == 0 ? NULL : "yes or no";
}

static const char *check_hardlink(const char *v)
{
    return strcmp(v, "readonly") == 0 || strcmp(v, "no") == 0 ? NULL : "no or readonly";
}

/* An age, or empty. */
static const char *check_age(const char *v)
{
    time_t age;
    return v[0] == '\0' || time_parse_age(v, &age) ? NULL : "an age, such as 90m, 12h or 7d";
}

/* A number, or empty. */
static const char *check_keep(const char *v)
{
    uint64_t n;
    return v[0] == '\0' || setting_parse_count(v, CLEAN_KEEP_MAX, &n) ? NULL
                                                                      : "a number up to 1000000";
}

/* A list of statuses, or empty. */
static const char *check_statuses(const char *v)
{
    return retention_parse_status(v, &(unsigned){0})
               ? NULL
               : "a comma-separated list of stopped, error and crashed";
}

static const char *check_archive_dir(const char *v)
{
    return v[0] != '\0' && strlen(v) < PATH_MAX && !str_has_control(v)
               ? NULL
               : "a path without control characters";
}

static const char *check_level(const char *v)
{
    uint64_t n;
    return setting_parse_count(v, 19, &n) && n > 0 ? NULL : "a number from 1 to 19";
}

static const char *check_disk_size(const char *v)
{
    uint64_t size;
    return number_parse_size(v, LIMIT_SIZE_MAX, &size) ? NULL : "a size up to 1024T, such as 500M";
}

static const char *check_memory(const char *v)
{
    uint64_t size;
    return number_parse_size(v, LIMIT_SIZE_MAX, &size) && (size == 0 || size >= LIMIT_MEMORY_MIN)
               ? NULL
               : "0, or a size from 16M to 1024T, such as 2G";
}

static const char *check_cpus(const char *v)
{
    unsigned cpus = 0;
    return limit_parse_cpus(v, &cpus) ? NULL : "a number of CPUs from 0 to 4096, such as 1.5";
}

static const char *check_processes(const char *v)
{
    uint64_t n;
    return setting_parse_count(v, LIMIT_PROCESSES_MAX, &n) ? NULL : "a number from 0 to 4194304";
}

static const char *check_cgroup(const char *v)
{
    bool path = v[0] == '/' && strlen(v) < PATH_MAX && !str_has_control(v);
    return path || strcmp(v, "auto") == 0 || strcmp(v, "no") == 0
               ? NULL
               : "auto, no, or the absolute path of a cgroup";
}

static const char *check_on(const char *v)
{
    return strcmp(v, "on") == 0 || strcmp(v, "off") == 0 ? NULL : "on or off";
}

static const char *check_summary(const char *v)
{
    return strcmp(v, "off") == 0 || strcmp(v, "agent") == 0 ? NULL : "off or agent";
}

/* A command line, or empty. */
static const char *check_command(const char *v)
{
    _cleanup_strv_ char **words = NULL;
    struct err err = ERR_INIT;
    return !str_has_control(v) && str_split_words(v, &words, &err) == 0
               ? NULL
               : "a program and its arguments, with every quote closed";
}

static const char *check_limit(const char *v)
{
    int ms = 0;
    return time_parse_duration(v, &ms) && ms > 0 ? NULL : "a time such as 30s or 5m";
}

static const char *check_time_or_0(const char *v)
{
    int ms = 0;
    return time_parse_duration(v, &ms) ? NULL : "a time such as 30s or 5m, or 0";
}

static const char *check_store(const char *v)
{
    return v[0] == '\0' || (v[0] == '/' && strlen(v) < PATH_MAX && !str_has_control(v))
               ? NULL
               : "an absolute path";
}

static const char *check_notices(const char *v)
{
    return notice_parse_kinds(v, &(unsigned){0})
               ? NULL
               : "a list of waiting, crashed, failed, done, limit and conflict";
}

static const char *check_ways(const char *v)
{
    return notice_parse_ways(v, &(unsigned){0}) ? NULL
                                                : "yes, no, or a list of bell, osc9 and osc777";
}

/* A URL, or empty. Blanks and control characters are in no URL. */
static const char *check_url(const char *v)
{
    bool known = str_starts(v, "http://") || str_starts(v, "https://");

    return v[0] == '\0' || (known && strlen(v) <= URL_MAX && !str_has_control(v) &&
                            strpbrk(v, " \"\\<>^`{|}") == NULL)
               ? NULL
               : "a URL that begins with https:// or http://, of at most 2048 bytes";
}

static const char *check_quiet(const char *v)
{
    return notice_parse_quiet(v, &(struct notice_quiet){.from = 0})
               ? NULL
               : "a time of the day such as 22:00-07:00";
}

static const char *check_turns(const char *v)
{
    uint64_t n;
    return setting_parse_count(v, TURNS_MAX, &n) ? NULL : "a number from 0 to 1000";
}

static const char *check_retry(const char *v)
{
    enum { RETRY_MAX_MS = 600000 };
    int ms = 0;
    return time_parse_duration(v, &ms) && ms > 0 && ms <= RETRY_MAX_MS
               ? NULL
               : "a time such as 30s, up to 10m";
}

static const char *check_messages(const char *v)
{
    uint64_t n;
    return setting_parse_count(v, MESSAGES_MAX, &n) ? NULL : "a number from 0 to 10000";
}

static const char *check_characters(const char *v)
{
    uint64_t n;
    return setting_parse_count(v, CHARACTERS_MAX, &n) && n >= CHARACTERS_MIN
               ? NULL
               : "a number of characters from 100 to 4000000";
}

/* An address, or empty. */
static const char *check_listen(const char *v)
{
    struct address address;
    return v[0] == '\0' || address_parse(v, &address) ? NULL
                                                      : "ADDRESS:PORT, such as 127.0.0.1:8765";
}

/* A path, or empty. */
static const char *check_path(const char *v)
{
    return strlen(v) < PATH_MAX && !str_has_control(v) ? NULL : "a path without control characters";
}

static const char *check_hosts(const char *v)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                  ".-_:[], \t";
    return strspn(v, allowed) == strlen(v) ? NULL : "a list of host names";
}

static const char *check_patterns(const char *v)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                  "_*?[]!-, \t";
    return strspn(v, allowed) == strlen(v) ? NULL
                                           : "a list of patterns of names, such as AWS_* *_TOKEN";
}

/* A limit of a budget, or empty. */
static const char *check_budget(enum budget_kind kind, const char *v)
{
    struct budget_limit limit;
    return v[0] == '\0' ? NULL : budget_parse(kind, v, &limit);
}

static const char *check_wall(const char *v)
{
    return v[0] == '\0' || wall_level_parse(v, &(enum wall_level){WALL_UNSET})
               ? NULL
               : "off, try or require";
}

static const char *check_wall_paths(const char *v)
{
    return wall_parse_paths(v, NULL);
}

static const char *check_wall_network(const char *v)
{
    return v[0] != '\0' ? wall_check_network(v) : "open, none, or a list of host names";
}

static const char *check_cost_budget(const char *v)
{
    return check_budget(BUDGET_COST, v);
}

static const char *check_token_budget(const char *v)
{
    return check_budget(BUDGET_TOKENS, v);
}

static const char *check_turn_budget(const char *v)
{
    return check_budget(BUDGET_TURNS, v);
}

static const char *check_time_budget(const char *v)
{
    return check_budget(BUDGET_TIME, v);
}

const struct setting_info setting_infos[SETTING_COUNT] = {
    [SETTING_MODE] =
        {"session", "mode", "MAS_SESSION_MODE", "isolated", check_mode,
         "isolated: each session has a workspace of its own; or legacy: one shared session"},
    [SETTING_TEMPLATE] =
        {"session", "template", "MAS_TEMPLATE", "default", template_check_name,
         "the template that 'mas new' uses without -t: a name or an absolute path"},
    [SETTING_PRESET] = {"session", "preset", "MAS_PRESET", "shell", check_name,
                        "the preset of agents for which the template names none"},
    [SETTING_SOCKET] = {"tmux", "socket", "MAS_TMUX_SOCKET", "", check_socket,
                        "the tmux server: a name (tmux -L) or an absolute path (tmux -S); empty: "
                        "the user's default server"},
    [SETTING_SERVER] =
        {"tmux", "server", "MAS_TMUX_SERVER", "shared", check_server,
         "shared: all teams on one server; per-session: one server for each session"},
    [SETTING_SIZE] = {"tmux", "size", "MAS_TMUX_SIZE", "200x50", check_size,
                      "columns x rows of a team's windows until a client attaches"},
    [SETTING_STATUS] =
        {"tmux", "status", NULL, "yes", check_yes,
         "yes: the status line and the pane borders of a team say who waits for you"},
    [SETTING_HANGUP] = {"stop", "hangup", NULL, "2s", check_stop_time,
                        "how long 'mas stop' waits after the hang-up before SIGTERM"},
    [SETTING_TERMINATE] = {"stop", "terminate", NULL, "3s", check_stop_time,
                           "how long 'mas stop' waits after SIGTERM before SIGKILL"},
    [SETTING_LOG_SIZE] = {"log", "size", NULL, "10M", check_log_size,
                          "mas rotates a log that would grow beyond this size"},
    [SETTING_LOG_KEEP] = {"log", "keep", NULL, "3", check_log_keep,
                          "how many rotated files of each log mas keeps"},
    [SETTING_ENV_PASS] =
        {"env", "pass", NULL, "*", check_patterns,
         "the environment variables that agents get from the command that starts them"},
    [SETTING_ENV_REMOVE] = {"env", "remove", NULL, "", check_patterns,
                            "variables among these that agents do not get"},
    [SETTING_HARDLINK] =
        {"workspace", "hardlink", NULL, "no", check_hardlink,
         "readonly: mas links files without write permission instead of copying them"},
    [SETTING_LAZY] = {"workspace", "lazy", NULL, "no", check_yes,
                      "yes: mas creates an agent's directory when the agent first starts"},
    [SETTING_CLEAN_OLDER] =
        {"retention", "older_than", NULL, "", check_age,
         "'mas clean' removes sessions that were last used at least this long ago"},
    [SETTING_CLEAN_KEEP] = {"retention", "keep", NULL, "", check_keep,
                            "'mas clean' keeps this many of the newest sessions"},
    [SETTING_CLEAN_STATUS] =
        {"retention", "status", NULL, "", check_statuses,
         "'mas clean' removes only sessions with these statuses: stopped, error, crashed"},
    [SETTING_CLEAN_ARCHIVE] = {"retention", "archive", NULL, "no", check_yes,
                               "yes: 'mas clean' archives sessions before it removes them"},
    [SETTING_ARCHIVE_DIR] =
        {"archive", "dir", NULL, "archive", check_archive_dir,
         "the directory for archives: a path below the root, or an absolute path"},
    [SETTING_ARCHIVE_LEVEL] = {"archive", "level", NULL, "3", check_level,
                               "the compression level of archives, from 1 to 19"},
    [SETTING_FLEET_STORE] = {"fleet", "store", NULL, "", check_store,
                             "a directory on a disk that machines share, for saves of sessions"},
    [SETTING_FLEET_SAVE] = {"fleet", "save", NULL, "10m", check_limit,
                            "how often 'mas run' saves its session there"},
    [SETTING_FLEET_ANSWER] = {"fleet", "answer", NULL, "2s", check_limit,
                              "how long --all-hosts waits for a machine; 'doctor' 5 times as long"},
    [SETTING_FLEET_SILENCE] =
        {"fleet", "silence", NULL, "10m", check_time_or_0,
         "how long a command on another machine may print nothing; 0: any time"},
    [SETTING_LIMIT_SESSION] =
        {"limits", "session", NULL, "0", check_disk_size,
         "the disk space of a session: at 90 % mas tells, at 100 % it pauses the team; 0: any"},
    [SETTING_LIMIT_AGENT] = {"limits", "agent", NULL, "0", check_disk_size,
                             "likewise of an agent's own directories; only this agent is paused"},
    [SETTING_LIMIT_FREE] = {"limits", "free", NULL, "0", check_disk_size,
                            "the space that 'mas new' leaves free on the file system; 0: none"},
    [SETTING_LIMIT_MEMORY] =
        {"limits", "memory", NULL, "0", check_memory,
         "the memory that the processes of an agent may use together; 0: no limit"},
    [SETTING_LIMIT_CPUS] = {"limits", "cpus", NULL, "0", check_cpus,
                            "how many CPUs they may use, such as 1.5; 0: all"},
    [SETTING_LIMIT_PROCESSES] = {"limits", "processes", NULL, "0", check_processes,
                                 "how many of them there may be, with threads; 0: no limit"},
    [SETTING_LIMIT_CGROUP] =
        {"limits", "cgroup", NULL, "auto", check_cgroup,
         "the cgroup in which mas makes one for each agent: auto, no, or its path"},
    [SETTING_LIMIT_TURNS] = {"limits", "turns", NULL, "0", check_turns,
                             "how many ACP agents of the root may work at the same time; 0: all"},
    [SETTING_LIMIT_RETRY] =
        {"limits", "retry", NULL, "30s", check_retry,
         "when a prompt is sent again that a provider refused; doubles each time, up to 10m"},
    [SETTING_BUDGET_COST] =
        {"budget", "cost", NULL, "", check_cost_budget,
         "what the agents of a session may cost together before they are paused, such as 5 USD"},
    [SETTING_BUDGET_TOKENS] = {"budget", "tokens", NULL, "", check_token_budget,
                               "the tokens that they may use, such as 5M"},
    [SETTING_BUDGET_TURNS] = {"budget", "turns", NULL, "", check_turn_budget,
                              "the turns that they may have"},
    [SETTING_BUDGET_TIME] = {"budget", "time", NULL, "", check_time_budget,
                             "the time that they may work, such as 8h"},
    [SETTING_WALL_LEVEL] =
        {"wall", "level", NULL, "", check_wall,
         "walls around agents: off, try or require; empty: try for presets with wall.home"},
    [SETTING_WALL_NETWORK] = {"wall", "network", NULL, "open", check_wall_network,
                              "what agents behind a wall reach: open, none, or names of hosts"},
    [SETTING_WALL_READ] = {"wall", "read", NULL, "", check_wall_paths,
                           "paths that agents behind a wall may read, besides the system"},
    [SETTING_WALL_WRITE] = {"wall", "write", NULL, "", check_wall_paths,
                            "paths that they may read and write"},
    [SETTING_WALL_NESTED] =
        {"wall", "nested", NULL, "no", check_yes,
         "yes: programs behind a wall may make user namespaces, for sandboxes of their own"},
    [SETTING_CODE_CHECK] =
        {"code", "check", NULL, "", check_command,
         "a command that must succeed on the new commit before 'mas merge' moves the branch"},
    [SETTING_CODE_CHECK_TIMEOUT] = {"code", "check_timeout", NULL, "10m", check_limit,
                                    "how long this command may take"},
    [SETTING_CODE_SETUP] = {"code", "setup", NULL, "", check_command,
                            "a command that runs once in each new work tree before its agent "
                            "starts; empty: the project's .mas/setup, if you allow it"},
    [SETTING_CODE_SETUP_TIMEOUT] = {"code", "setup_timeout", NULL, "10m", check_limit,
                                    "how long this command may take"},
    [SETTING_NOTIFY_ON] = {"notify", "on", NULL, "waiting,crashed,failed,done,limit,conflict",
                           check_notices, "the changes of an agent that mas tells you of"},
    [SETTING_NOTIFY_COMMAND] = {"notify", "command", NULL, "", check_command,
                                "a program that gets each of them as JSON on its standard input"},
    [SETTING_NOTIFY_DESKTOP] = {"notify", "desktop", NULL, "no", check_yes,
                                "yes: show them on the desktop, with notify-send"},
    [SETTING_NOTIFY_TERMINAL] =
        {"notify", "terminal", NULL, "no", check_ways,
         "how to tell the attached terminals: no, yes, or a list of bell, osc9 and osc777"},
    [SETTING_NOTIFY_WEBHOOK] = {"notify", "webhook", NULL, "", check_url,
                                "a URL to which mas posts each of them as JSON, with curl"},
    [SETTING_NOTIFY_DONE_AFTER] =
        {"notify", "done_after", NULL, "30s", check_time_or_0,
         "tell of the end of a turn that took at least this long; 0: each"},
    [SETTING_NOTIFY_QUIET] = {"notify", "quiet", NULL, "", check_quiet,
                              "the hours in which mas tells nothing, such as 22:00-07:00"},
    [SETTING_MEMORY_RECALL] =
        {"memory", "recall", NULL, "off", check_on,
         "on: mas adds relevant history to the first prompt of a fresh query"},
    [SETTING_MEMORY_SHARE] = {"memory", "share", NULL, "no", check_yes,
                              "yes: agents may search the conversations of other sessions"},
    [SETTING_MEMORY_EMBED] =
        {"memory", "embed_command", NULL, "", check_command,
         "a program that computes vectors of texts for the search; empty: search by words only"},
    [SETTING_MEMORY_SUMMARY] =
        {"memory", "summary", NULL, "off", check_summary,
         "agent: the agent's own summary replaces history beyond the budget"},
    [SETTING_MEMORY_MESSAGES] =
        {"memory", "messages", NULL, "50", check_messages,
         "how many earlier messages mas tells an agent that starts with an empty context"},
    [SETTING_MEMORY_EACH] = {"memory", "each", NULL, "2000", check_characters,
                             "at most this many characters of each message"},
    [SETTING_MEMORY_ALL] =
        {"memory", "all", NULL, "60000", check_characters,
         "at most this many characters in all, also in each list of 'mas context'"},
    [SETTING_MEMORY_CURRENT] =
        {"memory", "current", NULL, "20", check_messages,
         "'mas context': how many prompts, and how many answers, of the conversation"},
    [SETTING_MEMORY_RELEVANT] =
        {"memory", "relevant", NULL, "10", check_messages,
         "'mas context': how many prompts, and how many answers, of the relevant history"},
    [SETTING_SERVE_LISTEN] =
        {"serve", "listen", NULL, "127.0.0.1:8765", check_listen,
         "the address at which 'mas serve' listens; empty: only at the socket"},
    [SETTING_SERVE_UNIX] =
        {"serve", "unix", NULL, "", check_path,
         "a Unix socket at which 'mas serve' listens: a path below the root, or an absolute path"},
    [SETTING_SERVE_TOKEN] =
        {"serve", "token_file", NULL, "serve.token", check_path,
         "the file with the token for clients: a path below the root, or an absolute path"},
    [SETTING_SERVE_HOSTS] = {"serve", "hosts", NULL, "", check_hosts,
                             "host names that requests may use, besides localhost"},
    [SETTING_SERVE_CERT] = {"serve", "tls_cert", NULL, "", check_path,
                            "a certificate in PEM format, with which 'mas serve' uses TLS"},
    [SETTING_SERVE_KEY] = {"serve", "tls_key", NULL, "", check_path, "the key of the certificate"},
    [SETTING_SERVE_REMOTE] =
        {"serve", "allow_remote", NULL, "no", check_yes,
         "yes: 'mas serve' may listen without TLS at an address that others can reach"},
};

bool setting_parse_size(const char *text, int *ret_columns, int *ret_rows)
{
    int end = 0;
    int columns;
    int rows;
    if (strspn(text, "0123456789x") != strlen(text) || strlen(text) > 9 ||
        sscanf(text, "%4dx%4d%n", &columns, &rows, &end) != 2 || text[end] != '\0')
        return false;
    if (columns < 10 || columns > 1000 || rows < 3 || rows > 1000)
        return false;
    *ret_columns = columns;
    *ret_rows = rows;
    return true;
}

const char *setting_name(enum setting setting, char buf[64])
{
    (void)snprintf(buf, 64, "%s.%s", setting_infos[setting].section, setting_infos[setting].key);
    return buf;
}

void setting_write_defaults(struct str *to)
{
    str_add(to, "; Settings of this root. 'mas config' shows each value and where it came from.\n"
                "; See mas.ini(5). A line that begins with ; or # is a comment.\n");
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        if (i == 0 || strcmp(setting_infos[i].section, setting_infos[i - 1].section) != 0)
            str_addf(to, "\n[%s]\n", setting_infos[i].section);
        str_addf(to, "; %s\n;%s =%s%s\n", setting_infos[i].help, setting_infos[i].key,
                 setting_infos[i].fallback[0] != '\0' ? " " : "", setting_infos[i].fallback);
        if (i == SETTING_ENV_REMOVE)
            str_add(to, "; a variable that agents always get\n;set.EDITOR = true\n");
    }
    str_add(to,
            "\n; A preset says how to run an agent; templates/agents.ini holds the shipped ones.\n"
            ";[preset mine]\n;command = my-agent --fast\n;env.MY_AGENT_HOME = /opt/mine\n");
}

bool setting_names_program(enum setting setting)
{
    return setting == SETTING_MEMORY_EMBED || setting == SETTING_CODE_CHECK ||
           setting == SETTING_CODE_SETUP || setting == SETTING_NOTIFY_COMMAND ||
           setting == SETTING_NOTIFY_WEBHOOK;
}

bool setting_needs_restart(enum setting setting)
{
    static const bool needs[SETTING_COUNT] = {
        [SETTING_PRESET] = true,
        [SETTING_SIZE] = true,
        [SETTING_STATUS] = true,
        [SETTING_LOG_SIZE] = true,
        [SETTING_LOG_KEEP] = true,
        [SETTING_ENV_PASS] = true,
        [SETTING_ENV_REMOVE] = true,
        [SETTING_LIMIT_SESSION] = true,
        [SETTING_LIMIT_AGENT] = true,
        [SETTING_LIMIT_MEMORY] = true,
        [SETTING_LIMIT_CPUS] = true,
        [SETTING_LIMIT_PROCESSES] = true,
        [SETTING_LIMIT_CGROUP] = true,
        [SETTING_LIMIT_TURNS] = true,
        [SETTING_LIMIT_RETRY] = true,
        [SETTING_BUDGET_COST] = true,
        [SETTING_BUDGET_TOKENS] = true,
        [SETTING_BUDGET_TURNS] = true,
        [SETTING_BUDGET_TIME] = true,
        [SETTING_WALL_LEVEL] = true,
        [SETTING_WALL_NETWORK] = true,
        [SETTING_WALL_READ] = true,
        [SETTING_WALL_WRITE] = true,
        [SETTING_WALL_NESTED] = true,
        [SETTING_CODE_SETUP_TIMEOUT] = true,
        [SETTING_NOTIFY_ON] = true,
        [SETTING_NOTIFY_COMMAND] = true,
        [SETTING_NOTIFY_DESKTOP] = true,
        [SETTING_NOTIFY_TERMINAL] = true,
        [SETTING_NOTIFY_WEBHOOK] = true,
        [SETTING_NOTIFY_DONE_AFTER] = true,
        [SETTING_MEMORY_RECALL] = true,
        [SETTING_MEMORY_SUMMARY] = true,
        [SETTING_MEMORY_MESSAGES] = true,
        [SETTING_MEMORY_EACH] = true,
        [SETTING_MEMORY_ALL] = true,
    };

    return needs[setting];
}

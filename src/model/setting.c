/*
 * First the types of values; then the table, in which the settings of a section stand together,
 * because setting_write_defaults() begins a section where its name changes.
 */

#include "model/setting.h"

#include "base/address.h"
#include "base/number.h"
#include "base/time.h"
#include "model/budget.h"
#include "model/limits.h"
#include "model/notice.h"
#include "model/retention_status.h"
#include "model/template_name.h"
#include "model/wall.h"
#include "os/path.h"

enum { SOCKET_PATH_MAX = 107, STOP_MAX_MS = 600 * 1000, RETRY_MAX_MS = 600000, URL_MAX = 2048 };

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"

static const char *const modes[] = {"isolated", "legacy", NULL};
static const char *const servers[] = {"shared", "per-session", NULL};
static const char *const hardlinks[] = {"no", "readonly", NULL};
static const char *const off_on[] = {"off", "on", NULL};
static const char *const summaries[] = {"off", "agent", NULL};
static const struct unit stop_units[] = {{"", 1000}, {"s", 1000}};

static bool is_name(const char *text)
{
    return str_is_word(text, 32);
}

static const char *check_socket(const char *text)
{
    if (strlen(text) > SOCKET_PATH_MAX || str_has_control(text))
        return "a text of at most 107 bytes without control characters";
    if (strchr(text, '/') != NULL && text[0] != '/')
        return "a name, or an absolute path";
    return strcmp(text, ".") == 0 || strcmp(text, "..") == 0 ? "a name, or an absolute path" : NULL;
}

static const char *parse_size(const char *text, void *to)
{
    union setting_value *value = to;
    int columns = 0;
    int rows = 0;

    if (!setting_parse_size(text, &columns, &rows))
        return "COLUMNSxROWS, from 10x3 to 1000x1000";
    if (to != NULL) {
        value->size.columns = columns;
        value->size.rows = rows;
    }
    return NULL;
}

static const char *parse_statuses(const char *text, void *to)
{
    unsigned set = 0;

    if (!retention_parse_status(text, &set))
        return "a comma-separated list of stopped, error and crashed";
    if (to != NULL)
        *(int64_t *)to = set;
    return NULL;
}

static bool is_cgroup(const char *text)
{
    return text[0] == '/' || strcmp(text, "auto") == 0 || strcmp(text, "no") == 0;
}

/* Blanks and control characters are in no URL. */
static bool is_url(const char *text)
{
    return (str_starts(text, "http://") || str_starts(text, "https://")) &&
           strpbrk(text, " \"\\<>^`{|}") == NULL;
}

static const char *parse_quiet(const char *text, void *to)
{
    struct notice_quiet quiet;

    return notice_parse_quiet(text, to != NULL ? to : &quiet)
               ? NULL
               : "a time of the day such as 22:00-07:00";
}

static bool is_address(const char *text)
{
    struct address address;

    return address_parse(text, &address);
}

static bool are_hosts(const char *text)
{
    return strspn(text, LETTERS DIGITS ".-_:[], \t") == strlen(text);
}

static bool are_patterns(const char *text)
{
    return strspn(text, LETTERS DIGITS "_*?[]!-, \t") == strlen(text);
}

static const char *check_network(const char *text)
{
    return text[0] == '\0' ? "open, none, or a list of host names"
                           : value_parse(&wall_network_type, text, NULL, 0);
}

static const struct unit percents[] = {{"%", 1}, {"", 1}};

const struct value_type mode_type = {VALUE_WORD, "isolated or legacy", .words = modes};

static const struct value_type
    on = {VALUE_WORD, "on or off", .words = off_on},
    server = {VALUE_WORD, "shared or per-session", .words = servers},
    hardlink = {VALUE_WORD, "no or readonly", .words = hardlinks},
    summary = {VALUE_WORD, "off or agent", .words = summaries},
    template = {VALUE_TEXT, .check = template_check_name},
    name = {VALUE_TEXT, "1 to 32 " STR_WORD_CHARS, .min = 1, .fits = is_name},
    tmux = {VALUE_TEXT, .check = check_socket}, size = {VALUE_OTHER, .parse = parse_size},
    stop_time = {VALUE_NUMBER, "a number of seconds from 0 to 600, such as 2s", .max = STOP_MAX_MS,
                 VALUE_UNITS(stop_units)},
    log_size = {VALUE_NUMBER, "a size from 4K to 1T, such as 10M", .min = 4096,
                .max = INT64_C(1) << 40, VALUE_UNITS(number_sizes)},
    percent = {VALUE_NUMBER, "a percentage from 0% to 100%, such as 80%", .max = 100,
               VALUE_UNITS(percents)},
    thousand = {VALUE_NUMBER, "a number from 0 to 1000", .max = 1000},
    age = {VALUE_NUMBER, "an age, such as 90m, 12h or 7d", .max = TIME_AGE_MAX,
           VALUE_UNITS(time_ages)},
    clean_keep = {VALUE_NUMBER, "a number up to 1000000", .max = 1000000},
    statuses = {VALUE_OTHER, .parse = parse_statuses},
    directory = {VALUE_TEXT, "a path without control characters", .min = 1, .max = PATH_MAX - 1,
                 .line = true},
    level = {VALUE_NUMBER, "a number from 1 to 19", .min = 1, .max = 19},
    disk = {VALUE_NUMBER, "a size up to 1024T, such as 500M", .max = LIMIT_SIZE_MAX,
            VALUE_UNITS(number_sizes)},
    memory = {VALUE_NUMBER,          "0, or a size from 16M to 1024T, such as 2G",
              .zero = true,          .min = LIMIT_MEMORY_MIN,
              .max = LIMIT_SIZE_MAX, VALUE_UNITS(number_sizes)},
    cpus = {VALUE_NUMBER, "a number of CPUs from 0 to 4096, such as 1.5",
            .max = LIMIT_CPUS_MAX * 100, .decimals = 2},
    processes = {VALUE_NUMBER, "a number from 0 to 4194304", .max = LIMIT_PROCESSES_MAX},
    cgroup = {VALUE_TEXT,   "auto, no, or the absolute path of a cgroup",
              .min = 1,     .max = PATH_MAX - 1,
              .line = true, .fits = is_cgroup},
    command = {VALUE_TEXT, "a program and its arguments, with every quote closed", .line = true,
               .fits = value_is_command},
    duration = {VALUE_NUMBER, "a time such as 30s or 5m", .min = 1, .max = TIME_DURATION_MAX_MS,
                VALUE_UNITS(time_durations)},
    duration_or_0 = {VALUE_NUMBER, "a time such as 30s or 5m, or 0", .max = TIME_DURATION_MAX_MS,
                     VALUE_UNITS(time_durations)},
    retry = {VALUE_NUMBER, "a time such as 30s, up to 10m", .min = 1, .max = RETRY_MAX_MS,
             VALUE_UNITS(time_durations)},
    network = {VALUE_TEXT, .check = check_network}, paths = {VALUE_TEXT, .check = wall_check_paths},
    store = {VALUE_TEXT, "an absolute path", .max = PATH_MAX - 1, .line = true, .absolute = true},
    url = {VALUE_TEXT, "a URL that begins with https:// or http://, of at most 2048 bytes",
           .max = URL_MAX, .line = true, .fits = is_url},
    host_name = {VALUE_TEXT, "the name of a host, of at most 253 bytes", .max = 253, .line = true},
    quiet = {VALUE_OTHER, .parse = parse_quiet},
    messages = {VALUE_NUMBER, "a number from 0 to 10000", .max = 10000},
    characters = {VALUE_NUMBER, "a number of characters from 100 to 4000000", .min = 100,
                  .max = 4000000},
    address = {VALUE_TEXT, "ADDRESS:PORT, such as 127.0.0.1:8765", .fits = is_address},
    path = {VALUE_TEXT, "a path without control characters", .max = PATH_MAX - 1, .line = true},
    hosts = {VALUE_TEXT, "a list of host names", .fits = are_hosts},
    patterns = {VALUE_TEXT, "a list of patterns of names, such as AWS_* *_TOKEN",
                .fits = are_patterns};

const struct setting_info setting_infos[SETTING_COUNT] = {
    [SETTING_MODE] =
        {"session", "mode", "MAS_SESSION_MODE", "isolated", &mode_type,
         "isolated: each session has a workspace of its own; or legacy: one shared session"},
    [SETTING_TEMPLATE] =
        {"session", "template", "MAS_TEMPLATE", "default", &template,
         "the template that 'mas new' uses without -t: a name or an absolute path"},
    [SETTING_PRESET] = {"session", "preset", "MAS_PRESET", "shell", &name,
                        "the preset of agents for which the template names none", SETTING_OF_HOSTS},
    [SETTING_SOCKET] = {"tmux", "socket", "MAS_TMUX_SOCKET", "", &tmux,
                        "the tmux server: a name (tmux -L) or an absolute path (tmux -S); empty: "
                        "the user's default server"},
    [SETTING_SERVER] =
        {"tmux", "server", "MAS_TMUX_SERVER", "shared", &server,
         "shared: all teams on one server; per-session: one server for each session"},
    [SETTING_SIZE] = {"tmux", "size", "MAS_TMUX_SIZE", "200x50", &size,
                      "columns x rows of a team's windows until a client attaches",
                      SETTING_OF_HOSTS},
    [SETTING_STATUS] = {"tmux", "status", NULL, "yes", &value_yes,
                        "yes: the status line and the pane borders of a team say who waits for you",
                        SETTING_OF_HOSTS},
    [SETTING_HANGUP] = {"stop", "hangup", NULL, "2s", &stop_time,
                        "how long 'mas stop' waits after the hang-up before SIGTERM"},
    [SETTING_TERMINATE] = {"stop", "terminate", NULL, "3s", &stop_time,
                           "how long 'mas stop' waits after SIGTERM before SIGKILL"},
    [SETTING_LOG_SIZE] = {"log", "size", NULL, "10M", &log_size,
                          "mas rotates a log that would grow beyond this size", SETTING_OF_HOSTS},
    [SETTING_LOG_KEEP] = {"log", "keep", NULL, "3", &thousand,
                          "how many rotated files of each log mas keeps", SETTING_OF_HOSTS},
    [SETTING_ENV_PASS] =
        {"env", "pass", NULL, "*", &patterns,
         "the environment variables that agents get from the command that starts them",
         SETTING_OF_HOSTS},
    [SETTING_ENV_REMOVE] = {"env", "remove", NULL, "", &patterns,
                            "variables among these that agents do not get", SETTING_OF_HOSTS},
    [SETTING_HARDLINK] =
        {"workspace", "hardlink", NULL, "no", &hardlink,
         "readonly: mas links files without write permission instead of copying them"},
    [SETTING_LAZY] = {"workspace", "lazy", NULL, "no", &value_yes,
                      "yes: mas creates an agent's directory when the agent first starts"},
    [SETTING_CLEAN_OLDER] =
        {"retention", "older_than", NULL, "", &age,
         "'mas clean' removes sessions that were last used at least this long ago",
         SETTING_MAY_BE_EMPTY},
    [SETTING_CLEAN_KEEP] = {"retention", "keep", NULL, "", &clean_keep,
                            "'mas clean' keeps this many of the newest sessions",
                            SETTING_MAY_BE_EMPTY},
    [SETTING_CLEAN_STATUS] =
        {"retention", "status", NULL, "", &statuses,
         "'mas clean' removes only sessions with these statuses: stopped, error, crashed"},
    [SETTING_CLEAN_ARCHIVE] = {"retention", "archive", NULL, "no", &value_yes,
                               "yes: 'mas clean' archives sessions before it removes them"},
    [SETTING_ARCHIVE_DIR] =
        {"archive", "dir", NULL, "archive", &directory,
         "the directory for archives: a path below the root, or an absolute path"},
    [SETTING_ARCHIVE_LEVEL] = {"archive", "level", NULL, "3", &level,
                               "the compression level of archives, from 1 to 19"},
    [SETTING_FLEET_STORE] = {"fleet", "store", NULL, "", &store,
                             "a directory on a disk that machines share, for saves of sessions"},
    [SETTING_FLEET_SAVE] = {"fleet", "save", NULL, "10m", &duration,
                            "how often 'mas run' saves its session there"},
    [SETTING_FLEET_ANSWER] = {"fleet", "answer", NULL, "2s", &duration,
                              "how long --all-hosts waits for a machine; 'doctor' 5 times as long"},
    [SETTING_FLEET_SILENCE] =
        {"fleet", "silence", NULL, "10m", &duration_or_0,
         "how long a command on another machine may print nothing; 0: any time"},
    [SETTING_LIMIT_SESSION] =
        {"limits", "session", NULL, "0", &disk,
         "the disk space of a session: at 90 % mas tells, at 100 % it pauses the team; 0: any",
         SETTING_OF_HOSTS},
    [SETTING_LIMIT_AGENT] = {"limits", "agent", NULL, "0", &disk,
                             "likewise of an agent's own directories; only this agent is paused",
                             SETTING_OF_HOSTS},
    [SETTING_LIMIT_FREE] = {"limits", "free", NULL, "0", &disk,
                            "the space that 'mas new' leaves free on the file system; 0: none"},
    [SETTING_LIMIT_MEMORY] =
        {"limits", "memory", NULL, "0", &memory,
         "the memory that the processes of an agent may use together; 0: no limit",
         SETTING_OF_HOSTS},
    [SETTING_LIMIT_CPUS] = {"limits", "cpus", NULL, "0", &cpus,
                            "how many CPUs they may use, such as 1.5; 0: all", SETTING_OF_HOSTS},
    [SETTING_LIMIT_PROCESSES] = {"limits", "processes", NULL, "0", &processes,
                                 "how many of them there may be, with threads; 0: no limit",
                                 SETTING_OF_HOSTS},
    [SETTING_LIMIT_CGROUP] =
        {"limits", "cgroup", NULL, "auto", &cgroup,
         "the cgroup in which mas makes one for each agent: auto, no, or its path",
         SETTING_OF_HOSTS},
    [SETTING_LIMIT_TURNS] = {"limits", "turns", NULL, "0", &thousand,
                             "how many ACP agents of the root may work at the same time; 0: all",
                             SETTING_OF_HOSTS},
    [SETTING_LIMIT_QUOTA] =
        {"limits", "quota", NULL, "0", &percent,
         "how much of a provider's window may be used before only a person's prompts go on; 0: all",
         SETTING_OF_HOSTS},
    [SETTING_LIMIT_RETRY] =
        {"limits", "retry", NULL, "30s", &retry,
         "when a prompt is sent again that a provider refused; doubles each time, up to 10m",
         SETTING_OF_HOSTS},
    [SETTING_BUDGET_COST] =
        {"budget", "cost", NULL, "", &budget_types[BUDGET_COST],
         "what the agents of a session may cost together before they are paused, such as 5 USD",
         SETTING_MAY_BE_EMPTY | SETTING_OF_HOSTS},
    [SETTING_BUDGET_TOKENS] = {"budget", "tokens", NULL, "", &budget_types[BUDGET_TOKENS],
                               "the tokens that they may use, such as 5M",
                               SETTING_MAY_BE_EMPTY | SETTING_OF_HOSTS},
    [SETTING_BUDGET_TURNS] = {"budget", "turns", NULL, "", &budget_types[BUDGET_TURNS],
                              "the turns that they may have",
                              SETTING_MAY_BE_EMPTY | SETTING_OF_HOSTS},
    [SETTING_BUDGET_TIME] = {"budget", "time", NULL, "", &budget_types[BUDGET_TIME],
                             "the time that they may work, such as 8h",
                             SETTING_MAY_BE_EMPTY | SETTING_OF_HOSTS},
    [SETTING_WALL_LEVEL] =
        {"wall", "level", NULL, "", &wall_level_type,
         "walls around agents: off, try or require; empty: try for presets with wall.home",
         SETTING_MAY_BE_EMPTY | SETTING_OF_HOSTS},
    [SETTING_WALL_NETWORK] = {"wall", "network", NULL, "open", &network,
                              "what agents behind a wall reach: open, none, or names of hosts",
                              SETTING_OF_HOSTS},
    [SETTING_WALL_READ] = {"wall", "read", NULL, "", &paths,
                           "paths that agents behind a wall may read, besides the system",
                           SETTING_OF_HOSTS},
    [SETTING_WALL_WRITE] = {"wall", "write", NULL, "", &paths, "paths that they may read and write",
                            SETTING_OF_HOSTS},
    [SETTING_WALL_NESTED] =
        {"wall", "nested", NULL, "no", &value_yes,
         "yes: programs behind a wall may make user namespaces, for sandboxes of their own",
         SETTING_OF_HOSTS},
    [SETTING_CODE_CHECK] =
        {"code", "check", NULL, "", &command,
         "a command that must succeed on the new commit before 'mas merge' moves the branch",
         SETTING_IS_PROGRAM},
    [SETTING_CODE_CHECK_TIMEOUT] = {"code", "check_timeout", NULL, "10m", &duration,
                                    "how long this command may take"},
    [SETTING_CODE_SETUP] = {"code", "setup", NULL, "", &command,
                            "a command that runs once in each new work tree before its agent "
                            "starts; empty: the project's .mas/setup, if you allow it",
                            SETTING_IS_PROGRAM},
    [SETTING_CODE_SETUP_TIMEOUT] = {"code", "setup_timeout", NULL, "10m", &duration,
                                    "how long this command may take", SETTING_OF_HOSTS},
    [SETTING_FORGE_COMMAND] = {"forge", "command", NULL, "", &command,
                               "a program that opens pull requests and tells of them; empty: gh or "
                               "glab",
                               SETTING_IS_PROGRAM},
    [SETTING_NOTIFY_ON] = {"notify", "on", NULL, "waiting,crashed,failed,done,limit,conflict",
                           &notice_kinds_type, "the changes of an agent that mas tells you of",
                           SETTING_OF_HOSTS},
    [SETTING_NOTIFY_COMMAND] = {"notify", "command", NULL, "", &command,
                                "a program that gets each of them as JSON on its standard input",
                                SETTING_IS_PROGRAM | SETTING_OF_HOSTS},
    [SETTING_NOTIFY_DESKTOP] = {"notify", "desktop", NULL, "no", &value_yes,
                                "yes: show them on the desktop, with notify-send",
                                SETTING_OF_HOSTS},
    [SETTING_NOTIFY_TERMINAL] =
        {"notify", "terminal", NULL, "no", &notice_ways_type,
         "how to tell the attached terminals: no, yes, or a list of bell, osc9 and osc777",
         SETTING_OF_HOSTS},
    [SETTING_NOTIFY_WEBHOOK] = {"notify", "webhook", NULL, "", &url,
                                "a URL to which mas posts each of them as JSON, with curl",
                                SETTING_IS_PROGRAM | SETTING_OF_HOSTS},
    [SETTING_NOTIFY_DONE_AFTER] =
        {"notify", "done_after", NULL, "30s", &duration_or_0,
         "tell of the end of a turn that took at least this long; 0: each", SETTING_OF_HOSTS},
    [SETTING_NOTIFY_QUIET] = {"notify", "quiet", NULL, "", &quiet,
                              "the hours in which mas tells nothing, such as 22:00-07:00"},
    [SETTING_MEMORY_RECALL] = {"memory", "recall", NULL, "on", &on,
                               "on: mas adds what other sessions of the project know to prompts",
                               SETTING_OF_HOSTS},
    [SETTING_MEMORY_SHARE] = {"memory", "share", NULL, "no", &value_yes,
                              "yes: agents may search the conversations of other sessions"},
    [SETTING_MEMORY_EMBED] =
        {"memory", "embed_command", NULL, "", &command,
         "a program that computes vectors of texts for the search; empty: search by words only",
         SETTING_IS_PROGRAM},
    [SETTING_MEMORY_EMBED_HOST] = {"memory", "embed_host", NULL, "", &host_name,
                                   "a host besides this machine that may get texts for vectors",
                                   SETTING_IS_PROGRAM},
    [SETTING_MEMORY_SUMMARY] = {"memory", "summary", NULL, "off", &summary,
                                "agent: the agent's own summary replaces history beyond the budget",
                                SETTING_OF_HOSTS},
    [SETTING_MEMORY_MESSAGES] =
        {"memory", "messages", NULL, "50", &messages,
         "how many earlier messages mas tells an agent that starts with an empty context",
         SETTING_OF_HOSTS},
    [SETTING_MEMORY_EACH] = {"memory", "each", NULL, "2000", &characters,
                             "at most this many characters of each message", SETTING_OF_HOSTS},
    [SETTING_MEMORY_ALL] =
        {"memory", "all", NULL, "60000", &characters,
         "at most this many characters in all, also in each list of 'mas context'",
         SETTING_OF_HOSTS},
    [SETTING_MEMORY_CURRENT] =
        {"memory", "current", NULL, "20", &messages,
         "'mas context': how many prompts, and how many answers, of the conversation"},
    [SETTING_MEMORY_RELEVANT] =
        {"memory", "relevant", NULL, "10", &messages,
         "'mas context': how many prompts, and how many answers, of the relevant history"},
    [SETTING_SERVE_LISTEN] =
        {"serve", "listen", NULL, "127.0.0.1:8765", &address,
         "the address at which 'mas serve' listens; empty: only at the socket"},
    [SETTING_SERVE_UNIX] =
        {"serve", "unix", NULL, "", &path,
         "a Unix socket at which 'mas serve' listens: a path below the root, or an absolute path"},
    [SETTING_SERVE_TOKEN] =
        {"serve", "token_file", NULL, "serve.token", &path,
         "the file with the token for clients: a path below the root, or an absolute path"},
    [SETTING_SERVE_HOSTS] = {"serve", "hosts", NULL, "", &hosts,
                             "host names that requests may use, besides localhost"},
    [SETTING_SERVE_CERT] = {"serve", "tls_cert", NULL, "", &path,
                            "a certificate in PEM format, with which 'mas serve' uses TLS"},
    [SETTING_SERVE_KEY] = {"serve", "tls_key", NULL, "", &path, "the key of the certificate"},
    [SETTING_SERVE_REMOTE] =
        {"serve", "allow_remote", NULL, "no", &value_yes,
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

void setting_write_defaults(struct str *to, const char *team)
{
    str_add(to, "; Settings of this root. 'mas config' shows each value and where it came from.\n"
                "; See mas.ini(5). A line that begins with ; or # is a comment.\n");
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        if (i == 0 || strcmp(setting_infos[i].section, setting_infos[i - 1].section) != 0)
            str_addf(to, "\n[%s]\n", setting_infos[i].section);
        bool is_said = i == SETTING_TEMPLATE && team != NULL;
        const char *value = is_said ? team : setting_infos[i].fallback;
        str_addf(to, "; %s\n%s%s =%s%s\n", setting_infos[i].help, is_said ? "" : ";",
                 setting_infos[i].key, value[0] != '\0' ? " " : "", value);
        if (i == SETTING_ENV_REMOVE)
            str_add(to, "; a variable that agents always get\n;set.EDITOR = true\n");
    }
    str_add(to,
            "\n; A preset says how to run an agent; templates/agents.ini holds the shipped ones.\n"
            ";[preset mine]\n;command = my-agent --fast\n;env.MY_AGENT_HOME = /opt/mine\n");
}

const char *setting_parse(enum setting setting, const char *text, union setting_value *ret)
{
    const struct setting_info *info = &setting_infos[setting];
    bool says_nothing = text[0] == '\0' && (info->how & SETTING_MAY_BE_EMPTY) != 0;
    bool is_text = info->type->kind == VALUE_TEXT; /* which the caller keeps */

    if (ret != NULL)
        *ret = (union setting_value){.number = 0};
    return says_nothing ? NULL
                        : value_parse(info->type, text, is_text ? NULL : ret, sizeof ret->number);
}

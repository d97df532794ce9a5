/*
 * How `--all-hosts` is shown but as a table. For programs: each row as its machine has printed it,
 * but with the name by which this machine knows that one, whatever it calls itself; and ids. For
 * `top`: a screen of its own, which a signal leaves as it was found before it ends the process, so
 * that the handler calls only what a handler may.
 */

#include "cli/all_hosts.h"

#include "base/id.h"
#include "base/time.h"
#include "cli/print.h"
#include "cli/table.h"
#include "os/loop.h"

#include <poll.h>
#include <termios.h>

static void put_host(const struct fleet_answer *answer, struct json_out *out)
{
    char when[TIME_TEXT];

    json_open(out, NULL, '{');
    json_put(out, "host", answer->host);
    if (answer->session != NULL)
        json_put(out, "session", answer->session);
    json_put_all(out, JB("reached", answer->reached),
                 JT("version", answer->greeting.version[0] != 0 ? answer->greeting.version : NULL),
                 JI("clockMs", answer->clock_ms),
                 JI("free", answer->greeting.version[0] != 0 ? answer->greeting.free : -1));
    if (answer->greeting.store_free > 0)
        json_put_int(out, "storeFree", answer->greeting.store_free);
    if (answer->greeting.tmux[0] != '\0' && strcmp(answer->greeting.tmux, GREETING_NONE) != 0)
        json_put(out, "tmux", answer->greeting.tmux);
    json_put(out, "problem", answer->problem);
    if (answer->known.when != 0) {
        time_format(answer->known.when, when);
        json_put_all(out, JO("lastKnown"), JT("time", when), JI("sessions", answer->known.sessions),
                     JI("active", answer->known.active), JOE);
    }
    json_close(out, '}');
}

/* Writes the member "jobs", where an answer has it. */
static void put_jobs(const struct fleet_answers *answers, struct json_out *out)
{
    bool any = false;

    for (size_t i = 0; i < answers->count; i++) {
        const struct json *jobs = all_hosts_jobs(answers->verb, answers->list[i].json);
        if (jobs != NULL && !any)
            json_open(out, "jobs", '[');
        any = any || jobs != NULL;
        for (const struct json *job = json_first(jobs); job != NULL; job = json_next(job)) {
            if (!all_hosts_is_new_job(answers, i, job))
                continue;
            json_open(out, NULL, '{');
            json_put(out, "submittedFrom", answers->list[i].host);
            for (const struct json *part = json_first(job); part != NULL; part = json_next(part))
                if (strcmp(json_key(part), "submittedFrom") != 0)
                    json_put_node(out, json_key(part), part);
            json_close(out, '}');
        }
    }
    if (any)
        json_close(out, ']');
}

void all_hosts_print_json(const struct fleet_answers *answers)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    json_open(&out, NULL, '{');
    json_open(&out, all_hosts_array(answers->verb), '[');
    for (size_t i = 0; i < answers->count; i++) {
        const struct json *rows = all_hosts_rows(answers->verb, answers->list[i].json);
        for (const struct json *row = json_first(rows); row != NULL; row = json_next(row)) {
            if (!json_is_object(row))
                continue;
            json_open(&out, NULL, '{');
            json_put(&out, "host", answers->list[i].host);
            for (const struct json *part = json_first(row); part != NULL; part = json_next(part))
                if (strcmp(json_key(part), "host") != 0)
                    json_put_node(&out, json_key(part), part);
            json_close(&out, '}');
        }
    }
    json_close(&out, ']');
    put_jobs(answers, &out);
    json_open(&out, "hosts", '[');
    for (size_t i = 0; i < answers->count; i++)
        put_host(&answers->list[i], &out);
    json_close(&out, ']');
    json_close(&out, '}');
    print_line(&text);
}

void all_hosts_print_ids(const struct fleet_answers *answers)
{
    for (size_t i = 0; i < answers->count; i++) {
        const struct fleet_answer *answer = &answers->list[i];
        const struct json *rows = all_hosts_rows(answers->verb, answer->json);
        for (const struct json *row = json_first(rows); row != NULL; row = json_next(row)) {
            char id[ID_TEXT];
            if (id_normalise(json_get_text_or(row, "sessionId", ""), id))
                printf("%s%s%s\n", answer->host != NULL ? answer->host : "",
                       answer->host != NULL ? ":" : "", id);
        }
        if (answer->problem != NULL)
            err_warn("host '%s%s%s': %s", answer->host != NULL ? answer->host : "-",
                     answer->label != NULL ? ":" : "", answer->label != NULL ? answer->label : "",
                     answer->problem);
    }
}

/* ---- a screen of its own */

#define ENTER "\033[?1049h\033[?25l"
#define LEAVE "\033[?25h\033[?1049l"
#define ROWS_PLAIN 24

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
static struct termios was;

static void leave(void)
{
    (void)!write(STDOUT_FILENO, LEAVE, strlen(LEAVE));
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &was);
}

/* All that it calls may be called in a handler. */
static void on_signal(int sig)
{
    leave();
    (void)signal(sig, SIG_DFL);
    (void)raise(sig);
}

static int enter(struct err *err)
{
    const struct sigaction act = {.sa_handler = on_signal};
    struct termios keys;

    if (tcgetattr(STDIN_FILENO, &was) == -1)
        return err_errno(err, "cannot read keys");
    keys = was;
    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    keys.c_cc[VMIN] = 1;
    keys.c_cc[VTIME] = 0;
    keys.c_cc[VSUSP] = _POSIX_VDISABLE; /* this screen is no place for a prompt */
    for (size_t i = 0; i < ARRAY_LEN(signals); i++)
        (void)sigaction(signals[i], &act, NULL);
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &keys);
    (void)fputs(ENTER, stdout);
    return 0;
}

/* Waits for the next look. Returns true if the person or the terminal has ended it. */
static bool wait_for_end(void)
{
    char keys[64];
    short events = (short)loop_wait_for(STDIN_FILENO, POLLIN, ALL_HOSTS_TOP_MS);

    if (events <= 0)
        return events < 0;
    ssize_t n = (events & POLLIN) != 0 ? read(STDIN_FILENO, keys, sizeof keys) : 0;
    return n <= 0 || memchr(keys, 'q', (size_t)n) != NULL;
}

int all_hosts_screen(void (*draw)(size_t rows, void *arg), void *arg, struct err *err)
{
    if (enter(err) == -1)
        return -1;
    do {
        struct screen screen = screen_size();
        size_t rows = screen.rows > 2 ? screen.rows : ROWS_PLAIN;
        draw(rows - 1, arg);
        (void)fputs("q quits; a look every 2 s\033[K\r", stdout);
    } while (fflush(stdout) != EOF && !wait_for_end());
    leave();
    for (size_t i = 0; i < ARRAY_LEN(signals); i++)
        (void)signal(signals[i], SIG_DFL);
    return 0;
}

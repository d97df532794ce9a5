#include "cli/quota.h"

#include "base/time.h"
#include "cli/print.h"
#include "cli/roots.h"
#include "cli/table.h"
#include "store/limits/login_quota.h"

enum { SHORT = 6 }; /* letters of a login that people see */

/* A window with whose it is, in the order in which it is printed. */
struct quota_line {
    struct login_quota quota; /* without its windows */
    struct quota_window window;
};

struct quota_lines {
    struct quota_line *lines;
    size_t count;
};

static void add(const struct login_quota *quota, void *arg)
{
    struct quota_lines *to = arg;

    for (size_t i = 0; i < quota->count; i++) {
        to->lines = mem_room(to->lines, to->count, sizeof *to->lines);
        to->lines[to->count++] = (struct quota_line){*quota, quota->windows[i]};
    }
}

static int compare(const void *a, const void *b)
{
    const struct quota_line *x = a;
    const struct quota_line *y = b;
    int by = strcmp(x->quota.preset, y->quota.preset);

    by = by != 0 ? by : strcmp(x->quota.login, y->quota.login);
    return by != 0 ? by : strcmp(x->window.name, y->window.name);
}

/* A window that has begun anew since it was told is not used, as far as is known. */
static int percent_now(const struct quota_window *window, int64_t now_ms)
{
    return quota_holds_now(window, now_ms) ? window->percent : 0;
}

static void print_json(const struct quota_lines *lines, int64_t now_ms)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    json_put_all(&out, JO(NULL), JA("quota"));
    for (size_t i = 0; i < lines->count; i++) {
        const struct quota_line *line = &lines->lines[i];
        json_put_all(&out, JO(NULL), JT("preset", line->quota.preset),
                     JT("account", line->quota.account[0] != '\0' ? line->quota.account : NULL),
                     JT("login", line->quota.login), JT("window", line->window.name),
                     JI("percent", percent_now(&line->window, now_ms)));
        json_put_time(&out, "resets", line->window.resets_ms);
        json_put_time(&out, "told", line->window.told_ms);
        json_close(&out, '}');
    }
    json_close(&out, ']');
    json_close(&out, '}');
    print_line(&text);
}

/* Adds a time as people read it: of the same day without its date. */
static void add_time(struct table *table, int64_t ms, int64_t now_ms)
{
    char text[TIME_TEXT] = "", today[TIME_TEXT] = "";
    time_t when = (time_t)(ms / 1000), now = (time_t)(now_ms / 1000);
    struct tm tm;

    if (localtime_r(&now, &tm) != NULL)
        (void)strftime(today, sizeof today, "%F ", &tm);
    if (ms != 0 && localtime_r(&when, &tm) != NULL)
        (void)strftime(text, sizeof text, "%F %H:%M", &tm);
    table_add(table, str_starts(text, today) ? text + strlen(today) : text, NULL);
}

static void print_table(const struct quota_lines *lines, int64_t now_ms)
{
    static const char *const heads[] = {"PRESET", "LOGIN", "WINDOW", "USED", "RESETS", "TOLD"};
    struct table table = {.columns = ARRAY_LEN(heads)};

    table_heads(&table, heads);
    for (size_t i = 0; i < lines->count; i++) {
        const struct quota_line *line = &lines->lines[i];
        char login[SHORT + 1], used[16];
        (void)snprintf(login, sizeof login, "%.*s", SHORT, line->quota.login);
        bool named = line->quota.account[0] != '\0';
        (void)snprintf(used, sizeof used, "%d %%", percent_now(&line->window, now_ms));
        table_add(&table, line->quota.preset, NULL);
        table_add(&table, named ? line->quota.account : login, NULL);
        table_add(&table, line->window.name, NULL);
        table_add(&table, used, NULL);
        add_time(&table, line->window.resets_ms, now_ms);
        add_time(&table, line->window.told_ms, now_ms);
    }
    table_print(&table);
    table_free(&table);
}

int quota_print(struct call *call, struct err *err)
{
    struct quota_lines lines = {.lines = NULL};
    int64_t now_ms = time_epoch_ms();

    if (call->session != NULL || call->operand_count > 0 || call_opt(call, "by") != NULL)
        return err_set(err, MAS_USAGE, "--quota is about logins: it takes no SESSION and no --by");
    int rc = call->has_root ? login_quota_each(&call->root, add, &lines, err) : 0;
    if (rc == 0 && lines.count > 1)
        qsort(lines.lines, lines.count, sizeof *lines.lines, compare);
    if (rc == 0 && call->json)
        print_json(&lines, now_ms);
    else if (rc == 0 && lines.count > 0)
        print_table(&lines, now_ms);
    else if (rc == 0)
        fprintf(stderr, "no program has told what is used of its provider's windows\n");
    free(lines.lines);
    return rc;
}

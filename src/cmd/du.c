/*
 * A survey says which sessions there are; then one call measures all of them, so that what several
 * share counts once in the sum. The shared snapshots are one more item of that call, if all
 * sessions are shown. Text and JSON are written from the same figures.
 */

#include "base/number.h"
#include "cli/each_session.h"
#include "cli/print.h"
#include "cli/roots.h"
#include "cli/table.h"
#include "client/survey.h"
#include "cmd.h"
#include "store/snapshot.h"
#include "store/usage.h"

/* The measured sessions. */
struct measured {
    struct survey *survey; /* not owned */
    struct item {
        const struct view *view;
        struct usage usage;
    } * items; /* largest first */
    size_t count;
    bool every; /* all sessions, so include the snapshots that they share */
    struct usage snapshots;
    struct usage total;
};

static void measured_free(struct measured *all)
{
    for (size_t i = 0; i < all->count; i++)
        usage_free(&all->items[i].usage);
    usage_free(&all->snapshots);
    free(all->items);
}
#define _cleanup_measured_ __attribute__((cleanup(measured_free)))

static void add_view(struct measured *all, const struct view *view)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].view == view)
            return;
    all->items = mem_room(all->items, all->count, sizeof *all->items);
    all->items[all->count++] = (struct item){.view = view, .usage = USAGE_INIT};
}

static int add_named(const struct call *call, const char *id, void *arg, struct err *err)
{
    struct measured *all = arg;
    const struct view *view = survey_look(&call->root, all->survey, id);

    if (view == NULL)
        return survey_no_session(call->root.path, id, err);
    if (view->row.missing)
        return err_set(err, MAS_DAMAGED, "cannot measure session '%s': its workspace is missing",
                       id);
    add_view(all, view);
    return 0;
}

/* Measures the named sessions, or the session of this pane, or all. */
static int add_sessions(const struct call *call, struct measured *all, struct err *err)
{
    if (!each_session_means_all(call))
        return each_session_look(call, add_named, all, err);
    all->every = true;
    for (size_t i = 0; i < all->survey->count; i++)
        if (!all->survey->views[i].row.missing)
            add_view(all, &all->survey->views[i]);
    return 0;
}

static int compare_items(const void *a, const void *b)
{
    const struct item *x = a;
    const struct item *y = b;
    uint64_t m = x->usage.all.real;
    uint64_t n = y->usage.all.real;
    return m != n ? (m < n) - (m > n) : strcmp(x->view->row.id, y->view->row.id);
}

static void warn_skipped(const char *what, const char *id, uint64_t skipped)
{
    if (skipped > 0)
        err_warn("%s'%s' uses at least the space shown: %ju of its entries cannot be read", what,
                 id, (uintmax_t)skipped);
}

static void measure(const struct call *call, struct measured *all)
{
    struct usage_options *options = mem_alloc((all->count + 1) * sizeof *options);
    struct usage *usages = mem_alloc((all->count + 1) * sizeof *usages);
    struct stat st;

    for (size_t i = 0; i < all->count; i++)
        options[i] =
            (struct usage_options){all->items[i].view->row.id, all->items[i].view->row.mode};
    all->every = all->every && fstatat(call->root.sessions, SNAPSHOTS_DIR, &st, 0) == 0;
    options[all->count] = (struct usage_options){.id = SNAPSHOTS_DIR};
    usage_measure(&call->root, options, all->count + all->every, usages, &all->total);
    for (size_t i = 0; i < all->count; i++)
        all->items[i].usage = usages[i];
    all->snapshots = usages[all->count];
    free(options);
    free(usages);
    if (all->count > 1)
        qsort(all->items, all->count, sizeof *all->items, compare_items);
    for (size_t i = 0; i < all->count; i++)
        warn_skipped("session ", all->items[i].view->row.id, all->items[i].usage.all.skipped);
    warn_skipped("", SNAPSHOTS_DIR, all->snapshots.all.skipped);
}

/* ---- text */

static void add_size(struct table *table, const struct tree_size *size)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%ju", (uintmax_t)size->files);
    table_add(table, text, NULL);
    number_format_size(size->apparent, text);
    table_add(table, text, NULL);
    number_format_size(size->real, text);
    table_add(table, text, NULL);
}

static void add_own(struct table *table, uint64_t own)
{
    char text[NUMBER_SIZE_TEXT];
    number_format_size(own, text);
    table_add(table, text, NULL);
}

/* Adds a row that is not for a session. */
static void add_sum(struct table *table, const char *what, const struct usage *usage)
{
    table_add(table, what, NULL);
    table_add(table, "", NULL);
    table_add(table, "", NULL);
    add_size(table, &usage->all);
    add_own(table, usage->own);
}

static void print_table(const struct measured *all)
{
    static const char *const heads[] = {"SESSION",  "NAME", "STATUS", "FILES",
                                        "APPARENT", "REAL", "OWN"};
    static const char *const spare[] = {"APPARENT", "FILES", NULL};
    struct table table = {.columns = ARRAY_LEN(heads), .spare = spare};

    table_heads(&table, heads);
    for (size_t i = 0; i < all->count; i++) {
        const struct item *item = &all->items[i];
        const struct view *view = item->view;
        const char *name = view_name(view);
        table_add(&table, view->live != NULL ? view->live->name : view->row.tmux_name, NULL);
        table_add(&table, name[0] != '\0' ? name : "-", NULL);
        table_add(&table, status_name(view->status), colour_of(view->status, view->crashed));
        add_size(&table, &item->usage.all);
        add_own(&table, item->usage.own);
    }
    if (all->every)
        add_sum(&table, "snapshots", &all->snapshots);
    add_sum(&table, "total", &all->total);
    table_print(&table);
    table_free(&table);
}

/* The names of the parts other than units, in text and in JSON. */
static const char *const part_names[USAGE_PARTS] = {"workflows", "logs", "memory", "code", "other"};

/* Prints the parts of one session. */
static void print_parts(const struct usage *usage)
{
    static const char *const heads[] = {"PART", "FILES", "APPARENT", "REAL"};
    struct table table = {.columns = ARRAY_LEN(heads)};
    char own[NUMBER_SIZE_TEXT];

    table_heads(&table, heads);
    for (size_t i = 0; i < usage->unit_count; i++) {
        _cleanup_free_ char *name = mem_printf("unit/%s", usage->units[i].agent);
        table_add(&table, name, NULL);
        add_size(&table, &usage->units[i].size);
    }
    for (size_t i = 0; i < USAGE_PARTS; i++) {
        table_add(&table, part_names[i], NULL);
        add_size(&table, &usage->parts[i]);
    }
    table_add(&table, "total", NULL);
    add_size(&table, &usage->all);
    table_print(&table);
    table_free(&table);
    number_format_size(usage->own, own);
    printf("\nown: %s, which no other file shares\n", own);
}

/* ---- JSON */

static void put_size(struct json_out *out, const struct tree_size *size)
{
    json_put_int(out, "apparent", (int64_t)size->apparent);
    json_put_int(out, "real", (int64_t)size->real);
}

static void put_usage(struct json_out *out, const struct usage *usage)
{
    put_size(out, &usage->all);
    json_put_all(out, JI("own", usage->own), JI("files", usage->all.files),
                 JI("skipped", usage->all.skipped));
}

static void put_item(struct json_out *out, const struct item *item)
{
    const struct usage *usage = &item->usage;

    json_open(out, NULL, '{');
    json_put_all(out, JT("sessionId", item->view->row.id), JT("name", view_name(item->view)),
                 JT("status", status_name(item->view->status)));
    put_usage(out, usage);
    json_open(out, "units", '[');
    for (size_t i = 0; i < usage->unit_count; i++) {
        json_open(out, NULL, '{');
        json_put(out, "agent", usage->units[i].agent);
        put_size(out, &usage->units[i].size);
        json_close(out, '}');
    }
    json_close(out, ']');
    for (size_t i = 0; i < USAGE_PARTS; i++) {
        json_open(out, part_names[i], '{');
        put_size(out, &usage->parts[i]);
        json_close(out, '}');
    }
    json_close(out, '}');
}

static void print_json(const struct measured *all)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    json_open(&out, NULL, '{');
    json_open(&out, "sessions", '[');
    for (size_t i = 0; i < all->count; i++)
        put_item(&out, &all->items[i]);
    json_close(&out, ']');
    json_open(&out, "snapshots", '{');
    put_usage(&out, &all->snapshots);
    json_close(&out, '}');
    json_open(&out, "total", '{');
    put_usage(&out, &all->total);
    json_close(&out, '}');
    json_close(&out, '}');
    print_line(&text);
}

static int run_du(struct call *call, struct err *err)
{
    _cleanup_survey_ struct survey survey = SURVEY_INIT;
    _cleanup_measured_ struct measured all = {.survey = &survey, .total = USAGE_INIT};
    int rc = 0;

    if (call->has_root && survey_take(&call->root, &call->config, SURVEY_LIVE, &survey, err) == -1)
        return -1;
    rc = add_sessions(call, &all, err);
    if (all.count == 0 && rc == -1)
        return -1;
    if (call->has_root)
        measure(call, &all);
    if (call->quiet)
        for (size_t i = 0; i < all.count; i++)
            printf("%s\n", all.items[i].view->row.id);
    else if (call->json)
        print_json(&all);
    else if (all.count == 0)
        roots_say_none(call, "no sessions");
    else if (all.count == 1 && call->operand_count + (call->session != NULL) == 1)
        print_parts(&all.items[0].usage);
    else
        print_table(&all);
    return rc;
}

const struct cmd cmd_du = {
    .name = "du",
    .group = GROUP_SESSIONS,
    .operands = " [SESSION...]",
    .summary = "show the disk use of sessions",
    .examples = "mas du\n"
                "mas du shop",
    .details = "The largest session comes first. APPARENT is the number of bytes that the "
               "files hold, REAL the number of bytes that they use on disk; a file with "
               "several names and an extent that files share count once. OWN is the part of "
               "REAL that nothing else shares; removing the session frees at least this "
               "much. Without SESSION, show the team in whose pane the command runs; "
               "elsewhere show all sessions. For a single SESSION, show its parts.",
    .operands_max = -1,
    .root = ROOT_IF_THERE,
    .on = ON_SESSIONS,
    .takes = TAKES_JSON | TAKES_QUIET | TAKES_ALL_HOSTS,
    .run = run_du,
};

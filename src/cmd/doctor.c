/*
 * session/doctor/doctor.h has the checks; that of memory.db is given to it from here. Findings are
 * printed as they came, but the table shows a note that several sessions share once. A note is no
 * problem: the command fails only if something is left to repair.
 */

#include "session/doctor/doctor.h"

#include "base/id.h"
#include "base/json.h"
#include "cli/print.h"
#include "cli/table.h"
#include "cmd.h"
#include "memory/store.h"

static const struct opt opts[] = {
    {0, "fix", NULL, "repair what can be repaired without losing anything"},
    {.name = NULL},
};

/* Checks memory.db of a session. With `fix`, renames a damaged one to make room for a new one; the
 * renamed file keeps its contents. */
static int look_at_memory(int dir, const char *id, bool fix, char **ret_what, struct err *err)
{
    _cleanup_store_ struct store *store = NULL;
    struct err why = ERR_INIT;
    char *name = NULL;

    int rc = store_open(dir, id, NULL, false, &store, &why);
    if (rc == 0)
        rc = store_check(store, &why);
    if (rc == 0 || why.code == MAS_NOT_FOUND)
        return 0;
    if (why.code != MAS_DAMAGED) {
        *err = why;
        return -1;
    }
    store_close(store);
    store = NULL;
    if (!fix || (rc = store_set_aside(dir, &name, err)) == -1) {
        *ret_what = mem_printf("%s; it can be set aside, so that mas creates a new one", why.text);
        return fix ? -1 : 1;
    }
    *ret_what = name != NULL ? mem_printf("%s; set aside as %s", why.text, name)
                             : mem_printf("%s; another process set it aside", why.text);
    free(name);
    return 1;
}

static void print_json(const struct findings *findings)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    json_open(&out, NULL, '{');
    json_open(&out, "findings", '[');
    for (size_t i = 0; i < findings->count; i++) {
        json_put_all(&out, JO(NULL), JT("subject", findings->items[i].subject),
                     JT("state", finding_state_name(findings->items[i].state)),
                     JT("what", findings->items[i].what), JOE);
    }
    json_close(&out, ']');
    json_close(&out, '}');
    print_line(&text);
}

/* Returns true if two notes say the same, each of its own session. */
static bool is_same_note(const struct finding *a, const struct finding *b)
{
    const char *x = a->what, *y = b->what;

    if (a->state != FINDING_NOTE || b->state != FINDING_NOTE || !id_is_valid(a->subject))
        return false;
    while (*x != '\0' || *y != '\0')
        if (str_starts(x, a->subject) && str_starts(y, b->subject)) {
            x += strlen(a->subject);
            y += strlen(b->subject);
        } else if (*x++ != *y++) {
            return false;
        }
    return true;
}

/* Returns how many findings of the part say the same as this one. */
static size_t count_same(const struct finding *finding, const struct finding *from,
                         const struct finding *end)
{
    size_t count = 0;

    for (; from < end; from++)
        count += is_same_note(finding, from);
    return count;
}

/* A note that many sessions share is one line. */
static void print_table(const struct findings *findings)
{
    struct table table = {.columns = 3};
    const struct finding *end = findings->items + findings->count;

    for (const struct finding *finding = findings->items; finding < end; finding++) {
        if (count_same(finding, findings->items, finding) > 0)
            continue;
        size_t more = count_same(finding, finding + 1, end);
        _cleanup_free_ char *many = mem_printf("%s and %zu more", finding->subject, more);
        table_add(&table, finding_state_name(finding->state), NULL);
        table_add(&table, more > 0 ? many : finding->subject, NULL);
        _cleanup_str_ struct str what = STR_INIT;
        err_add_commands(&what, "%s", finding->what);
        table_add(&table, what.data, NULL);
    }
    if (findings->count == 0)
        printf("everything is in order\n");
    table_print(&table);
    table_free(&table);
}

static int run_doctor(struct call *call, struct err *err)
{
    struct findings findings = {.items = NULL};
    size_t open = 0;
    size_t by_hand = 0;

    if (call->has_root && doctor_run(&call->root, &call->config, call_opt(call, "fix") != NULL,
                                     look_at_memory, &findings, err) == -1) {
        findings_free(&findings);
        return -1;
    }
    for (size_t i = 0; i < findings.count; i++) {
        open += findings.items[i].state == FINDING_OPEN;
        by_hand += findings.items[i].state == FINDING_HAND;
    }
    if (call->json)
        print_json(&findings);
    else
        print_table(&findings);
    findings_free(&findings);
    if (open + by_hand == 0)
        return 0;
    (void)err_set(err, MAS_FAILED, "cannot call everything in order: %zu problem%s found",
                  open + by_hand, open + by_hand == 1 ? "" : "s");
    return err_hint(err, open > 0
                             ? "repair what can be repaired with: mas doctor --fix"
                             : "repair the findings marked 'by hand', then run 'mas doctor' again");
}

const struct cmd cmd_doctor = {
    .name = "doctor",
    .group = GROUP_SETUP,
    .operands = "",
    .summary = "check everything on disk and in tmux, and repair it",
    .examples = "mas doctor\n"
                "mas doctor --fix",
    .details = "Print a line for each finding. The exit status is 1 if a finding is open or "
               "has to be repaired by hand. With --fix, mas removes leftovers and replaces "
               "damaged files; a damaged file stays beside the new one. It "
               "looks at the repositories of a project, but reads no objects: git fsck does.",
    .opts = opts,
    .root = ROOT_IF_THERE,
    .takes = TAKES_JSON | TAKES_ALL_HOSTS,
    .run = run_doctor,
};

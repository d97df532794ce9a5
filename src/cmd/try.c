/*
 * Without operands it lists; --off needs no session, only the checkout; anything else tries. What
 * --follow does in each round is what a try does, and it holds the lock of code.git only meanwhile.
 */
#include "code/try.h"

#include "base/json.h"
#include "base/time.h"
#include "cli/code.h"
#include "cli/consent.h"
#include "cli/person.h"
#include "cli/print.h"
#include "cli/table.h"
#include "client/survey.h"
#include "os/loop.h"
#include "os/signals.h"
#include "store/index.h"
#include "store/session.h"
#include "store/workspace.h"

enum { LOOK_MS = 1000 };

static const struct opt opts[] = {
    {0, "off", NULL, "put back what was there"},
    {0, "follow", NULL, "go on as the agent works, until Ctrl-C"},
    {'y', "yes", NULL, "do not ask whether --follow may"},
    {.name = NULL},
};

/* ---- where files are tried */

/* Calls `each` for each session of the root of which files are tried somewhere. */
typedef void each_place(const char *id, const struct tried_place *place, void *arg);
static int find_places(const struct call *call, each_place *each, void *arg, struct err *err)
{
    _cleanup_index_ struct index index = INDEX_INIT;

    if (!call->has_root)
        return 0;
    if (index_read(&call->root, false, &index, err) == -1)
        return -1;
    for (size_t i = 0; i < index.count; i++) {
        _cleanup_close_ int dir =
            index_has_no_code(&index.rows[i]) ? -1 : workspace_open(&call->root, index.rows[i].id);
        struct tried_place place;
        if (dir == -1 || !tried_look(dir, &place))
            continue;
        each(index.rows[i].id, &place, arg);
        tried_place_free(&place);
    }
    return 0;
}

struct tried_list {
    const struct call *call;
    struct table table;
    struct json_out json;
};

static void add_place(const char *id, const struct tried_place *place, void *arg)
{
    struct tried_list *to = arg;
    char age[24] = "";
    time_t since = 0;

    if (to->call->json) {
        json_put_all(&to->json, JO(NULL), JT("sessionId", id), JT("agent", place->agent),
                     JT("dir", place->top), JT("since", place->since), JB("half", place->half),
                     JOE);
        return;
    }
    if (time_parse(place->since, &since))
        time_age(since, time(NULL), age);
    table_add(&to->table, id != NULL ? session_label(&to->call->root, id).text : "", NULL);
    table_add(&to->table, place->agent, NULL);
    table_add(&to->table, age, NULL);
    table_add(&to->table, place->half ? "half done" : "", NULL);
    table_add(&to->table, place->top, NULL);
}

/* The checkout that this directory is in may have files of a session of another root, or of one
 * that was removed. */
static void add_here(struct tried_list *to)
{
    _cleanup_tried_ struct tried here = TRIED_INIT;
    struct err ignored = ERR_INIT;

    if (tried_open(".", &here, &ignored) == -1 || here.workspace == NULL)
        return;
    const struct tried_place place = {
        .agent = here.agent, .top = here.top_path, .since = here.since, .half = here.half};
    const char *root = to->call->has_root ? to->call->root.path : "";
    if (access(here.workspace, F_OK) == -1 || !str_starts(here.workspace, root) ||
        here.workspace[strlen(root)] != '/' || root[0] == '\0')
        add_place(NULL, &place, to);
}

static int list(struct call *call, struct err *err)
{
    static const char *const heads[] = {"SESSION", "AGENT", "AGE", "STATE", "DIRECTORY"};
    _cleanup_str_ struct str text = STR_INIT;
    struct tried_list to = {.call = call,
                            .table = {.columns = ARRAY_LEN(heads), .whole_last = true},
                            .json = {.to = &text}};

    table_heads(&to.table, heads);
    json_open(&to.json, NULL, '{');
    json_open(&to.json, "tried", '[');
    int rc = find_places(call, add_place, &to, err);
    if (rc == 0)
        add_here(&to);
    json_close(&to.json, ']');
    json_close(&to.json, '}');
    if (rc == 0 && call->json)
        print_line(&text);
    else if (rc == 0 && to.table.count > ARRAY_LEN(heads))
        table_print(&to.table);
    else if (rc == 0 && !call->quiet)
        (void)fprintf(stderr, "nothing is tried\n");
    table_free(&to.table);
    return rc;
}

/* ---- what is told */

static void warn_names(const char *what, char *const *names)
{
    _cleanup_str_ struct str list = STR_INIT;

    if (names == NULL)
        return;
    git_show_names(names, &list);
    err_warn("%s: %s", what, list.data);
}

static void warn_notes(const struct tried_notes *notes)
{
    for (char **path = notes->kept; path != NULL && *path != NULL; path++)
        err_warn("a file was changed while it was tried, and is kept: %s", *path);
    if (notes->index_stays)
        err_warn("the index was changed meanwhile, and stays as it is");
    if (notes->head_moved)
        err_warn("HEAD has moved meanwhile: see what differs from it with: git status");
}

static void put_names(struct json_out *out, const char *key, char *const *names)
{
    json_open(out, key, '[');
    for (; names != NULL && *names != NULL; names++)
        json_put(out, NULL, *names);
    json_close(out, ']');
}

/* ---- taking them out */

struct only_place {
    char *top;
    size_t count;
};

static void add_only(const char *id, const struct tried_place *place, void *arg)
{
    struct only_place *only = arg;

    (void)id;
    free(only->top);
    only->top = mem_dup(place->top);
    only->count++;
}

/* Fails if the checkout in which the files of a session were tried is not where it was. */
static int check_moved(int workspace, struct err *err)
{
    _cleanup_free_ char *top = tried_moved(workspace);

    if (top == NULL)
        return 0;
    (void)err_set(err, MAS_NOT_FOUND, "cannot take out what is tried in '%s': it is not there",
                  top);
    return err_hint(err, "if it was moved, run where it is now: mas try --off");
}

/* Opens the checkout that is meant: that of the SESSION, or the one that this directory is in, or
 * the only one of the root. *ret stays without a workspace if nothing is tried there. */
static int open_tried(struct call *call, struct tried *ret, struct err *err)
{
    const char *session = call->operand_count > 0 ? call->operands[0] : call->session;
    struct only_place only = {.top = NULL};
    struct err ignored = ERR_INIT;
    char id[ID_TEXT];
    int rc = 0;

    if (call->operand_count > 1)
        return call_unexpected(call, call->operands[1], err);
    if (session != NULL) {
        if (call_select(call, session, id, err) == -1)
            return -1;
        _cleanup_close_ int dir = workspace_open(&call->root, id);
        struct tried_place place;
        if (dir == -1 || !tried_look(dir, &place))
            return dir != -1 ? check_moved(dir, err) : 0;
        add_only(id, &place, &only);
        tried_place_free(&place);
    } else if (tried_open(".", ret, &ignored) == 0 && ret->workspace != NULL) {
        return 0;
    } else {
        tried_free(ret);
        rc = ignored.code == MAS_DAMAGED || ignored.code == MAS_TIMEOUT ||
                     ignored.code == MAS_CONFLICT
                 ? (*err = ignored, -1)
                 : find_places(call, add_only, &only, err);
    }
    if (rc == 0 && only.count > 1) {
        (void)err_set(err, MAS_USAGE, "cannot tell which checkout: files are tried in %zu",
                      only.count);
        rc = err_hint(err, "see them with: mas try; then name one: mas try --off SESSION");
    }
    if (rc == 0 && only.count == 1)
        rc = tried_open(only.top, ret, err);
    free(only.top);
    return rc;
}

static int off(struct call *call, struct err *err)
{
    _cleanup_tried_ struct tried tried = TRIED_INIT;
    struct tried_notes notes = TRIED_NOTES_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    if (open_tried(call, &tried, err) == -1)
        return -1;
    _cleanup_free_ char *agent = mem_dup(tried.agent);
    bool was = tried.workspace != NULL;
    int rc = was ? tried_off(&tried, &notes, err) : 0;
    if (rc == -1)
        (void)err_hint(err, "mend that, and run again: mas try --off");
    if (call->json && rc == 0) {
        json_open(&out, NULL, '{');
        json_put_all(&out, JT("dir", was ? tried.top_path : NULL), JT("agent", agent));
        put_names(&out, "kept", notes.kept);
        json_put_all(&out, JB("indexStays", notes.index_stays), JB("headMoved", notes.head_moved),
                     JOE);
        print_line(&text);
    } else if (!call->quiet && rc == 0 && was) {
        printf("%s is as it was before agent '%s'\n", tried.top_path, agent);
    } else if (!call->quiet && rc == 0) {
        (void)fprintf(stderr, "nothing is tried\n");
    }
    warn_notes(&notes);
    tried_notes_free(&notes);
    return rc;
}

/* ---- trying */

static void tell(const struct code_call *code, const char *agent, const struct try_result *result)
{
    const struct call *call = code->call;
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    warn_notes(&result->notes);
    if (call->json) {
        json_put_all(&out, JO(NULL), JT("sessionId", code->roster.teams[0].id), JT("agent", agent),
                     JT("dir", result->top), JI("came", result->came), JI("went", result->went));
        put_names(&out, "held", result->held);
        put_names(&out, "submodules", result->modules);
        put_names(&out, "kept", result->notes.kept);
        json_close(&out, '}');
        print_line(&text);
        (void)fflush(stdout);
        return;
    }
    warn_names("held back, as git, shells, editors or agents would act on them", result->held);
    warn_names("submodules stay at their commits", result->modules);
    if (call->quiet)
        return;
    str_addf(&text, "%s: ", agent);
    if (result->same || result->came + result->went == 0)
        str_add(&text, "no file differs");
    else
        str_addf(&text, "%zu file%s", result->came, result->came == 1 ? "" : "s");
    if (result->went > 0)
        str_addf(&text, ", and %zu gone,", result->went);
    str_add(&text, " in ");
    str_add_name(&text, result->top);
    print_line(&text);
    (void)fflush(stdout);
}

static int one_round(struct code_call *code, const char *agent, bool only_again, struct err *err)
{
    _cleanup_try_ struct try_result result = TRY_RESULT_INIT;

    if (code->lock == -1 && merge_lock(&code->repo, "try", &code->lock, err) == -1)
        return -1;
    int rc = try_agent(&code->repo, agent, &code->team.project, only_again, &result, err);
    code_call_unlock(code);
    if (rc == 0 && !(only_again && result.same))
        tell(code, agent, &result);
    else
        warn_notes(&result.notes);
    return rc;
}

/* Asks for all rounds. */
static int ask(const struct call *call, const char *agent, const struct code_call *code,
               struct err *err)
{
    char answer = 0;

    if (call_opt(call, "yes") != NULL)
        return 0;
    if (!consent_possible())
        return err_set(err, MAS_USAGE, "cannot ask on no terminal: use --yes with --follow");
    (void)fprintf(
        stderr,
        "All that agent '%s' writes goes into '%s' at once: what runs there runs code that "
        "nobody has read.\nFollow it? [y/N] ",
        agent, code->team.project.path);
    if (consent_read(&answer, err) == -1)
        return -1;
    return answer == 'y' ? 0 : err_set(err, MAS_FAILED, "nothing is followed");
}

/* Follows until a signal comes or the try is taken out by somebody else. What fails on the way,
 * such as a link that leads out, is told once. */
static int follow(struct code_call *code, const char *agent, int signals, struct err *err)
{
    _cleanup_free_ char *told = NULL;
    _cleanup_free_ char *tree = repo_tree(&code->repo, agent);
    struct stat was, now;
    bool there = stat(tree, &was) == 0;

    while (loop_wait_for(signals, POLLIN, LOOK_MS) == 0) {
        struct err why = ERR_INIT;
        /* another agent of this name is not the one that a person has said yes to */
        if (!there || stat(tree, &now) == -1 || now.st_ino != was.st_ino)
            return err_set(err, MAS_NOT_FOUND, "cannot follow agent '%s': its work tree is gone",
                           agent);
        if (one_round(code, agent, true, &why) == 0) {
            free(told);
            told = NULL;
        } else if (why.code == MAS_NOT_FOUND) {
            *err = why;
            return -1;
        } else if (told == NULL || strcmp(told, why.text) != 0) {
            err_print(&why);
            free(told);
            told = mem_dup(why.text);
        }
    }
    return 0;
}

static int run_try(struct call *call, struct err *err)
{
    _cleanup_code_call_ struct code_call code = CODE_CALL_INIT;
    _cleanup_close_ int signals = -1;
    bool follows = call_opt(call, "follow") != NULL;

    if (call_opt(call, "off") != NULL)
        return follows ? err_set(err, MAS_USAGE, "cannot use --off with --follow") : off(call, err);
    if (call->operand_count == 0 && call->session == NULL && !follows)
        return list(call, err);
    if (person_check("try", err) == -1 ||
        code_call_open(call, TARGETS_AGENT, false, &code, err) == -1)
        return -1;
    if (call->operand_count > 0)
        return call_unexpected(call, call->operands[0], err);
    const char *agent = code.roster.agents[0].agent->id;
    if (follows) {
        code_call_unlock(&code);
        if (ask(call, agent, &code, err) == -1)
            return -1;
        signals = signals_open((const int[]){SIGINT, SIGTERM, SIGHUP, 0});
        if (signals == -1)
            return err_errno(err, "cannot follow");
    }
    if (one_round(&code, agent, false, err) == -1 ||
        (follows && follow(&code, agent, signals, err) == -1))
        return -1;
    if (!call->quiet && !call->json)
        (void)fprintf(stderr, "take it out again with: mas try --off\n");
    return 0;
}

const struct cmd cmd_try = {
    .name = "try",
    .group = GROUP_CODE,
    .operands = " [SESSION] [AGENT]",
    .summary = "see an agent's files in your checkout",
    .examples = "mas try login 21\n"
                "mas try login 21 --follow\n"
                "mas try --off\n"
                "mas try",
    .details = "mas puts the files of an agent, as they are, into the checkout of the project, so "
               "that what runs there shows them. Nothing is merged or committed. --off puts back "
               "every byte, also what was not committed. Settings of git, shells, editors and "
               "agents are held back. Without operands, mas lists what is tried where. After "
               "--follow, the files stay until --off.",
    .opts = opts,
    .operands_max = 2,
    .root = ROOT_IF_THERE,
    .on = ON_TARGET,
    .who = WHO_PERSONS,
    .takes = TAKES_JSON | TAKES_QUIET,
    .does = CHANGES_SESSIONS | WAITS_LONG,
    .run = run_try,
};

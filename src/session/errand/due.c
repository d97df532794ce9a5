/*
 * What tick and errand share. The host tells its status first; whether the prompt before is still
 * on is then read from the store. If a prompt was sent and no answer came, it may have arrived
 * (*ret_unknown). Another mas is run with the environment of the person who made the entry, and as
 * that person, never as an agent.
 */

#include "session/errand/due.h"

#include "base/env.h"
#include "memory/store.h"
#include "os/proc.h"
#include "store/workspace.h"

enum { OUTPUT_MAX = 64 * 1024 }; /* of another mas */

/* ---- the agent */

int due_ask(struct due *due, const char *head, bool coming, struct err *err)
{
    struct roster_team team;

    roster_free(&due->roster);
    if (roster_open(due->tick->root, due->id, &team, err) == -1 ||
        roster_add(&due->roster, &team, due->entry->agent, err) == -1)
        return -1;
    if (due->roster.count != 1)
        return err_set(err, MAS_NOT_FOUND, "there is no agent '%s'", due->entry->agent);
    roster_ask(&due->roster, head, NULL, 0);
    if (coming)
        roster_ask_coming(&due->roster, head, DUE_MS);
    return 0;
}

int due_look(struct due *due, bool coming, bool *ret_runs, struct err *err)
{
    if (due_ask(due, "{\"do\":\"status\"}", coming, err) == -1)
        return -1;
    roster_finish(&due->roster, DUE_MS);
    *ret_runs = due->roster.agents[0].told;
    if (!*ret_runs && roster_listens(&due->roster, 0))
        return roster_failure(&due->roster, 0, "ask", err);
    return 0;
}

static bool keep_going(const struct store_item *item, void *arg)
{
    struct {
        int64_t number;
        bool goes;
    } *prompt = arg;

    prompt->goes = item->number == prompt->number && item->stop_reason == NULL;
    return false;
}

int due_goes(const struct due *due, struct err *err)
{
    const struct agent_status *status = &due->roster.agents[0].status;
    struct {
        int64_t number;
        bool goes;
    } prompt = {.number = due->entry->prompt};
    const struct store_filter filter = {
        .agent = due->entry->agent, .from = prompt.number, .limit = 1};
    _cleanup_store_ struct store *store = NULL;

    if (!status->talks)
        return due->entry->runs > 0 && (status->state == AGENT_WORKING || status->queued > 0);
    if (prompt.number == 0)
        return 0;
    if (store_open(due->dir, due->id, NULL, false, &store, err) == -1 ||
        store_read(store, &filter, keep_going, &prompt, err) == -1)
        return -1;
    return prompt.goes;
}

/* ---- the prompt */

static bool on_taken(struct host_call *call, const struct frame *reply, void *arg)
{
    const char *prompt = json_get_text(reply->head, "prompt");
    const char *colon = prompt != NULL ? strrchr(prompt, ':') : NULL;
    uint64_t number = 0;

    if (hosts_reply_error(reply->head, &call->err) == 0 && colon != NULL &&
        number_parse_count(colon + 1, INT64_MAX, &number))
        *(int64_t *)arg = (int64_t)number;
    return true;
}

char *due_tag(const struct every_entry *entry)
{
    return mem_printf(EVERY_TAG "%" PRId64 "-%" PRId64, entry->number, entry->given_ms);
}

int due_give(const struct due *due, const char *text, bool *ret_unknown, struct err *err)
{
    bool talks = due->roster.agents[0].status.talks;
    struct every_entry *entry = due->entry;
    struct host_call call = {.run = due->roster.teams[0].run, .agent = entry->agent};
    _cleanup_free_ char *tag = due_tag(entry);
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out = {.to = &head};

    json_open(&out, NULL, '{');
    json_put(&out, "do", talks ? "ask" : "send");
    if (talks) {
        json_put_bool(&out, "once", true);
        json_open(&out, "tags", '[');
        json_put(&out, NULL, tag);
        json_close(&out, ']');
    }
    json_close(&out, '}');
    hosts_start(&call, 1, head.data, text, strlen(text));
    hosts_finish(&call, 1, DUE_MS, on_taken, &entry->prompt);
    *ret_unknown = call.answer != HOST_ANSWERED && call.answer != HOST_ABSENT;
    if (call.answer == HOST_ANSWERED && call.err.code == MAS_OK)
        return 0;
    if (call.err.code != MAS_OK)
        *err = call.err;
    else
        (void)err_set(err, MAS_TIMEOUT, "its host does not answer");
    return -1;
}

/* ---- another mas */

int due_run_mas(const struct due *due, const char *const *words, int timeout_ms, struct err *err)
{
    _cleanup_strv_ char **env = NULL;
    _cleanup_strv_ char **argv = NULL;
    _cleanup_str_ struct str said = STR_INIT;
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;

    if (every_env(due->dir, &env, err) == -1)
        return -1;
    if (env == NULL)
        return err_set(err, MAS_FAILED,
                       "it has no environment here to be started with: add the entry again");
    env_drop(env, "MAS_AGENT_ID"); /* it is the person who acts */
    strv_push(&argv, "mas");
    strv_push(&argv, "--root");
    strv_push(&argv, due->tick->root->path);
    strv_push_all(&argv, (char *const *)(uintptr_t)words);
    const struct proc_spec spec = {.file = due->tick->exe,
                                   .argv = argv,
                                   .envp = env,
                                   .cwd = -1,
                                   .output_max = OUTPUT_MAX,
                                   .tail = true,
                                   .timeout_ms = timeout_ms,
                                   .bound = true};
    if (proc_capture(&spec, &result, err) == -1)
        return -1;
    if (result.status == 0)
        return 0;
    const char *text = str_text(&result.err);
    text += str_starts(text, "mas: ") ? strlen("mas: ") : 0;
    str_add_visible(&said, text, strcspn(text, "\n"));
    if (said.len == 0)
        str_addf(&said, "'mas %s' ended without a word", words[0]);
    return err_set(err, MAS_FAILED, "%s", str_text(&said));
}

/* ---- what is kept */

void due_note(const struct due *due, const char *what)
{
    workspace_log(due->dir, config_log_limits(due->tick->config),
                  "every number=%" PRId64 " agent=%s %s", due->entry->number, due->entry->agent,
                  what);
}

void due_set_why(struct every_entry *entry, const char *why)
{
    _cleanup_str_ struct str text = STR_INIT;

    str_add_visible(&text, why, strlen(why));
    free(entry->why);
    entry->why = mem_dupn(str_text(&text), str_fit(str_text(&text), EVERY_WHY_MAX));
}

int due_keep(const struct due *due, bool gone, struct err *err)
{
    return every_change(due->tick->root, due->dir, due->entry, gone, err);
}

void due_failed(const struct due *due, const char *why)
{
    _cleanup_free_ char *was = mem_dup(due->entry->why);
    struct err ignored = ERR_INIT;

    due_set_why(due->entry, why);
    if (strcmp(was, due->entry->why) != 0 && due_keep(due, false, &ignored) == 0)
        due_note(due, "failed");
}

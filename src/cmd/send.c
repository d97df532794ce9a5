#include "cli/each_session.h"
#include "cli/picture_files.h"
#include "cli/print.h"
#include "cli/targets.h"
#include "cli/words.h"
#include "client/sending.h"
#include "os/loop.h"

static const struct opt opts[] = {
    {0, "file", "FILE", "send the content of FILE"},
    OPT_IMAGE,
    {0, "no-enter", NULL, "type the text without Enter"},
    {0, "from", "AGENT", "the agent that sends the text; known in a team's pane"},
    {0, "wait", NULL, "return when the agents have processed the text"},
    {0, "now", NULL, "let working ACP agents see the text in their present turns"},
    {0, "timeout", "TIME", "wait no longer than this, such as 500ms, 30s or 5m"},
    {.name = NULL},
};

/* Reads the text to send from the words, a file or standard input (*ret_input). */
static int read_text(struct call *call, bool enter, char **ret, size_t *ret_len, bool *ret_input,
                     struct err *err)
{
    if (words_message(call, ret, ret_len, ret_input, err) == -1)
        return -1;
    bool file = *ret_input || call_opt(call, "file") != NULL;
    if (file && enter && *ret_len > 0 && (*ret)[*ret_len - 1] == '\n')
        (*ret_len)--;
    if (*ret_len == 0 && (file || !enter)) {
        (void)err_set(err, MAS_USAGE, "cannot send: the text is empty");
        return err_hint(err, "to send Enter alone: mas send SESSION TARGET ''");
    }
    return 0;
}

/* Keeps the pictures that go with the text in the session. */
static int read_pictures(const struct call *call, struct sending *sending, bool input,
                         struct err *err)
{
    if (call_opt(call, "image") != NULL && sending->options.no_enter)
        return err_set(err, MAS_USAGE, "cannot use --image with --no-enter");
    return picture_files_keep(call, sending->roster.teams[0].dir, input, &sending->options.pictures,
                              err);
}

static void end_output(void)
{
    loop_end_with(STDOUT_FILENO); /* what is left is only to wait */
}

/* Says that an agent gets the text later. */
static void say_later(const char *agent, const char *outcome, const char *why)
{
    bool held = outcome != NULL && strcmp(outcome, "held") == 0;
    _cleanup_str_ struct str words = STR_INIT;

    str_add_visible(&words, why, strlen(why));
    err_warn(held ? "agent '%s' does not get the text yet: %s"
                  : "agent '%s' gets the text after its turn: %s",
             agent, str_text(&words));
}

/* Reports the results as each_session_fail() does; with --json, prints all of them. */
static int report(const struct call *call, const struct sending *sending, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    int rc = 0;

    sending_put(sending, &text);
    for (size_t i = 0; i < sending->roster.count; i++) {
        struct err why = ERR_INIT;
        if (sending->whys[i] != NULL)
            say_later(sending->roster.agents[i].agent->id, sending->outcomes[i], sending->whys[i]);
        if (sending_failure(sending, i, &why) == -1)
            each_session_fail(&why, &rc, err);
    }
    if (call->json)
        print_line(&text);
    return rc;
}

static int run_send(struct call *call, struct err *err)
{
    _cleanup_sending_ struct sending sending = SENDING_INIT;
    _cleanup_free_ char *text = NULL;
    size_t len = 0;
    bool input = false;
    struct message_options *options = &sending.options;

    options->no_enter = call_opt(call, "no-enter") != NULL;
    options->wait = call_opt(call, "wait") != NULL;
    options->now = call_opt(call, "now") != NULL;
    sending.taken = end_output;
    if (options->now && options->no_enter)
        return err_set(err, MAS_USAGE, "cannot use --now with --no-enter");
    if (call_opt(call, "timeout") != NULL && !options->wait)
        return err_set(err, MAS_USAGE, "cannot use --timeout without --wait");
    if (targets_timeout(call, &sending.wait_ms, err) == -1 ||
        targets_parse(call, TARGETS_ONE, &sending.roster, err) == -1 ||
        targets_sender(call, &sending.roster, "send to", &options->from, err) == -1 ||
        read_text(call, !options->no_enter, &text, &len, &input, err) == -1 ||
        read_pictures(call, &sending, input, err) == -1 ||
        sending_send(&call->root, &sending, text, len, err) == -1)
        return -1;
    return report(call, &sending, err);
}

const struct cmd cmd_send = {
    .name = "send",
    .group = GROUP_BEGIN,
    .operands = " [SESSION] TARGET TEXT...",
    .summary = "type a text and Enter to agents",
    .examples = "mas send shop lead 'look at the tests first'\n"
                "mas send shop workers --file task.md\n"
                "mas send shop all --wait 'say where you are'",
    .details = "TARGET is an agent's id, a comma-separated list, a unit, managers, workers "
               "or all. mas joins the words of TEXT with single spaces; - is standard input, "
               "'' is Enter alone. Inside a team's pane, omit SESSION. An agent that does "
               "not run is started. The exit status is 0 if the hosts of all agents have "
               "accepted the text.",
    .opts = opts,
    .operands_max = -1,
    .root = ROOT_IF_THERE,
    .on = ON_TARGET,
    .who = WHO_AGENTS,
    .takes = TAKES_JSON,
    .does = CHANGES_SESSIONS | WAITS_LONG | OPENS_NO_DATABASE,
    .run = run_send,
};

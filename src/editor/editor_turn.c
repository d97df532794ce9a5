/* Turns that the host reports, and the prompts of the client that they belong to. */
#include "base/time.h"
#include "editor/editor_internal.h"
#include "protocol/host.h"

void editor_prompt_begins(struct editor *editor, const char *prompt)
{
    editor_replace(&editor->running, prompt);
    for (size_t i = 0; i < editor->pending_count; i++) {
        struct pending_request *pending = editor->pending[i];
        if (pending->step != STEP_FOLLOWS || strcmp(pending->session, editor->conversation) != 0)
            continue;
        pending->step = STEP_RUNS;
        editor_replace(&pending->prompt, prompt);
    }
}

void editor_prompt_follows(struct editor *editor)
{
    for (size_t i = 0; i < editor->pending_count; i++) {
        struct pending_request *pending = editor->pending[i];
        if (pending->step == STEP_RUNS && editor->running != NULL &&
            strcmp(pending->prompt, editor->running) == 0)
            pending->follows = true;
    }
}

/* Reports the end of a turn to the client. */
static void tell_end(struct editor *editor, const struct pending_request *pending,
                     const struct host_event *event)
{
    static const char *const known[] = {"end_turn", "max_tokens", "max_turn_requests", "refusal",
                                        "cancelled"};
    const char *reason = event->stop_reason;
    const char *error = event->error;
    struct err why = ERR_INIT;

    for (size_t i = 0; reason != NULL && i < ARRAY_LEN(known); i++) {
        if (strcmp(reason, known[i]) == 0) {
            editor_end_turn(editor, pending->ticket, reason);
            return;
        }
    }
    if (pending->cancelled || (reason != NULL && strcmp(reason, HOST_END_CLEARED) == 0)) {
        editor_end_turn(editor, pending->ticket, "cancelled");
    } else if (error != NULL || reason == NULL || strcmp(reason, HOST_END_FAILED) == 0 ||
               strcmp(reason, HOST_END_STOPPED) == 0) {
        (void)err_set(&why, MAS_FAILED, "%s",
                      error != NULL ? error : "the agent was stopped before its turn ended");
        editor_refuse(editor, pending->ticket, &why);
    } else {
        editor_end_turn(editor, pending->ticket, "end_turn");
    }
}

void editor_prompt_ends(struct editor *editor, const struct host_event *event)
{
    struct pending_request *pending = NULL;
    const char *prompt = event->prompt;
    const char *reason = event->stop_reason;

    if (prompt == NULL)
        return;
    if (editor->running != NULL && strcmp(editor->running, prompt) == 0)
        editor_replace(&editor->running, NULL);
    for (int64_t at = 0; (pending = editor_pending_after(editor, at)) != NULL;) {
        at = pending->number;
        if (pending->step != STEP_RUNS || strcmp(pending->prompt, prompt) != 0)
            continue;
        if (pending->follows && !pending->cancelled && reason != NULL &&
            strcmp(reason, "cancelled") == 0) {
            pending->follows = false;
            pending->step = STEP_FOLLOWS;
            pending->until = time_monotonic_ms() + EDITOR_FOLLOW_MS;
        } else {
            tell_end(editor, pending, event);
            editor_pending_end(editor, pending);
        }
    }
}

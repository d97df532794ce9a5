/* Turns, as the host tells of them, and the prompts of the client that they are of. */
#include "base/time.h"
#include "editor/face_internal.h"
#include "protocol/host.h"

#include <string.h>

void face_prompt_begins(struct face *face, const char *prompt)
{
    face_replace(&face->running, prompt);
    for (size_t i = 0; i < face->errand_count; i++) {
        struct errand *errand = face->errands[i];
        if (errand->step != STEP_FOLLOWS || strcmp(errand->session, face->conversation) != 0)
            continue;
        errand->step = STEP_RUNS;
        face_replace(&errand->prompt, prompt);
    }
}

void face_prompt_follows(struct face *face)
{
    for (size_t i = 0; i < face->errand_count; i++) {
        struct errand *errand = face->errands[i];
        if (errand->step == STEP_RUNS && face->running != NULL &&
            strcmp(errand->prompt, face->running) == 0)
            errand->follows = true;
    }
}

/* How the end of a turn is told. */
static void tell_end(struct face *face, const struct errand *errand, const struct json *head)
{
    static const char *const known[] = {"end_turn", "max_tokens", "max_turn_requests", "refusal",
                                        "cancelled"};
    const char *reason = json_get_text(head, "stopReason");
    const char *error = json_get_text(head, "error");
    struct err why = ERR_INIT;

    for (size_t i = 0; reason != NULL && i < ARRAY_LEN(known); i++) {
        if (strcmp(reason, known[i]) == 0) {
            face_end_turn(face, errand->ticket, reason);
            return;
        }
    }
    if (errand->cancelled || (reason != NULL && strcmp(reason, TALK_END_CLEARED) == 0)) {
        face_end_turn(face, errand->ticket, "cancelled");
    } else if (error != NULL || reason == NULL || strcmp(reason, TALK_END_FAILED) == 0 ||
               strcmp(reason, TALK_END_STOPPED) == 0) {
        (void)err_set(&why, MAS_FAILED, "%s",
                      error != NULL ? error : "the agent was stopped before its turn ended");
        face_refuse(face, errand->ticket, &why);
    } else {
        face_end_turn(face, errand->ticket, "end_turn");
    }
}

void face_prompt_ends(struct face *face, const struct json *head)
{
    struct errand *errand = NULL;
    const char *prompt = json_get_text(head, "prompt");
    const char *reason = json_get_text(head, "stopReason");

    if (prompt == NULL)
        return;
    if (face->running != NULL && strcmp(face->running, prompt) == 0)
        face_replace(&face->running, NULL);
    for (int64_t at = 0; (errand = face_errand_after(face, at)) != NULL;) {
        at = errand->number;
        if (errand->step != STEP_RUNS || strcmp(errand->prompt, prompt) != 0)
            continue;
        if (errand->follows && !errand->cancelled && reason != NULL &&
            strcmp(reason, "cancelled") == 0) {
            errand->follows = false;
            errand->step = STEP_FOLLOWS;
            errand->until = time_monotonic_ms() + FACE_FOLLOW_MS;
        } else {
            tell_end(face, errand, head);
            face_errand_end(face, errand);
        }
    }
}

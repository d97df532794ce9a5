/* What the agent tells of compactions of its context, and its notices. */
#include "host/acp/conversation.h"

#include "host/acp/turn_side.h"
#include "host/talk/event.h"
#include "host/talk/memory.h"
#include "host/talk/said.h"

enum {
    SUMMARY_MAX = 64 * 1024, /* bytes that are kept of a summary */
    ID_MAX = 256, /* bytes of a compaction's id */
    WORDS_MAX = 1000, /* bytes of a notice, and of an error */
};

void compact_free(struct compaction *compaction)
{
    free(compaction->id);
    str_free(&compaction->summary);
    *compaction = (struct compaction){.id = NULL};
}

/* Stores what is left of the context. What was said before is not told again. */
static void keep(struct host *host)
{
    const struct str *summary = &host->conversation->compaction.summary;
    _cleanup_free_ char *text =
        mem_printf("the agent has compacted its context; what it has kept: %s", str_text(summary));
    const struct store_message note = {.role = ROLE_NOTE,
                                       .state = MESSAGE_DONE,
                                       .text = text,
                                       .len = strlen(text),
                                       .key = STORE_COMPACTION,
                                       .trigger = turn_prompt(host->talk)};

    said_close_text(host);
    int64_t number = memory_add(host, &note);
    event_tell_text(host, "note", number, 0, text, strlen(text));
}

static void end(struct host *host, const struct acp_update *update)
{
    struct compaction *compaction = &host->conversation->compaction;
    const char *why = update->title != NULL ? update->title : "it gave no reason";

    compaction->done = true;
    if (strcmp(update->status, "completed") != 0)
        memory_say(host, true, "the agent has not compacted its context: %.*s",
                   (int)str_fit(why, WORDS_MAX), why);
    else if (compaction->summary.len > 0)
        keep(host);
    else
        memory_say(host, true, "the agent has compacted its context");
}

static void add_summary(struct compaction *compaction, const char *text)
{
    size_t room = SUMMARY_MAX - compaction->summary.len;

    str_addn(&compaction->summary, text, str_fit(text, room));
}

void compact_handle(struct host *host, const struct acp_update *update)
{
    static const char *const ends[] = {"completed", "failed", "cancelled"};
    struct compaction *compaction = &host->conversation->compaction;
    const char *status = update->status != NULL ? update->status : "";

    if (strlen(update->id) > ID_MAX)
        return;
    if (compaction->id == NULL || strcmp(compaction->id, update->id) != 0) {
        compact_free(compaction);
        compaction->id = mem_dup(update->id);
        memory_say(host, false, "the agent compacts its context");
    }
    if (compaction->done)
        return;
    if (update->kind == ACP_COMPACTION && update->text != NULL)
        str_free(&compaction->summary);
    if (update->text != NULL)
        add_summary(compaction, update->text);
    for (size_t i = 0; i < ARRAY_LEN(ends) && update->kind == ACP_COMPACTION; i++)
        if (strcmp(status, ends[i]) == 0)
            end(host, update);
}

void compact_notice(struct host *host, const struct acp_update *update)
{
    const char *title = update->title != NULL ? update->title : "";
    const char *more = update->text != NULL ? update->text : "";

    if (title[0] == '\0')
        return;
    memory_say(host, false, "the agent says: %.*s%s%.*s", (int)str_fit(title, WORDS_MAX), title,
               more[0] != '\0' ? ": " : "", (int)str_fit(more, WORDS_MAX), more);
}

/* GET / and /page/{item}: the page, a few static files that anybody may read. */
#include "serve/api.h"
#include "serve/server.h"

/* A file of src/serve/page as it is in the source tree, between two symbols. */
#define PAGE_FILE(symbol, name)                                                                    \
    __asm__(".section .rodata\n"                                                                   \
            ".global page_" symbol "\npage_" symbol ":\n"                                          \
            ".incbin \"src/serve/page/" name "\"\n"                                                \
            ".global page_" symbol "_end\npage_" symbol "_end:\n"                                  \
            ".byte 0\n"                                                                            \
            ".section .note.GNU-stack,\"\",%progbits\n"                                            \
            ".text\n")

PAGE_FILE("index", "index.html");
PAGE_FILE("style", "style.css");
PAGE_FILE("icon", "icon.svg");
PAGE_FILE("manifest", "app.webmanifest");
PAGE_FILE("start", "start.js");
PAGE_FILE("app", "app.js");
PAGE_FILE("api", "api.js");
PAGE_FILE("events", "events.js");
PAGE_FILE("stream", "stream.js");
PAGE_FILE("dom", "dom.js");
PAGE_FILE("store", "store.js");
PAGE_FILE("enter", "enter.js");
PAGE_FILE("sessions", "sessions.js");
PAGE_FILE("session", "session.js");
PAGE_FILE("agent", "agent.js");
PAGE_FILE("conversation", "conversation.js");
PAGE_FILE("screen", "screen.js");
PAGE_FILE("changes", "changes.js");
PAGE_FILE("found", "found.js");
PAGE_FILE("used", "used.js");
PAGE_FILE("markdown", "markdown.js");
PAGE_FILE("form", "form.js");
PAGE_FILE("asides", "asides.js");
PAGE_FILE("asks", "asks.js");
PAGE_FILE("compose", "compose.js");
PAGE_FILE("pictures", "pictures.js");

extern const char page_index[], page_index_end[];
extern const char page_style[], page_style_end[];
extern const char page_icon[], page_icon_end[];
extern const char page_manifest[], page_manifest_end[];
extern const char page_start[], page_start_end[];
extern const char page_app[], page_app_end[];
extern const char page_api[], page_api_end[];
extern const char page_events[], page_events_end[];
extern const char page_stream[], page_stream_end[];
extern const char page_dom[], page_dom_end[];
extern const char page_store[], page_store_end[];
extern const char page_enter[], page_enter_end[];
extern const char page_sessions[], page_sessions_end[];
extern const char page_session[], page_session_end[];
extern const char page_agent[], page_agent_end[];
extern const char page_conversation[], page_conversation_end[];
extern const char page_screen[], page_screen_end[];
extern const char page_changes[], page_changes_end[];
extern const char page_found[], page_found_end[];
extern const char page_used[], page_used_end[];
extern const char page_markdown[], page_markdown_end[];
extern const char page_form[], page_form_end[];
extern const char page_asides[], page_asides_end[];
extern const char page_asks[], page_asks_end[];
extern const char page_compose[], page_compose_end[];
extern const char page_pictures[], page_pictures_end[];

static const char script_type[] = "text/javascript; charset=utf-8";

/* clang-format off */
static const struct page_file {
    const char *name; /* "": the page itself */
    const char *type;
    const char *from, *end;
} files[] = {
    {"", "text/html; charset=utf-8", page_index, page_index_end},
    {"style.css", "text/css; charset=utf-8", page_style, page_style_end},
    {"icon.svg", "image/svg+xml", page_icon, page_icon_end},
    {"app.webmanifest", "application/manifest+json", page_manifest, page_manifest_end},
    {"start.js", script_type, page_start, page_start_end},
    {"app.js", script_type, page_app, page_app_end},
    {"api.js", script_type, page_api, page_api_end},
    {"events.js", script_type, page_events, page_events_end},
    {"stream.js", script_type, page_stream, page_stream_end},
    {"dom.js", script_type, page_dom, page_dom_end},
    {"store.js", script_type, page_store, page_store_end},
    {"enter.js", script_type, page_enter, page_enter_end},
    {"sessions.js", script_type, page_sessions, page_sessions_end},
    {"session.js", script_type, page_session, page_session_end},
    {"agent.js", script_type, page_agent, page_agent_end},
    {"conversation.js", script_type, page_conversation, page_conversation_end},
    {"screen.js", script_type, page_screen, page_screen_end},
    {"changes.js", script_type, page_changes, page_changes_end},
    {"found.js", script_type, page_found, page_found_end},
    {"used.js", script_type, page_used, page_used_end},
    {"markdown.js", script_type, page_markdown, page_markdown_end},
    {"form.js", script_type, page_form, page_form_end},
    {"asides.js", script_type, page_asides, page_asides_end},
    {"asks.js", script_type, page_asks, page_asks_end},
    {"compose.js", script_type, page_compose, page_compose_end},
    {"pictures.js", script_type, page_pictures, page_pictures_end},
};
/* clang-format on */

enum handled api_page(struct request *request)
{
    const char *name = request->item != NULL ? request->item : "";
    struct str body = STR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        if (strcmp(files[i].name, name) != 0)
            continue;
        size_t len = (size_t)((uintptr_t)files[i].end - (uintptr_t)files[i].from);
        str_addn(&body, files[i].from, len);
        uint64_t hash = hash_bytes(HASH_START, body.data, body.len);
        answer_json(request, 200, &body);
        request->answer.type = files[i].type;
        request->answer.page = true;
        answer_tag(request, hash);
        return HANDLED_NOW;
    }
    answer_error(request, 404, "there is nothing at this address");
    return HANDLED_NOW;
}

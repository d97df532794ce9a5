#include "store/code_log.h"

#include "base/json.h"
#include "os/path.h"
#include "store/workspace.h"

enum {
    FILES_MAX = 100, /* in an event */
    FILES_BYTES =
        CODE_LOG_LINE_MAX / 4, /* JSON may take up to six bytes for one; see add_files() */
    FILES_SHOWN = 5, /* in the session's log */
};

static const struct log_limits limits = {.size = 1 << 20, .keep = 1};

static const char *const names[CODE_EVENT_COUNT] = {"merged", "conflict", "landed"};

const char *code_event_name(enum code_event_type type)
{
    return names[type];
}

bool code_event_parse(const char *text, enum code_event_type *ret)
{
    for (size_t i = 0; text != NULL && i < CODE_EVENT_COUNT; i++) {
        if (strcmp(text, names[i]) != 0)
            continue;
        *ret = (enum code_event_type)i;
        return true;
    }
    return false;
}

/* Writes the names with their odd bytes as \xNN, so that they stay as long in JSON. */
static void put_files(char *const *files, struct json_out *out)
{
    size_t count = 0;
    size_t bytes = 0;
    size_t more = 0;

    json_open(out, "files", '[');
    for (; files != NULL && files[count] != NULL; count++) {
        _cleanup_str_ struct str name = STR_INIT;
        str_add_visible(&name, files[count], strlen(files[count]));
        bytes += name.len;
        if (count < FILES_MAX && bytes <= FILES_BYTES)
            json_put(out, NULL, str_text(&name));
        else
            more++;
    }
    json_close(out, ']');
    json_put_int(out, "more", (int64_t)more);
}

static void write_event(const struct root *root, const struct code_event *event)
{
    _cleanup_str_ struct str line = STR_INIT;
    struct json_out out = {.to = &line};

    json_open(&out, NULL, '{');
    json_put_all(&out, JT("event", names[event->type]), JT("sessionId", event->session),
                 JT("agent", event->agent), JT("branch", event->branch),
                 JT("commit", event->commit), JI("commits", event->commits));
    put_files(event->files, &out);
    json_close(&out, '}');
    str_addc(&line, '\n');
    log_line(root->sessions, CODE_LOG_FILE, limits, line.data);
}

static void write_words(const struct root *root, const struct config *config,
                        const struct code_event *event)
{
    _cleanup_str_ struct str words = STR_INIT;
    _cleanup_close_ int dir = workspace_open(root, event->session);

    if (dir == -1)
        return;
    str_addf(&words, "%s", names[event->type]);
    if (event->agent != NULL)
        str_addf(&words, " agent=%s", event->agent);
    str_addf(&words, " branch=%s commits=%zu", event->branch, event->commits);
    if (event->commit != NULL)
        str_addf(&words, " commit=%.12s", event->commit);
    for (size_t i = 0; event->files != NULL && event->files[i] != NULL && i <= FILES_SHOWN; i++) {
        str_add(&words, i == 0 ? " files=" : ",");
        str_add_name(&words, i < FILES_SHOWN ? event->files[i] : "...");
    }
    workspace_log(dir, config_log_limits(config), "%s", words.data);
}

void code_log_add(const struct root *root, const struct config *config,
                  const struct code_event *event)
{
    write_words(root, config, event);
    write_event(root, event);
}

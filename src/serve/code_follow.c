#include "serve/code_follow.h"

#include "base/id.h"
#include "base/json.h"
#include "base/log_read.h"
#include "store/code_log.h"

struct code_follow {
    const struct root *root;
    code_follow_tell *tell;
    void *arg;
    bool is_open;
    struct log_reader reader;
    off_t at;
    struct str line; /* the beginning of a line whose end is not written yet */
    bool skips; /* the line is too long */
};

struct code_follow *code_follow_make(const struct root *root, code_follow_tell *tell, void *arg)
{
    struct code_follow *follow = mem_alloc(sizeof *follow);

    *follow = (struct code_follow){.root = root, .tell = tell, .arg = arg};
    return follow;
}

void code_follow_free(struct code_follow *follow)
{
    code_follow_end(follow);
    free(follow);
}

void code_follow_end(struct code_follow *follow)
{
    if (follow->is_open)
        log_reader_close(&follow->reader);
    follow->is_open = false;
    str_free(&follow->line);
}

void code_follow_begin(struct code_follow *follow)
{
    struct err ignored = ERR_INIT;

    code_follow_end(follow);
    follow->reader = (struct log_reader)LOG_READER_INIT;
    follow->is_open =
        log_reader_open(&follow->reader, follow->root->sessions, CODE_LOG_FILE, &ignored) == 0;
    follow->at = follow->is_open ? log_reader_end(&follow->reader) : 0;
    follow->skips = false;
}

/* Tells one event, unless the line is none. */
static void tell(struct code_follow *follow)
{
    static const char *const keys[] = {"sessionId", "agent", "branch", "commit",
                                       "commits",   "files", "more"};
    _cleanup_json_ struct json *node = NULL;
    _cleanup_str_ struct str body = STR_INIT;
    struct json_out out = {.to = &body};
    struct err ignored = ERR_INIT;
    enum code_event_type type;

    if (json_parse(str_text(&follow->line), follow->line.len, CODE_LOG_LINE_MAX, &node, &ignored) ==
            -1 ||
        !code_event_parse(json_get_text(node, "event"), &type) ||
        !id_is_valid(json_get_text_or(node, "sessionId", "")))
        return;
    json_open(&out, NULL, '{');
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (json_get(node, keys[i]) != NULL)
            json_put_node(&out, keys[i], json_get(node, keys[i]));
    json_close(&out, '}');
    follow->tell(follow->arg, code_event_name(type), &body);
}

/* Adds bytes to the line, and tells each line that is whole. */
static void take(struct code_follow *follow, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != '\n') {
            follow->skips = follow->skips || follow->line.len == CODE_LOG_LINE_MAX;
            if (!follow->skips)
                str_addc(&follow->line, bytes[i]);
            continue;
        }
        if (!follow->skips)
            tell(follow);
        str_clear(&follow->line);
        follow->skips = false;
    }
}

void code_follow_read(struct code_follow *follow)
{
    struct err ignored = ERR_INIT;
    char buf[8192];
    ssize_t n;

    if (!follow->is_open || log_reader_refresh(&follow->reader, &ignored) == -1)
        return;
    while ((n = log_read(&follow->reader, &follow->at, buf, sizeof buf, &ignored)) > 0)
        take(follow, buf, (size_t)n);
}

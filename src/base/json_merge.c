#include "base/json.h"

static void put_merged(struct json_out *out, const char *key, const struct json *old,
                       const struct json *more)
{
    if (json_is_object(old) && json_is_object(more)) {
        json_open(out, key, '{');
        for (const struct json *node = json_first(old); node != NULL; node = json_next(node))
            put_merged(out, json_key(node), node, json_get(more, json_key(node)));
        for (const struct json *node = json_first(more); node != NULL; node = json_next(node))
            if (json_get(old, json_key(node)) == NULL)
                json_put_node(out, json_key(node), node);
        json_close(out, '}');
    } else if (json_is_array(old) && json_is_array(more)) {
        json_open(out, key, '[');
        for (const struct json *node = json_first(old); node != NULL; node = json_next(node))
            json_put_node(out, NULL, node);
        for (const struct json *node = json_first(more); node != NULL; node = json_next(node))
            json_put_node(out, NULL, node);
        json_close(out, ']');
    } else {
        json_put_node(out, key, old);
    }
}

bool json_merge(const char *old, const char *more, struct str *to)
{
    _cleanup_json_ struct json *a = NULL, *b = NULL;
    struct json_out out = {.to = to};
    struct err ignored = ERR_INIT;

    if (json_parse(old, strlen(old), JSON_MERGED_MAX, &a, &ignored) == -1 ||
        json_parse(more, strlen(more), JSON_MERGED_MAX, &b, &ignored) == -1 || !json_is_object(a) ||
        !json_is_object(b))
        return false;
    put_merged(&out, NULL, a, b);
    return true;
}

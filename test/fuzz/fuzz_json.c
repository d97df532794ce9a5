/* json_parse() on any bytes. What it takes is walked, written again and must be taken again. */
#include "base/json.h"
#include "fuzz.h"

static bool ends(const char *text, const char *end)
{
    return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

/* Copies a node by way of the public functions alone. Other numbers than integers become null. */
static void copy(struct json_out *out, const struct json *node, int depth)
{
    const char *key = json_key(node);
    const char *text = json_text(node);

    must(depth <= JSON_DEPTH_MAX);
    must(key == NULL || str_is_utf8(key, strlen(key)));
    if (json_is_object(node) || json_is_array(node)) {
        bool object = json_is_object(node);

        json_open(out, key, object ? '{' : '[');
        for (const struct json *n = json_first(node); n != NULL; n = json_next(n)) {
            must(object == (json_key(n) != NULL));
            must(!object || json_get(node, json_key(n)) == n); /* no key twice */
            copy(out, n, depth + 1);
        }
        json_close(out, object ? '}' : ']');
    } else if (text != NULL) {
        must(str_is_utf8(text, strlen(text)));
        json_put(out, key, text);
    } else if (json_int(node, INT64_MIN) != INT64_MIN) {
        must(json_int(node, 0) <= INT64_C(1) << 53 && json_int(node, 0) >= -(INT64_C(1) << 53));
        json_put_int(out, key, json_int(node, 0));
    } else if (json_bool(node, true) == json_bool(node, false)) {
        json_put_bool(out, key, json_bool(node, false));
    } else {
        json_put(out, key, NULL);
    }
}

static void check_writing(const char *bytes, size_t size)
{
    _cleanup_free_ char *text = mem_dupn(bytes, size);
    _cleanup_json_ struct json *root = NULL;
    _cleanup_str_ struct str s = STR_INIT;
    struct json_out out = {.to = &s};
    struct err err = ERR_INIT;

    json_put(&out, NULL, text); /* any bytes */
    must(json_parse(s.data, s.len, SIZE_MAX, &root, &err) == 0);
    if (str_is_utf8(text, strlen(text)))
        must(strcmp(json_text(root), text) == 0);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    _cleanup_json_ struct json *root = NULL;
    _cleanup_json_ struct json *again = NULL;
    _cleanup_str_ struct str once = STR_INIT;
    _cleanup_str_ struct str twice = STR_INIT;
    struct json_out out = {.to = &once};
    struct err err = ERR_INIT;

    check_writing((const char *)data, size);
    if (json_parse((const char *)data, size, SIZE_MAX, &root, &err) == -1) {
        must(root == NULL && err.code == MAS_DAMAGED && strncmp(err.text, "line ", 5) == 0);
        must(!ends(err.text, ": cannot parse the text")); /* what the scan takes, cJSON takes */
        return 0;
    }
    must(err.code == MAS_OK);
    copy(&out, root, 0);
    must(json_parse(once.data, once.len, SIZE_MAX, &again, &err) == 0);
    out = (struct json_out){.to = &twice};
    copy(&out, again, 0);
    must(strcmp(once.data, twice.data) == 0);
    return 0;
}

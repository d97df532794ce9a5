#include "model/manifest.h"

void manifest_format(const struct manifest *manifest, struct str *to)
{
    struct json_out out = {.to = to};

    json_open(&out, NULL, '{');
    json_put_all(&out, JI("format", MANIFEST_FORMAT), JT("sessionId", manifest->id),
                 JT("name", manifest->name), JT("template", manifest->template),
                 JT("mode", manifest->mode), JT("createdAt", manifest->created),
                 JT("archivedAt", manifest->archived), JT("version", manifest->version),
                 JI("entries", manifest->entries), JI("size", manifest->bytes),
                 JI("linksOut", manifest->links));
    if (manifest->live)
        json_put_bool(&out, "live", true);
    json_close(&out, '}');
}

static int parse_text(const struct json *json, const char *key, char **ret, struct err *err)
{
    const char *text = json_get_text(json, key);
    if (text == NULL || str_has_control(text))
        return err_set(err, MAS_DAMAGED, "its \"%s\" is missing or not a string", key);
    *ret = mem_dup(text);
    return 0;
}

static int parse_count(const struct json *json, const char *key, uint64_t *ret, struct err *err)
{
    int64_t n = json_int(json_get(json, key), -1);
    if (n < 0)
        return err_set(err, MAS_DAMAGED, "its \"%s\" is missing or not a number", key);
    *ret = (uint64_t)n;
    return 0;
}

int manifest_read(const struct json *json, struct manifest *ret, struct err *err)
{
    _cleanup_manifest_ struct manifest m = {.id = ""};
    const char *id = json_get_text(json, "sessionId");
    int64_t format = json_int(json_get(json, "format"), -1);

    if (format < 1)
        return err_set(err, MAS_DAMAGED, "its \"format\" is missing or not a number");
    if (format != MANIFEST_FORMAT)
        return err_set(err, MAS_FAILED,
                       "it has format %lld, but this version of mas reads format %d",
                       (long long)format, MANIFEST_FORMAT);
    if (id == NULL || !id_is_valid(id))
        return err_set(err, MAS_DAMAGED, "its \"sessionId\" is missing or not an id");
    memcpy(m.id, id, ID_TEXT);
    if (parse_text(json, "name", &m.name, err) == -1 ||
        parse_text(json, "template", &m.template, err) == -1 ||
        parse_text(json, "mode", &m.mode, err) == -1 ||
        parse_text(json, "createdAt", &m.created, err) == -1 ||
        parse_text(json, "archivedAt", &m.archived, err) == -1 ||
        parse_text(json, "version", &m.version, err) == -1 ||
        parse_count(json, "entries", &m.entries, err) == -1 ||
        parse_count(json, "size", &m.bytes, err) == -1 ||
        parse_count(json, "linksOut", &m.links, err) == -1)
        return -1;
    if (m.entries > MANIFEST_ENTRIES_MAX || m.bytes > MANIFEST_BYTES_MAX)
        return err_set(err, MAS_DAMAGED, "it lists too much: %llu entries and %llu bytes",
                       (unsigned long long)m.entries, (unsigned long long)m.bytes);
    m.live = json_bool(json_get(json, "live"), false);
    *ret = m;
    m = (struct manifest){.id = ""};
    return 0;
}

void manifest_free(struct manifest *manifest)
{
    free(manifest->name);
    free(manifest->template);
    free(manifest->mode);
    free(manifest->created);
    free(manifest->archived);
    free(manifest->version);
    *manifest = (struct manifest){.id = ""};
}

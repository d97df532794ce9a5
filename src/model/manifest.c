#include "model/manifest.h"

#include "model/member.h"

static const struct value_type id_type = {VALUE_CHARS, "an id", .min = 1, .fits = id_is_valid};
static const struct value_type text_type = {VALUE_TEXT, "a string", .line = true};
static const struct value_type count_type = {VALUE_NUMBER, "a number", .max = INT64_MAX};

#define KEY(key, type, member)                                                                     \
    {                                                                                              \
        MEMBER(key, type, struct manifest, member), .how = MEMBER_NEEDED                           \
    }

static const struct member members[] = {
    KEY("sessionId", id_type, id),
    KEY("name", text_type, name),
    KEY("template", text_type, template),
    KEY("mode", text_type, mode),
    KEY("createdAt", text_type, created),
    KEY("archivedAt", text_type, archived),
    KEY("version", text_type, version),
    KEY("entries", count_type, entries),
    KEY("size", count_type, bytes),
    KEY("linksOut", count_type, links),
    MEMBER_END,
};

void manifest_format(const struct manifest *manifest, struct str *to)
{
    struct json_out out = {.to = to};

    json_put_all(&out, JO(NULL), JI("format", MANIFEST_FORMAT));
    members_put(members, manifest, &out);
    if (manifest->live)
        json_put_bool(&out, "live", true);
    if (manifest->last)
        json_put_bool(&out, "last", true);
    json_close(&out, '}');
}

int manifest_read(const struct json *json, struct manifest *ret, struct err *err)
{
    _cleanup_manifest_ struct manifest m = {.id = ""};
    int64_t format = json_int(json_get(json, "format"), -1);

    if (format < 1)
        return err_set(err, MAS_DAMAGED, "its \"format\" is missing or not a number");
    if (format != MANIFEST_FORMAT)
        return err_set(err, MAS_FAILED,
                       "it has format %lld, but this version of mas reads format %d",
                       (long long)format, MANIFEST_FORMAT);
    const struct member *bad = members_read(members, json, &m);
    if (bad != NULL)
        return err_set(err, MAS_DAMAGED, "its \"%s\" is missing or not %s", bad->key,
                       bad->type->want);
    if (m.entries > MANIFEST_ENTRIES_MAX || m.bytes > MANIFEST_BYTES_MAX)
        return err_set(err, MAS_DAMAGED, "it lists too much: %llu entries and %llu bytes",
                       (unsigned long long)m.entries, (unsigned long long)m.bytes);
    m.live = json_bool(json_get(json, "live"), false);
    m.last = json_bool(json_get(json, "last"), false);
    *ret = m;
    m = (struct manifest){.id = ""};
    return 0;
}

void manifest_free(struct manifest *manifest)
{
    members_free(members, manifest);
}

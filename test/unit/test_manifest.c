#include "place.h"

#include "model/manifest.h"

#define ID "550e8400-e29b-41d4-a716-446655440000"

/* Members that are right; a test puts another one in place of one of them. */
static const char *const members[][2] = {
    {"format", "1"},
    {"sessionId", "\"" ID "\""},
    {"name", "\"n\""},
    {"template", "\"t\""},
    {"mode", "\"isolated\""},
    {"createdAt", "\"2025-01-01T00:00:00Z\""},
    {"archivedAt", "\"2025-01-02T00:00:00Z\""},
    {"version", "\"1\""},
    {"entries", "4000000"},
    {"size", "1099511627776"},
    {"linksOut", "0"},
};

/* Reads a manifest with one member changed, or with NULL left out. Returns the code of the error.
 */
static int read_with(size_t member, const char *value)
{
    _cleanup_manifest_ struct manifest manifest = {.id = ""};
    _cleanup_str_ struct str text = STR_INIT;
    struct err err = ERR_INIT;
    struct json *json = NULL;

    str_add(&text, "{\"live\":true,\"last\":true");
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        if (i != member || value != NULL)
            str_addf(&text, ",\"%s\":%s", members[i][0], i == member ? value : members[i][1]);
    str_add(&text, "}");
    if (!WELL(json_parse(str_text(&text), text.len, text.len, &json, &err)))
        return MAS_FAILED;
    int rc = manifest_read(json, &manifest, &err);
    if (rc == 0) {
        CHECK_STR(manifest.id, ID);
        CHECK_STR(manifest.name, "n");
        CHECK(manifest.live && manifest.last);
    }
    json_free(json);
    return rc == 0 ? MAS_OK : err.code;
}

TEST(each_member_is_checked)
{
    CHECK_INT(read_with(ARRAY_LEN(members), ""), MAS_OK);
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        bool text = members[i][1][0] == '"';
        CHECK_INT(read_with(i, NULL), MAS_DAMAGED);
        CHECK_INT(read_with(i, text ? "1" : "\"1\""), MAS_DAMAGED);
        CHECK_INT(read_with(i, text ? "\"\\u001b[2J\"" : "-1"), MAS_DAMAGED);
        CHECK_INT(read_with(i, "null"), MAS_DAMAGED);
    }
}

TEST(has_limits)
{
    CHECK_INT(read_with(8, "4000001"), MAS_DAMAGED);
    CHECK_INT(read_with(9, "1099511627777"), MAS_DAMAGED);
    CHECK_INT(read_with(0, "0"), MAS_DAMAGED);
    CHECK_INT(read_with(0, "2"), MAS_FAILED); /* of a later version */
    CHECK_INT(read_with(1, "\"../../../../../../../../../../../../\""), MAS_DAMAGED);
}

TEST(what_is_written_is_read_back)
{
    for (int live = 0; live < 2; live++) {
        const struct manifest manifest = {.id = ID,
                                          .name = (char[]){"n"},
                                          .template = (char[]){"t"},
                                          .mode = (char[]){"isolated"},
                                          .created = (char[]){"2025-01-01T00:00:00Z"},
                                          .archived = (char[]){"2025-01-02T00:00:00Z"},
                                          .version = (char[]){"1"},
                                          .entries = 3,
                                          .bytes = UINT64_C(1) << 40,
                                          .links = 5,
                                          .live = live == 1};
        _cleanup_str_ struct str text = STR_INIT;
        _cleanup_manifest_ struct manifest again = {.id = ""};
        _cleanup_json_ struct json *json = NULL;
        struct err err = ERR_INIT;
        manifest_format(&manifest, &text);
        WELL(json_parse(text.data, text.len, text.len, &json, &err));
        MUST(manifest_read(json, &again, &err));
        CHECK_STR(again.id, ID);
        CHECK_STR(again.template, "t");
        CHECK_STR(again.mode, "isolated");
        CHECK_STR(again.created, manifest.created);
        CHECK_STR(again.archived, manifest.archived);
        CHECK_STR(again.version, "1");
        CHECK(again.entries == 3 && again.bytes == manifest.bytes && again.links == 5);
        CHECK_INT(again.live, live);
    }
}

/* Pictures: what is one, and what requests and messages say of them. */
#include "unit.h"

#include "base/base64.h"
#include "model/picture.h"

#define SUM "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

TEST(kinds_are_told_by_content)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *kind;
    } rows[] = {
        {"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16, "png"},
        {"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 15, NULL},
        {"\x89PNG\r\n\x1a\n\0\0\0\rIDAT", 16, NULL},
        {"\x89PNG\n\x1a\n\0\0\0\0\rIHDR", 16, NULL}, /* a text mode has cut it */
        {"\xff\xd8\xff\xe0", 4, "jpg"},
        {"\xff\xd8", 2, NULL},
        {"GIF89a", 6, "gif"},
        {"GIF87a", 6, "gif"},
        {"GIF8", 4, NULL},
        {"GIF89b", 6, NULL},
        {"RIFF\1\0\0\0WEBPVP8 ", 16, "webp"},
        {"RIFF\1\0\0\0WEBPVP8X", 16, "webp"},
        {"RIFF\1\0\0\0WAVEfmt ", 16, NULL},
        {"<svg xmlns=", 11, NULL},
        {"%PDF-1.7", 8, NULL},
        {"BM", 2, NULL},
        {"", 0, NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *kind = picture_kind(rows[i].bytes, rows[i].len);
        if (rows[i].kind == NULL)
            CHECK(kind == NULL);
        else
            CHECK_STR(kind, rows[i].kind);
    }
}

TEST(files_have_types)
{
    static const struct {
        const char *file, *type;
    } rows[] = {
        {SUM ".png", "image/png"},
        {SUM ".jpg", "image/jpeg"},
        {SUM ".webp", "image/webp"},
        {SUM ".gif", "image/gif"},
        {SUM ".jpeg", NULL},
        {SUM, NULL},
        {SUM ".", NULL},
        {SUM "png", NULL},
        {"../" SUM ".png", NULL},
        {"red.png", NULL},
        {"", NULL},
        {SUM ".png/x", NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *type = picture_type(rows[i].file);
        if (rows[i].type == NULL)
            CHECK(type == NULL);
        else
            CHECK_STR(type, rows[i].type);
    }
}

TEST(names_are_parts_of_paths)
{
    static const struct {
        const char *path, *name;
    } rows[] = {
        {"red.png", "red.png"},
        {"/tmp/a b/red.png", "red.png"},
        {"", "picture.png"},
        {"/tmp/", "picture.png"},
        {"a\nb.png", "picture.png"},
        {"\xff.png", "picture.png"},
        {"r\xc3\xb6t.jpg", "r\xc3\xb6t.jpg"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct picture picture = {.file = SUM ".png"};
        picture_set_name(&picture, rows[i].path);
        CHECK_STR(picture.name, rows[i].name);
    }
    char longest[PICTURE_NAME_MAX + 2];
    struct picture picture = {.file = SUM ".png"};
    memset(longest, 'x', sizeof longest);
    longest[PICTURE_NAME_MAX + 1] = '\0';
    picture_set_name(&picture, longest);
    CHECK_STR(picture.name, "picture.png");
    picture_set_name(&picture, longest + 1);
    CHECK_STR(picture.name, longest + 1);
}

#define ONE "{\"file\":\"" SUM ".png\",\"name\":\"red.png\",\"bytes\":1234}"
#define FOUR ONE "," ONE "," ONE "," ONE

TEST(objects_are_read)
{
    static const struct {
        const char *data;
        size_t count;
        bool fails;
    } rows[] = {
        {"{}", 0, false},
        {"{\"pictures\":[]}", 0, false},
        {"{\"pictures\":[" ONE "]}", 1, false},
        {"{\"pictures\":[" FOUR "," FOUR "]}", 8, false},
        {"{\"pictures\":[" FOUR "," FOUR "," ONE "]}", 0, true},
        {"{\"pictures\":" ONE "}", 0, true},
        {"{\"pictures\":[1]}", 0, true},
        {"{\"pictures\":[" ONE ",{\"name\":\"red.png\"}]}", 0, true},
        {"{\"pictures\":[{\"file\":\"../../x.png\"}]}", 0, true},
        {"{\"pictures\":[{\"file\":\"" SUM ".png\",\"bytes\":-1}]}", 0, true},
        {"{\"pictures\":[{\"file\":\"" SUM ".png\",\"name\":\"../x\"}]}", 1, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_json_ struct json *json = NULL;
        struct pictures pictures, again;
        struct err err = ERR_INIT;
        CHECK(json_parse(rows[i].data, strlen(rows[i].data), 1 << 16, &json, &err) == 0);
        CHECK((pictures_read(json, &pictures, &err) == -1) == rows[i].fails);
        pictures_of(rows[i].data, &again);
        CHECK_INT(again.count, rows[i].count);
        for (size_t k = 0; k < again.count; k++)
            CHECK(strchr(again.list[k].name, '/') == NULL);
    }
    struct pictures none;
    pictures_of(NULL, &none);
    CHECK_INT(none.count, 0);
    pictures_of("[\"no object\"", &none);
    CHECK_INT(none.count, 0);
    CHECK(pictures_data(&none) == NULL);
}

TEST(objects_are_written)
{
    struct pictures pictures;
    _cleanup_str_ struct str text = STR_INIT;

    pictures_of("{\"pictures\":[" ONE "]}", &pictures);
    _cleanup_free_ char *data = pictures_data(&pictures);
    CHECK_STR(data, "{\"pictures\":[" ONE "]}");
    pictures_say(&pictures, &text);
    CHECK_STR(text.data, "[picture red.png, 1.2K]\n");
}

TEST(bytes_become_base64)
{
    static const struct {
        const char *bytes, *text;
    } rows[] = {{"", ""},
                {"f", "Zg=="},
                {"fo", "Zm8="},
                {"foo", "Zm9v"},
                {"foob", "Zm9vYg=="},
                {"fooba", "Zm9vYmE="},
                {"foobar", "Zm9vYmFy"},
                {"\xff\xfe\xfd\xfb", "//79+w=="}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_str_ struct str text = STR_INIT;
        base64_add(&text, rows[i].bytes, strlen(rows[i].bytes));
        CHECK_STR(str_text(&text), rows[i].text);
        str_clear(&text);
        CHECK(base64_read(rows[i].text, &text));
        CHECK_INT(text.len, strlen(rows[i].bytes));
        CHECK_STR(str_text(&text), rows[i].bytes);
    }
    static const char *const bad[] = {"Z", "Zg=", "Zg", "Zm9v\n", "Z===", "=Zm9", "Zm 9v", "????"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        _cleanup_str_ struct str text = STR_INIT;
        CHECK(!base64_read(bad[i], &text));
    }
}

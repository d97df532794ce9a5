/* Kinds are told by content alone: names of files come from anybody. */
#include "model/picture.h"

#include "base/number.h"

enum { DATA_MAX = 64 << 10 }; /* bytes of the object */

static const struct picture_form {
    const char *ending, *type;
    struct {
        size_t at;
        const char *bytes;
        size_t len;
    } marks[2];
} kinds[] = {
    {"png", "image/png", {{0, "\x89PNG\r\n\x1a\n", 8}, {12, "IHDR", 4}}},
    {"jpg", "image/jpeg", {{0, "\xff\xd8\xff", 3}, {0, "", 0}}},
    {"gif", "image/gif", {{0, "GIF8", 4}, {5, "a", 1}}},
    {"webp", "image/webp", {{0, "RIFF", 4}, {8, "WEBPVP8", 7}}},
};

const char *picture_kind(const char *bytes, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        bool is = true;
        for (size_t k = 0; k < ARRAY_LEN(kinds[i].marks) && is; k++)
            is = len >= kinds[i].marks[k].at + kinds[i].marks[k].len &&
                 memcmp(bytes + kinds[i].marks[k].at, kinds[i].marks[k].bytes,
                        kinds[i].marks[k].len) == 0;
        if (is)
            return kinds[i].ending;
    }
    return NULL;
}

const char *picture_type(const char *file)
{
    char sum[SHA256_TEXT];

    if (strlen(file) <= SHA256_HEX || file[SHA256_HEX] != '.')
        return NULL;
    (void)snprintf(sum, sizeof sum, "%.*s", SHA256_HEX, file);
    for (size_t i = 0; i < ARRAY_LEN(kinds) && sha256_is_hex(sum); i++)
        if (strcmp(file + SHA256_HEX + 1, kinds[i].ending) == 0)
            return kinds[i].type;
    return NULL;
}

static bool is_name(const char *name)
{
    return name != NULL && name[0] != '\0' && strlen(name) <= PICTURE_NAME_MAX &&
           strchr(name, '/') == NULL && !str_has_control(name) && str_is_utf8(name, strlen(name));
}

void picture_set_name(struct picture *picture, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;

    if (is_name(name))
        (void)snprintf(picture->name, sizeof picture->name, "%s", name);
    else
        (void)snprintf(picture->name, sizeof picture->name, "picture%s",
                       picture->file + SHA256_HEX);
}

/* ---- as JSON */

static int read_one(const struct json *json, struct picture *ret, struct err *err)
{
    const char *file = json_get_text_or(json, "file", "");
    const char *name = json_get_text(json, "name");

    *ret = (struct picture){.bytes = json_int(json_get(json, "bytes"), 0)};
    if (picture_type(file) == NULL || ret->bytes < 0 || ret->bytes > PICTURE_MAX)
        return err_set(err, MAS_USAGE, "a picture has no valid member file");
    (void)snprintf(ret->file, sizeof ret->file, "%s", file);
    picture_set_name(ret, name != NULL ? name : "");
    return 0;
}

int pictures_read(const struct json *object, struct pictures *ret, struct err *err)
{
    const struct json *list = json_get(object, "pictures");

    ret->count = 0;
    if (list != NULL && !json_is_array(list))
        return err_set(err, MAS_USAGE, "its pictures are no list");
    for (const struct json *one = json_first(list); one != NULL; one = json_next(one)) {
        if (ret->count == PICTURES_MAX)
            return err_set(err, MAS_USAGE, "it has more than %d pictures", PICTURES_MAX);
        if (read_one(one, &ret->list[ret->count], err) == -1)
            return -1;
        ret->count++;
    }
    return 0;
}

void pictures_of(const char *data, struct pictures *ret)
{
    _cleanup_json_ struct json *json = NULL;
    struct err ignored = ERR_INIT;

    ret->count = 0;
    if (data != NULL && (json_parse(data, strlen(data), DATA_MAX, &json, &ignored) == -1 ||
                         pictures_read(json, ret, &ignored) == -1))
        ret->count = 0;
}

void pictures_put(const struct pictures *pictures, struct json_out *out)
{
    if (pictures->count == 0)
        return;
    json_open(out, "pictures", '[');
    for (size_t i = 0; i < pictures->count; i++)
        json_put_all(out, JO(NULL), JT("file", pictures->list[i].file),
                     JT("name", pictures->list[i].name), JI("bytes", pictures->list[i].bytes), JOE);
    json_close(out, ']');
}

char *pictures_data(const struct pictures *pictures)
{
    struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    if (pictures->count == 0)
        return NULL;
    json_open(&out, NULL, '{');
    pictures_put(pictures, &out);
    json_close(&out, '}');
    return str_steal(&text);
}

void pictures_say(const struct pictures *pictures, struct str *to)
{
    char size[NUMBER_SIZE_TEXT];

    for (size_t i = 0; i < pictures->count; i++) {
        number_format_size((uint64_t)pictures->list[i].bytes, size);
        str_add(to, "[picture ");
        str_add_visible(to, pictures->list[i].name, strlen(pictures->list[i].name));
        str_addf(to, ", %s]\n", size);
    }
}

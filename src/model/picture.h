/*
 * Pictures of a prompt. mas copies each file into the session before it asks a host, which is told
 * only their names: store/pictures.h. What is known of them is a member of an object of JSON, which
 * requests have and the message in memory.db:
 *
 *     {"pictures":[{"file":"<SHA-256>.png","name":"red.png","bytes":1234}]}
 */
#pragma once

#include "base/json.h"
#include "base/sha.h"

enum {
    PICTURE_MAX = 5 << 20, /* bytes of a file, as much as models take */
    PICTURES_MAX = 8, /* of a prompt */
    PICTURES_SIZE_MAX = 20 << 20, /* bytes of all of these */
    PICTURE_NAME_MAX = 255, /* bytes */
    PICTURE_FILE = SHA256_HEX + 6, /* bytes of the name of its file, with its NUL */
};

struct picture {
    char file[PICTURE_FILE]; /* in the session: the sum of its bytes, and its kind */
    char name[PICTURE_NAME_MAX + 1]; /* as its sender calls it */
    int64_t bytes;
};

struct pictures {
    struct picture list[PICTURES_MAX];
    size_t count;
};

/* Returns the kind of a picture by its first bytes, as it ends names of files; NULL: it is none
 * that models take. */
const char *picture_kind(const char *bytes, size_t len);
/* Returns the media type of a file of the session; NULL: it is not the name of one. */
const char *picture_type(const char *file);
/* Names a picture, by the last part of a path or "": by its kind. */
void picture_set_name(struct picture *picture, const char *path);

/* Reads the member "pictures" of an object that anybody may have written; none: there are none. */
int pictures_read(const struct json *object, struct pictures *ret, struct err *err);
/* The same for the data of a message, NULL: none. What is wrong in it counts as no pictures. */
void pictures_of(const char *data, struct pictures *ret);
/* Writes the member, unless there are none. */
void pictures_put(const struct pictures *pictures, struct json_out *out);
/* Returns the object, which the caller frees; NULL: there are none. */
char *pictures_data(const struct pictures *pictures);
/* Appends a line for each: "[picture red.png, 1.2K]". */
void pictures_say(const struct pictures *pictures, struct str *to);

/*
 * Members: the fields of a record, as a table. Each row says the key by which files and answers
 * call a member, its type (base/value.h) and where it is in the struct; from the table come the
 * reading of a record, the writing and the freeing. The table belongs to the module of the struct;
 * what one row cannot say (members that depend on each other) that module checks afterwards.
 *
 *     static const struct member members[] = {
 *         {MEMBER("MACHINE", machine_type, struct lease, machine), .how = MEMBER_NEEDED},
 *         {MEMBER("EPOCH", epoch_type, struct lease, epoch), .how = MEMBER_NEEDED},
 *         MEMBER_END};
 */
#pragma once

#include "base/json.h"
#include "base/kv.h"
#include "base/value.h"
#include "model/ini.h"

enum member_how {
    MEMBER_NEEDED = 1, /* it must be there */
    MEMBER_SAID = 2, /* it is written only if it is not empty; members_put_all() writes null */
    MEMBER_OF_INI = 4, /* JSON says it in another way */
    MEMBER_OF_JSON = 8, /* it is no key of an INI file */
    MEMBER_BLANK = 16, /* members_put_all() writes "" instead of null */
};

struct member {
    const char *key; /* NULL: the end of the table */
    const struct value_type *type;
    size_t offset, size;
    unsigned how; /* a set of enum member_how */
};

#define MEMBER(key_, type_, record, member)                                                        \
    .key = (key_), .type = &(type_), .offset = offsetof(record, member),                           \
    .size = sizeof(((record *)NULL)->member)
#define MEMBER_END                                                                                 \
    {                                                                                              \
        .key = NULL                                                                                \
    }

/* Return a member of a record. */
void *member_of(const struct member *member, void *record);
const void *member_in(const struct member *member, const void *record);

/* Makes each text "" that is NULL. */
void members_fill(const struct member *members, void *record);
/* Releases all texts and lists. */
void members_free(const struct member *members, void *record);

/* Returns the member that a key of an INI file sets, or NULL. */
const struct member *members_find(const struct member *members, const char *key);
/* Returns true if both say the same, but for times in ms. */
bool members_equal(const struct member *members, const void *a, const void *b);
/* Reads a key of an INI file into the record. Fails as ini_fail() does: for a key that is not in
 * the table, with `unknown` and the nearest one. */
int members_read_line(const struct member *members, const struct ini_line *line,
                      const char *unknown, void *record, struct err *err);

/* Takes the members out of the pairs; texts without a pair become "", and other members without one
 * stay, as do those with an empty value that need not be there. Fails with MAS_DAMAGED. */
int members_take(const struct member *members, struct kv *kv, void *record, struct err *err);
/* Reads those that are there and good; the others stay, and texts become "". */
void members_salvage(const struct member *members, const struct kv *kv, void *record);
/* Appends the pairs. */
void members_format(const struct member *members, const void *record, struct str *to);

/* Writes the members into an open object; texts are cut to what their types allow. */
void members_put(const struct member *members, const void *record, struct json_out *out);
/* The same for people's programs, which get the empty ones, too, and times as text beside. */
void members_put_all(const struct member *members, const void *record, struct json_out *out);
/* Reads them from an object, numbers and texts. Returns NULL, or the first one that is missing or
 * wrong; what was read before that has to be released. */
const struct member *members_read(const struct member *members, const struct json *object,
                                  void *record);
/* Reads what another version may have written: what is missing or wrong becomes empty, and texts
 * are cut where their types have a `max`. */
void members_guess(const struct member *members, const struct json *object, void *record);

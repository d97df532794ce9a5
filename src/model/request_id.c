#include "model/request_id.h"

enum { ASKS_MAX = 240 }; /* bytes that every reader of a status has */

/* FNV-1a */
static uint32_t add(uint32_t hash, const char *text, size_t max)
{
    for (; max > 0 && *text != '\0'; max--, text++)
        hash = (hash ^ (unsigned char)*text) * UINT32_C(16777619);
    return hash;
}

void request_id(const char *permission, const char *asks, char ret[REQUEST_ID_TEXT])
{
    uint32_t hash = UINT32_C(2166136261);

    ret[0] = '\0';
    if (permission == NULL || permission[0] == '\0')
        return;
    hash = add(add(hash, permission, SIZE_MAX), asks != NULL ? asks : "", ASKS_MAX);
    (void)snprintf(ret, REQUEST_ID_TEXT, "r-%08x", (unsigned)hash);
}

bool request_id_is_valid(const char *text)
{
    return strlen(text) == REQUEST_ID_TEXT - 1 && str_starts(text, "r-") &&
           strspn(text + 2, "0123456789abcdef") == 8;
}

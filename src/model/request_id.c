#include "model/request_id.h"

#include "base/str.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* FNV-1a: a collision is chance alone, because mas itself makes what it hashes. */
void request_id(const char *permission, char ret[REQUEST_ID_TEXT])
{
    uint32_t hash = UINT32_C(2166136261);

    ret[0] = '\0';
    if (permission == NULL || permission[0] == '\0')
        return;
    for (const char *c = permission; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * UINT32_C(16777619);
    (void)snprintf(ret, REQUEST_ID_TEXT, "r-%08x", (unsigned)hash);
}

bool request_id_is_valid(const char *text)
{
    return strlen(text) == REQUEST_ID_TEXT - 1 && str_starts(text, "r-") &&
           strspn(text + 2, "0123456789abcdef") == 8;
}

#include "model/retention_status.h"

static const struct {
    const char *name;
    unsigned bit;
} statuses[] = {
    {"stopped", RETENTION_STOPPED}, {"error", RETENTION_ERROR}, {"crashed", RETENTION_CRASHED}};

bool retention_parse_status(const char *text, unsigned *ret)
{
    unsigned set = 0;

    while (*text != '\0') {
        size_t len = strcspn(text, ",");
        size_t i = 0;
        while (i < ARRAY_LEN(statuses) &&
               (strlen(statuses[i].name) != len || memcmp(statuses[i].name, text, len) != 0))
            i++;
        if (i == ARRAY_LEN(statuses) || (text[len] == ',' && text[len + 1] == '\0'))
            return false;
        set |= statuses[i].bit;
        text += text[len] == ',' ? len + 1 : len;
    }
    *ret = set;
    return true;
}

const char *retention_status_name(unsigned status)
{
    size_t i = 0;
    while (i + 1 < ARRAY_LEN(statuses) && statuses[i].bit != status)
        i++;
    return statuses[i].name;
}

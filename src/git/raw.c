#include "git/raw.h"

bool raw_next(const struct str *rows, size_t *at, struct raw_row *ret)
{
    const char *text = str_text(rows), *end = text + rows->len;

    for (;;) {
        const char *row = text + *at;
        while (row < end && *row != ':') /* a log has newlines between its commits */
            row++;
        ret->path = row + strlen(row) + 1;
        if (ret->path >= end)
            return false;
        *at = (size_t)(ret->path + strlen(ret->path) + 1 - text);
        if (sscanf(row, ":%7s %7s %64s %64s", ret->old.mode, ret->new.mode, ret->old.oid,
                   ret->new.oid) == 4 &&
            git_is_oid(ret->old.oid) && git_is_oid(ret->new.oid))
            return true;
    }
}

#include "cmd/wall_option.h"

#include "cmd/consent.h"

int wall_option_read(const struct call *call, enum wall_level *ret,
                     const enum wall_level **ret_given, struct err *err)
{
    const char *word = call_opt(call, "wall");

    *ret = WALL_UNSET;
    *ret_given = NULL;
    if (word == NULL)
        return 0;
    if (word[0] == '\0')
        *ret = WALL_TRY;
    else if (strcmp(word, "default") != 0 && !wall_level_parse(word, ret))
        return err_set(err, MAS_USAGE,
                       "cannot use --wall=%s: it is not off, try, require or default", word);
    if (caller_is_agent())
        return err_set(err, MAS_FAILED, "cannot use --wall: an agent may not decide this");
    *ret_given = ret;
    return 0;
}

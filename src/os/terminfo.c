#include "os/terminfo.h"

/* Looks for the description in a list of directories, separated by colons. Sets *any if one of them
 * has descriptions. */
static bool is_in(const char *dirs, const char *term, bool *any)
{
    for (const char *at = dirs; at != NULL && *at != '\0';) {
        size_t len = strcspn(at, ":");
        _cleanup_free_ char *common = mem_printf("%.*s/x/xterm", (int)len, at);
        _cleanup_free_ char *file = mem_printf("%.*s/%c/%s", (int)len, at, term[0], term);
        if (len > 0 && access(file, F_OK) == 0)
            return true;
        *any = *any || (len > 0 && access(common, F_OK) == 0);
        at += len + (at[len] == ':');
    }
    return false;
}

bool terminfo_knows(const char *term)
{
    const char *home = getenv("HOME");
    _cleanup_free_ char *own = mem_printf("%s/.terminfo", home != NULL ? home : "");
    const char *const places[] = {getenv("TERMINFO"), own, getenv("TERMINFO_DIRS"),
                                  "/etc/terminfo:/lib/terminfo:/usr/share/terminfo:/usr/lib/"
                                  "terminfo:/usr/local/share/terminfo"};
    bool any = false;

    if (strchr(term, '/') != NULL)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        if (is_in(places[i], term, &any))
            return true;
    return !any;
}

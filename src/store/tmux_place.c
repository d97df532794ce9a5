#include "store/tmux_place.h"

#include "os/path.h"

#include <sys/un.h>

int tmux_place_dir(char **ret, struct err *err)
{
    const char *set = getenv("TMUX_TMPDIR");
    char *base = set != NULL && set[0] != '\0' ? path_canonical(set) : NULL;
    if (base == NULL)
        base = path_canonical("/tmp");
    if (base == NULL)
        return err_errno(err, "cannot find a directory for tmux's sockets");
    *ret = mem_printf("%s/tmux-%ld", base, (long)geteuid());
    free(base);
    return 0;
}

int tmux_place(const char *name, char **ret, struct err *err)
{
    _cleanup_free_ char *dir = NULL;
    if (name[0] == '/') {
        *ret = mem_dup(name);
        return 0;
    }
    if (tmux_place_dir(&dir, err) == -1)
        return -1;
    char *path = mem_printf("%s/%s", dir, name[0] != '\0' ? name : "default");
    if (strlen(path) >= sizeof((struct sockaddr_un *)0)->sun_path || str_has_control(path)) {
        (void)err_set(
            err, MAS_FAILED,
            "cannot use tmux socket '%s': its path is too long or contains control characters",
            path);
        free(path);
        return err_hint(err, "set MAS_TMUX_SOCKET to a short absolute path");
    }
    *ret = path;
    return 0;
}

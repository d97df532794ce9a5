#include "store/user_state.h"

#include "os/path.h"

static char *state_dir(void)
{
    _cleanup_free_ char *state = path_user_dir("XDG_STATE_HOME", ".local/state");
    return state != NULL ? mem_printf("%s/mas", state) : NULL;
}

int user_state_open(bool make, char **ret_path, struct err *err)
{
    _cleanup_free_ char *path = state_dir();

    if (path == NULL)
        return err_set(err, MAS_FAILED, "cannot find a state directory: HOME is not set");
    if (make && path_make_dirs(path, err) == -1)
        return -1;
    _cleanup_close_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir == -1)
        return err_errno(err, "cannot open '%s'", path);
    if (path_check_mine(dir, path, err) == -1)
        return -1;
    *ret_path = TAKE_PTR(path);
    return TAKE_FD(dir);
}

#include "store/placement.h"

#include "os/path.h"
#include "store/workspace.h"

bool placement_is_shared(enum mode mode)
{
    return mode == MODE_LEGACY;
}

int placement_dir(const struct root *root, int dir, enum mode mode)
{
    return placement_is_shared(mode) ? root->fd : dir;
}

char *placement_path(const struct root *root, const char *id, enum mode mode, const char *part)
{
    return placement_is_shared(mode) ? mem_printf("%s/%s", root->path, part)
                                     : workspace_path(root, id, part);
}

int placement_open(const struct root *root, int dir, enum mode mode, const char *part)
{
    return path_open_beneath(placement_dir(root, dir, mode), part, PATH_PLACE);
}

enum mode placement_detect(int dir)
{
    return faccessat(dir, WORKSPACE_CONFIG, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
                   faccessat(dir, WORKSPACE_UNIT, F_OK, AT_SYMLINK_NOFOLLOW) == -1 &&
                   errno == ENOENT
               ? MODE_LEGACY
               : MODE_ISOLATED;
}

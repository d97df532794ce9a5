#include "core/usage.h"

#include "base/number.h"

#include <sys/statvfs.h>

int usage_check_room(const struct root *root, const struct config *config, uint64_t bytes,
                     struct err *err)
{
    uint64_t floor = config_bytes(config, SETTING_LIMIT_FREE);
    struct statvfs fs;
    char texts[3][NUMBER_SIZE_TEXT];

    if (floor == 0)
        return 0;
    if (fstatvfs(root->sessions, &fs) == -1)
        return err_errno(err, "cannot ask how much is free below '%s/%s'", root->path,
                         ROOT_SESSIONS);
    uint64_t room = (uint64_t)fs.f_bavail * fs.f_frsize;
    if (room >= floor && room - floor >= bytes)
        return 0;
    number_format_size(bytes, texts[0]);
    number_format_size(room, texts[1]);
    number_format_size(floor, texts[2]);
    (void)err_set(err, MAS_FAILED,
                  "cannot write %s below '%s/%s': %s is free, and limits.free keeps %s of that",
                  texts[0], root->path, ROOT_SESSIONS, texts[1], texts[2]);
    return err_hint(err, "what takes it: mas du; old sessions go with: mas clean");
}

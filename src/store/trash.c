#include "store/trash.h"

#include "base/id.h"
#include "os/file.h"

int trash_put_away(const struct root *root, const char *path, char fresh[ENTRY_NAME],
                   struct err *err)
{
    char id[ID_TEXT];

    if (id_make(id, err) == -1)
        return -1;
    (void)snprintf(fresh, ENTRY_NAME, TRASH_PREFIX "%s", id);
    if (renameat(root->sessions, path, root->sessions, fresh) == -1)
        return err_errno(err, "cannot move '%s' aside", path);
    return 0;
}

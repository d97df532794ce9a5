#include "session/helper.h"

#include "base/build.h"
#include "os/path.h"

char *helper_find(const char *name, struct err *err)
{
    _cleanup_free_ char *exe = path_exe_dir();
    const char *const at[] = {"/", "/../libexec/mas/"};

    for (size_t i = 0; exe != NULL && i < ARRAY_LEN(at); i++) {
        char *path = mem_printf("%s%s%s", exe, at[i], name);
        if (access(path, X_OK) == 0)
            return path;
        free(path);
    }
    char *path = mem_printf("%s/%s", build_libexec, name);
    if (access(path, X_OK) == 0)
        return path;
    (void)err_errno(err, "cannot find the program '%s' in '%s'", name, build_libexec);
    (void)err_hint(err, "install mas with 'make install', or run it from its build tree");
    free(path);
    return NULL;
}

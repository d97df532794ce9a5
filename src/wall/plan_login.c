/*
 * The part of wall/plan.h for login shells, which set PATH anew: without a file in the agent's home
 * that says where it is, they would not find mas.
 */
#include "os/file.h"
#include "os/path.h"
#include "wall/plan_internal.h"

#include <sys/mman.h>

/* The files, and which others a shell would read instead. */
static const struct {
    const char *name, *instead[2];
} files[] = {
    {".profile", {".bash_profile", ".bash_login"}}, /* sh, bash */
    {".zprofile", {NULL, NULL}},
};

/* Returns true if the home has the file, or another that counts, from the user. */
static bool has_own(const struct wall_options *options, size_t file)
{
    const char *const names[] = {files[file].name, files[file].instead[0], files[file].instead[1]};

    for (size_t i = 0; i < options->home_count; i++)
        for (size_t j = 0; j < ARRAY_LEN(names); j++)
            if (names[j] != NULL && strcmp(options->home[i].path, names[j]) == 0)
                return true;
    return false;
}

/* Opens such a file in memory; -1: none is needed, or it cannot be made. */
static int make_file(void)
{
    _cleanup_free_ char *dir = path_exe_dir();
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_str_ struct str quoted = STR_INIT;

    if (dir == NULL || strcmp(dir, "/usr/bin") == 0 || strcmp(dir, "/usr/local/bin") == 0)
        return -1;
    str_add_shell(&quoted, dir, true);
    str_addf(&text,
             "# mas is here; it wrote this file for login shells, which set PATH anew.\n"
             "PATH=$PATH:%s\n",
             quoted.data);
    _cleanup_close_ int fd = memfd_create("profile", MFD_CLOEXEC);
    if (fd == -1 || file_write_all(fd, text.data, text.len) == -1 || lseek(fd, 0, SEEK_SET) == -1)
        return -1;
    return TAKE_FD(fd);
}

void plan_add_login(struct wall_plan *plan, const struct wall_subject *subject)
{
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        _cleanup_free_ char *path = mem_printf("%s/%s", plan->home, files[i].name);
        int fd = has_own(&subject->preset->wall, i) ? -1 : make_file();
        if (fd != -1)
            wall_plan_mount(plan, WALL_MOUNT_COPY, path, NULL, fd);
    }
}

void plan_put_login(int home, const struct wall_subject *subject)
{
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        _cleanup_close_ int fd = has_own(&subject->preset->wall, i) ? -1 : make_file();
        if (fd == -1)
            continue;
        (void)unlinkat(home, files[i].name, 0); /* of an earlier start */
        (void)plan_copy_file(home, files[i].name, fd);
    }
}

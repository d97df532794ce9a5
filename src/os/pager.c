#include "os/pager.h"

#include "os/file.h"
#include "os/path.h"
#include "os/proc.h"

#include <sys/mman.h>

/* Returns true for "less", "/usr/bin/less -S" and the like. */
static bool is_less(const char *pager)
{
    size_t len = strcspn(pager, " \t");
    size_t start = len;

    while (start > 0 && pager[start - 1] != '/')
        start--;
    return len - start == 4 && memcmp(pager + start, "less", 4) == 0;
}

/* Returns the pager's command line for a shell; NULL: none. The caller frees it. */
static char *find_pager(bool *ret_is_less)
{
    const char *pager = getenv("PAGER");

    if (isatty(STDOUT_FILENO) == 0)
        return NULL;
    if (pager == NULL) {
        _cleanup_free_ char *program = path_find_program("less", getenv("PATH"), AT_FDCWD);
        if (program == NULL)
            return NULL;
        pager = "less";
    }
    if (pager[0] == '\0' || strcmp(pager, "cat") == 0)
        return NULL;
    *ret_is_less = is_less(pager);
    return mem_printf("LESS=${LESS-FRX} LV=${LV--c}; export LESS LV; %s", pager);
}

/* Runs the command line with the text as its standard input. */
static int run(const char *pager, const struct str *text)
{
    _cleanup_close_ int fd = memfd_create("pager", MFD_CLOEXEC);
    _cleanup_close_ int input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char *)(uintptr_t)pager, NULL};
    struct err ignored = ERR_INIT;
    int status = 0;

    if (fd == -1 || file_write_all(fd, text->data, text->len) == -1 ||
        lseek(fd, 0, SEEK_SET) == -1 || dup2(fd, STDIN_FILENO) == -1)
        return -1;
    int rc = proc_run("/bin/sh", argv, &status, &ignored);
    if (input != -1)
        (void)dup2(input, STDIN_FILENO);
    return rc == -1 || status == 126 || status == 127 ? -1 : 0;
}

bool pager_show(const struct str *text)
{
    bool less = false;
    _cleanup_free_ char *pager = text->len > 0 ? find_pager(&less) : NULL;

    if (pager != NULL && run(pager, text) == 0)
        return less;
    (void)fwrite(str_text(text), 1, text->len, stdout);
    return false;
}

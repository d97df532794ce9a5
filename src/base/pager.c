#include "base/pager.h"

#include "base/file.h"
#include "base/path.h"
#include "base/proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Returns the pager's command line for a shell; NULL: none. The caller frees it. */
static char *find_pager(const char *less)
{
    const char *pager = getenv("PAGER");

    if (isatty(STDOUT_FILENO) == 0)
        return NULL;
    if (pager == NULL) {
        _cleanup_free_ char *program = path_find_program("less", getenv("PATH"), AT_FDCWD);
        return program != NULL ? mem_dup(less) : NULL;
    }
    if (pager[0] == '\0' || strcmp(pager, "cat") == 0)
        return NULL;
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

bool pager_show(const struct str *text, const char *less)
{
    _cleanup_free_ char *pager = text->len > 0 ? find_pager(less) : NULL;

    if (pager != NULL && run(pager, text) == 0)
        return getenv("PAGER") == NULL;
    (void)fwrite(str_text(text), 1, text->len, stdout);
    return false;
}

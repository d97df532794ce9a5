/*
 * args.c — writes the arguments of each program that begins on a machine of a bed into
 * /run/disk/args, if that file is there: /etc/ld.so.preload names this library there. So a test
 * sees all argument lists, also of programs that live for a millisecond.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((constructor)) static void note(int argc, char **argv)
{
    int fd = open("/run/disk/args", O_WRONLY | O_APPEND | O_CLOEXEC);
    size_t len = 0;

    if (fd < 0)
        return;
    for (int i = 0; i < argc; i++)
        len += strlen(argv[i]) + 1;
    char *text = malloc(len + 1);
    char *end = text;
    for (int i = 0; text != NULL && i < argc; i++) {
        end = stpcpy(end, argv[i]);
        *end++ = ' ';
    }
    if (text != NULL) {
        *end++ = '\n';
        if (write(fd, text, (size_t)(end - text)) < 0) /* a test misses what it looks for */
            end = text;
    }
    free(text);
    (void)close(fd);
}

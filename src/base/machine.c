#include "base/machine.h"

#include "base/file.h"
#include "base/str.h"

#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>

char *machine_identity(void)
{
    enum { ID_MAX = 256 };
    static const char path[] = "/etc/machine-id";
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    _cleanup_free_ char *id = NULL;
    struct err ignored = ERR_INIT;
    struct utsname name;
    size_t len = 0;

    if (fd == -1 || file_read_stream(fd, path, ID_MAX, &id, &len, &ignored) == -1)
        len = 0;
    while (len > 0 && (id[len - 1] == '\n' || id[len - 1] == ' '))
        len--;
    return mem_printf("%.*s %s", (int)len, len > 0 ? id : "",
                      uname(&name) == 0 ? name.nodename : "");
}

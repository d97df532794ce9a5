#include "os/machine.h"

#include "os/file.h"

#include <sys/utsname.h>

/* Reads the text of a small file without white space at its end, "" if there is no such file. The
 * caller frees *ret. */
static int read_id(const char *path, char **ret, struct err *err)
{
    enum { ID_MAX = 256 };
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    _cleanup_free_ char *id = NULL;
    size_t len = 0;

    if (fd == -1 && errno != ENOENT)
        return err_errno(err, "cannot read '%s'", path);
    if (fd != -1 && file_read_stream(fd, path, ID_MAX, &id, &len, err) == -1)
        return -1;
    while (len > 0 && (id[len - 1] == '\n' || id[len - 1] == ' '))
        len--;
    *ret = mem_printf("%.*s", (int)len, len > 0 ? id : "");
    return 0;
}

int machine_identity(char **ret, struct err *err)
{
    _cleanup_free_ char *id = NULL;
    struct utsname name;

    if (read_id("/etc/machine-id", &id, err) == -1)
        return -1;
    *ret = mem_printf("%s %s", id, uname(&name) == 0 ? name.nodename : "");
    return 0;
}

const char *machine_host(const char *identity)
{
    const char *space = strchr(identity, ' ');
    return space != NULL ? space + 1 : identity;
}

int machine_boot(char **ret, struct err *err)
{
    _cleanup_free_ char *boot = NULL;
    struct stat st;

    if (read_id("/proc/sys/kernel/random/boot_id", &boot, err) == -1)
        return -1;
    bool known = boot[0] != '\0' && stat("/proc/self/ns/pid", &st) == 0;
    *ret = known ? mem_printf("%s %ju", boot, (uintmax_t)st.st_ino) : mem_dup("");
    return 0;
}

uint64_t memory_available(void)
{
    enum { TEXT_MAX = 65536 };
    static const char key[] = "\nMemAvailable:";
    _cleanup_close_ int fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    size_t len = 0;
    uint64_t kib = 0;

    if (fd == -1 || file_read_stream(fd, "/proc/meminfo", TEXT_MAX, &text, &len, &ignored) == -1)
        return UINT64_MAX;
    const char *at = strstr(text, key);
    if (at == NULL || sscanf(at + strlen(key), " %15" SCNu64 " kB", &kib) != 1)
        return UINT64_MAX;
    return kib * 1024;
}

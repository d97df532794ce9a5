#include "base/memory.h"

#include "base/file.h"

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

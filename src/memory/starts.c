#include "memory/starts.h"

#include "os/file.h"
#include "os/path.h"

/* Each number has as many bytes whatever it is, so that the file is written in place. */
enum { LOCK_MS = 200, DIGITS = 20, LINE = DIGITS + 1, SIZE = (int)OUTCOME_COUNT * LINE };

static void parse(const char text[SIZE + 1], uint64_t ret[OUTCOME_COUNT])
{
    bool valid = strlen(text) == SIZE && strspn(text, " 0123456789\n") == SIZE;

    for (int i = 0; i < OUTCOME_COUNT; i++)
        ret[i] = valid ? strtoull(text + (ptrdiff_t)i * LINE, NULL, 10) : 0;
}

void starts_count(const struct root *root, enum store_outcome outcome)
{
    struct err ignored = ERR_INIT;
    _cleanup_close_ int lock = -1;
    char text[SIZE + 1] = "";
    uint64_t counts[OUTCOME_COUNT];

    if (file_lock(root->sessions, STARTS_LOCK, LOCK_MS, "start", &lock, &ignored) == -1)
        return;
    _cleanup_close_ int fd = file_open_own(root->sessions, STARTS_FILE, O_RDWR | O_CREAT, &ignored);
    if (fd == -1 || pread(fd, text, SIZE, 0) == -1)
        return;
    parse(text, counts);
    counts[outcome]++;
    for (int i = 0; i < OUTCOME_COUNT; i++)
        (void)snprintf(text + (ptrdiff_t)i * LINE, LINE + 1, "%*llu\n", DIGITS,
                       (unsigned long long)counts[i]);
    (void)!pwrite(fd, text, SIZE, 0);
}

void starts_read(const struct root *root, uint64_t ret[OUTCOME_COUNT])
{
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    size_t len = 0;
    bool found = file_read(root->sessions, STARTS_FILE, SIZE, &text, &len, &ignored) == 0;

    parse(found ? text : "", ret);
}

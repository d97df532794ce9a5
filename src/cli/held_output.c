#include "cli/held_output.h"

#include "os/file.h"

static const int outputs[HELD_OUTPUTS] = {STDOUT_FILENO, STDERR_FILENO};

void held_output_begin(struct held_output *held)
{
    (void)fflush(stdout);
    for (size_t i = 0; i < HELD_OUTPUTS; i++) {
        _cleanup_close_ int kept = file_in_memory("output");
        int to = kept != -1 ? fcntl(outputs[i], F_DUPFD_CLOEXEC, 3) : -1;
        if (to != -1 && dup2(kept, outputs[i]) == -1)
            fd_closep(&to);
        held->to[i] = to;
    }
}

static void copy(int from, int to)
{
    char chunk[4096];
    ssize_t n;

    (void)lseek(from, 0, SEEK_SET);
    while ((n = read(from, chunk, sizeof chunk)) > 0)
        if (file_write_all(to, chunk, (size_t)n) == -1)
            return;
}

void held_output_end(struct held_output *held)
{
    (void)fflush(stdout);
    for (size_t i = 0; i < HELD_OUTPUTS; i++) {
        if (held->to[i] == -1)
            continue;
        _cleanup_close_ int kept = fcntl(outputs[i], F_DUPFD_CLOEXEC, 3);
        (void)dup2(held->to[i], outputs[i]);
        fd_closep(&held->to[i]);
        copy(kept, outputs[i]);
    }
}

#include "client/broker.h"

#include "base/time.h"
#include "os/loop.h"
#include "os/sock.h"
#include "protocol/broker.h"
#include "store/workspace.h"

enum {
    CONNECT_MS = 10000, /* while the host's queue is full */
    RETRY_MS = 10,
    CHUNK = 4096,
};

static int reach(const char *path, int *ret_fd, struct err *err)
{
    int64_t until = time_monotonic_ms() + CONNECT_MS;
    int fd;

    while ((fd = sock_connect(AT_FDCWD, path)) == -1 && errno == EAGAIN &&
           time_monotonic_ms() < until)
        (void)loop_wait_for(-1, 0, RETRY_MS);
    if (fd == -1) {
        (void)err_errno(err, "cannot reach the host of this agent at '%s'", path);
        return err_hint(err, "it is what %s names; where the agent has ended, unset it",
                        MAS_SOCKET_VARIABLE);
    }
    *ret_fd = fd;
    return 0;
}

/* Waits for the only answer. */
static int await(int fd, int *ret_code, struct err *err)
{
    struct frames frames = {.at = 0};
    struct frame frame = {.head = NULL};
    char chunk[CHUNK];
    int rc = 0;

    while (rc == 0) {
        ssize_t n = loop_wait_for(fd, POLLIN, -1) > 0 ? read(fd, chunk, sizeof chunk) : -1;
        if (n == -1 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (n <= 0) {
            frames_free(&frames);
            return err_set(err, MAS_FAILED,
                           "cannot run a command: the host of this agent has ended it");
        }
        frames_feed(&frames, chunk, (size_t)n);
        rc = frames_next(&frames, &frame, err);
    }
    if (rc == 1) {
        rc = broker_parse_answer(&frame, ret_code, err);
        frame_free(&frame);
    }
    frames_free(&frames);
    return rc;
}

int broker_run(const char *path, char *const *argv, bool colour, int *ret_code, struct err *err)
{
    static const int fds[BROKER_FILES] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
    _cleanup_str_ struct str request = STR_INIT;
    _cleanup_close_ int fd = -1;

    if (broker_put_request(argv, colour, &request, err) == -1 || reach(path, &fd, err) == -1)
        return -1;
    /* a host that takes no more has said why */
    if (sock_send_files(fd, request.data, request.len, fds, BROKER_FILES) == -1 && errno != EPIPE)
        return err_errno(err, "cannot ask the host of this agent");
    return await(fd, ret_code, err);
}

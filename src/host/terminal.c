#include "host/terminal.h"

#include "base/pty.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Undoes what full-screen programs turn on; terminals ignore what they do not know. */
static const char reset_modes[] =
    "\033[?1000l\033[?1002l\033[?1003l\033[?1005l\033[?1006l\033[?1015l" /* mouse */
    "\033[?1004l\033[?2004l\033[?2026l" /* focus, paste, synchronised output */
    "\033[<u\033[>4m" /* key encodings: kitty, xterm */
    "\033[?1l\033>" /* cursor keys, keypad */
    "\033[?1049l" /* alternate screen */
    "\0337\033[r\0338" /* scroll region, which moves the cursor */
    "\033[4l\033[?7h" /* insert, wrap */
    "\033(B\017\033[0m\033[?25h\033[0 q"; /* character set, colours, cursor */

int terminal_open(struct terminal *terminal, struct err *err)
{
    terminal->master = -1;
    terminal->slave = -1;
    if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0)
        return err_set(err, MAS_USAGE, "cannot start an agent: 'mas host' needs a terminal");
    if (pty_make_raw(STDIN_FILENO, &terminal->was) == -1)
        return err_errno(err, "cannot set up the terminal");
    terminal->raw = true;
    (void)fcntl(STDIN_FILENO, F_SETFL, O_RDWR | O_NONBLOCK);
    (void)fcntl(STDOUT_FILENO, F_SETFL, O_RDWR | O_NONBLOCK);
    return 0;
}

void terminal_close(struct terminal *terminal)
{
    terminal_disconnect(terminal);
    if (!terminal->raw)
        return;
    (void)fcntl(STDIN_FILENO, F_SETFL, O_RDWR);
    (void)fcntl(STDOUT_FILENO, F_SETFL, O_RDWR);
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &terminal->was);
    terminal->raw = false;
}

int terminal_connect(struct terminal *terminal, int *ret_slave, struct err *err)
{
    int slave = -1;

    if (pty_open(STDIN_FILENO, &terminal->was, &terminal->master, &slave, err) == -1)
        return -1;
    terminal->slave = fcntl(slave, F_DUPFD_CLOEXEC, 0);
    terminal->hung = false;
    *ret_slave = slave;
    return 0;
}

void terminal_disconnect(struct terminal *terminal)
{
    fd_closep(&terminal->master);
    fd_closep(&terminal->slave);
    terminal->master = -1;
    terminal->slave = -1;
    terminal->to_agent.start = 0;
    terminal->to_agent.end = 0;
}

void terminal_resize(const struct terminal *terminal)
{
    pty_copy_size(STDIN_FILENO, terminal->master);
}

bool terminal_has_room(const struct terminal_buffer *buffer)
{
    return terminal_has_room_for(buffer, 1);
}

bool terminal_has_room_for(const struct terminal_buffer *buffer, size_t len)
{
    return buffer->end + len <= TERMINAL_BUFFER;
}

bool terminal_is_empty(const struct terminal_buffer *buffer)
{
    return buffer->start == buffer->end;
}

/* Moves what is left to the front. */
static void compact(struct terminal_buffer *buffer)
{
    memmove(buffer->data, buffer->data + buffer->start, buffer->end - buffer->start);
    buffer->end -= buffer->start;
    buffer->start = 0;
}

static void write_out(int fd, struct terminal_buffer *buffer, bool *ret_gone)
{
    while (buffer->start < buffer->end) {
        ssize_t wanted = (ssize_t)(buffer->end - buffer->start);
        ssize_t n = write(fd, buffer->data + buffer->start, (size_t)wanted);
        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1 && errno != EAGAIN) {
            *ret_gone = true;
            buffer->start = buffer->end;
        }
        if (n > 0)
            buffer->start += (size_t)n;
        if (n < wanted)
            break; /* part of it, or nothing: it is full */
    }
    compact(buffer);
}

/* Reads as much as there is room for, once. */
static size_t read_in(int fd, struct terminal_buffer *buffer, bool *ret_gone)
{
    if (!terminal_has_room(buffer))
        return 0;
    ssize_t n = read(fd, buffer->data + buffer->end, TERMINAL_BUFFER - buffer->end);
    if (n == -1 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0) {
        *ret_gone = true;
        return 0;
    }
    buffer->end += (size_t)n;
    return (size_t)n;
}

size_t terminal_read_agent(struct terminal *terminal)
{
    return terminal->hung ? 0 : read_in(terminal->master, &terminal->to_pane, &terminal->hung);
}

size_t terminal_read_pane(struct terminal *terminal)
{
    return read_in(STDIN_FILENO, &terminal->to_agent, &terminal->gone);
}

void terminal_drop_keys(struct terminal *terminal)
{
    terminal->to_agent.start = 0;
    terminal->to_agent.end = 0;
}

void terminal_write_pane(struct terminal *terminal)
{
    if (terminal->gone)
        terminal->to_pane.start = terminal->to_pane.end; /* nobody sees it */
    write_out(STDOUT_FILENO, &terminal->to_pane, &terminal->gone);
}

void terminal_write_agent(struct terminal *terminal)
{
    bool ignored = false; /* its end is the supervisor's to tell */
    if (terminal->master != -1)
        write_out(terminal->master, &terminal->to_agent, &ignored);
}

size_t terminal_type(struct terminal *terminal, const char *bytes, size_t len)
{
    ssize_t n = write(terminal->master, bytes, len);
    return n > 0 ? (size_t)n : 0;
}

/* Words of mas are few; where the pane takes nothing and the buffer is full, they are dropped. */
void terminal_add(struct terminal *terminal, const char *bytes, size_t len)
{
    struct terminal_buffer *buffer = &terminal->to_pane;

    if (terminal_has_room_for(buffer, len)) {
        memcpy(buffer->data + buffer->end, bytes, len);
        buffer->end += len;
    }
    terminal_write_pane(terminal);
}

static void add(struct terminal *terminal, const char *text)
{
    terminal_add(terminal, text, strlen(text));
}

void terminal_reset(struct terminal *terminal, bool origin)
{
    add(terminal, reset_modes);
    if (origin) /* not otherwise: it moves the cursor, and saving that saves the mode too */
        add(terminal, "\033[?6l\033[9999;1H");
}

void terminal_print(struct terminal *terminal, const char *text)
{
    _cleanup_str_ struct str line = STR_INIT;
    str_add(&line, "\r\n\033[2m[mas: ");
    str_add_visible(&line, text, strlen(text));
    str_add(&line, "]\033[0m\r\n");
    add(terminal, line.data);
}

void terminal_title(struct terminal *terminal, const char *text)
{
    _cleanup_free_ char *title = mem_printf("\033]2;%s\033\\", text);
    add(terminal, title);
}

/*
 * A piece that is added and does not fit is dropped as a whole, so that no half of an escape
 * sequence gets to the terminal. Once the pane has hung up, what is printed goes nowhere and
 * nothing fails, because the host still has to end its agent.
 */

#include "host/pane.h"

#include "base/time.h"
#include "os/pty.h"

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

int pane_check(struct err *err)
{
    if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0)
        return err_set(err, MAS_USAGE, "cannot start an agent: 'mas host' needs a terminal");
    return 0;
}

int pane_open(struct pane *pane, struct err *err)
{
    if (pane_check(err) == -1)
        return -1;
    if (pty_make_raw(STDIN_FILENO, &pane->was) == -1)
        return err_errno(err, "cannot set up the terminal");
    pane->raw = true;
    (void)fcntl(STDIN_FILENO, F_SETFL, O_RDWR | O_NONBLOCK);
    (void)fcntl(STDOUT_FILENO, F_SETFL, O_RDWR | O_NONBLOCK);
    return 0;
}

void pane_close(struct pane *pane)
{
    if (!pane->raw)
        return;
    (void)fcntl(STDIN_FILENO, F_SETFL, O_RDWR);
    (void)fcntl(STDOUT_FILENO, F_SETFL, O_RDWR);
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &pane->was);
    pane->raw = false;
}

/* ---- the buffers */

bool pane_has_room(const struct pane_buffer *buffer, size_t len)
{
    return buffer->end + len <= PANE_BUFFER;
}

bool pane_is_empty(const struct pane_buffer *buffer)
{
    return buffer->start == buffer->end;
}

/* Moves what is left to the front. */
static void compact(struct pane_buffer *buffer)
{
    memmove(buffer->data, buffer->data + buffer->start, buffer->end - buffer->start);
    buffer->end -= buffer->start;
    buffer->start = 0;
}

void pane_buffer_write(struct pane_buffer *buffer, int fd, bool *ret_gone)
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
            break; /* the other end is full */
    }
    compact(buffer);
}

size_t pane_buffer_read(struct pane_buffer *buffer, int fd, bool *ret_gone)
{
    if (!pane_has_room(buffer, 1))
        return 0;
    ssize_t n = read(fd, buffer->data + buffer->end, PANE_BUFFER - buffer->end);
    if (n == -1 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0) {
        *ret_gone = true;
        return 0;
    }
    buffer->end += (size_t)n;
    return (size_t)n;
}

/* ---- keys */

size_t pane_read(struct pane *pane)
{
    return pane_buffer_read(&pane->keys, STDIN_FILENO, &pane->gone);
}

void pane_drop_keys(struct pane *pane)
{
    pane->keys.start = 0;
    pane->keys.end = 0;
}

/* ---- output */

void pane_write(struct pane *pane)
{
    if (pane->gone)
        pane->out.start = pane->out.end;
    if (pane->out.start < pane->out.end)
        pane->written_ms = time_epoch_ms();
    pane_buffer_write(&pane->out, STDOUT_FILENO, &pane->gone);
}

void pane_add(struct pane *pane, const char *bytes, size_t len)
{
    if (pane_has_room(&pane->out, len)) {
        memcpy(pane->out.data + pane->out.end, bytes, len);
        pane->out.end += len;
    }
    pane_write(pane);
}

static void add(struct pane *pane, const char *text)
{
    pane_add(pane, text, strlen(text));
}

void pane_reset(struct pane *pane, bool origin)
{
    add(pane, reset_modes);
    if (origin) /* only then: it moves the cursor, and saving the cursor saves the mode too */
        add(pane, "\033[?6l\033[9999;1H");
}

void pane_add_words(struct str *to, const char *text)
{
    str_add(to, "\r\n\033[2m[mas: ");
    for (size_t len; *text != '\0'; text += len) {
        len = strcspn(text, "\n");
        str_add_line(to, text, len);
        if (text[len] == '\n') {
            str_add(to, "\r\n");
            len++;
        }
    }
    str_add(to, "]\033[0m\r\n");
}

void pane_print(struct pane *pane, const char *text)
{
    _cleanup_str_ struct str words = STR_INIT;

    pane_add_words(&words, text);
    add(pane, words.data);
}

void pane_title(struct pane *pane, const char *text)
{
    _cleanup_free_ char *title = mem_printf("\033]2;%s\033\\", text);
    add(pane, title);
}

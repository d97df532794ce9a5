/*
 * git starts `mas lfs-filter` and talks to it in packets: both greet, then comes a command with its
 * list and contents, and its answer, until git closes. What becomes a file is hashed as a whole
 * before its first byte goes out, so that an object which is damaged stays a pointer and is no
 * error in the middle of an answer.
 */

#include "git/lfs_filter.h"

#include "git/lfs.h"
#include "os/file.h"

enum {
    HEAD = 4, /* hex digits in front of a packet: its length, with them */
    PACKET_MAX = 65516, /* bytes of data in one */
    WORD_MAX = 64, /* bytes of a command's name */
};

struct filter {
    char *const *dirs;
    char data[PACKET_MAX + 1]; /* of the packet that was read last, with a NUL */
    size_t len;
};

enum packet { PACKET_END = -1, PACKET_FLUSH, PACKET_DATA };

static bool read_exactly(char *to, size_t len)
{
    while (len > 0) {
        ssize_t n = read(STDIN_FILENO, to, len);
        if (n == -1 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        to += n;
        len -= (size_t)n;
    }
    return true;
}

static enum packet read_packet(struct filter *filter)
{
    char head[HEAD + 1] = "";
    char *end = NULL;

    if (!read_exactly(head, HEAD))
        return PACKET_END;
    unsigned long len = strtoul(head, &end, 16);
    if (end != head + HEAD || (len != 0 && (len < HEAD || len > HEAD + PACKET_MAX)))
        return PACKET_END;
    filter->len = len == 0 ? 0 : len - HEAD;
    if (!read_exactly(filter->data, filter->len))
        return PACKET_END;
    filter->data[filter->len] = '\0';
    return len == 0 ? PACKET_FLUSH : PACKET_DATA;
}

static int write_packet(const void *bytes, size_t len, struct err *err)
{
    char packet[HEAD + PACKET_MAX + 1];

    (void)snprintf(packet, sizeof packet, "%04zx", len + HEAD);
    memcpy(packet + HEAD, bytes, len);
    return file_write_all(STDOUT_FILENO, packet, HEAD + len) == -1
               ? err_errno(err, "cannot answer git")
               : 0;
}

static int write_line(const char *text, struct err *err)
{
    return write_packet(text, strlen(text), err);
}

static int write_flush(struct err *err)
{
    return file_write_all(STDOUT_FILENO, "0000", HEAD) == -1 ? err_errno(err, "cannot answer git")
                                                             : 0;
}

static int write_bytes(const char *bytes, size_t len, struct err *err)
{
    for (size_t n = 0; len > 0; bytes += n, len -= n) {
        n = len < PACKET_MAX ? len : PACKET_MAX;
        if (write_packet(bytes, n, err) == -1)
            return -1;
    }
    return 0;
}

static int fail_input(struct err *err)
{
    return err_set(err, MAS_FAILED, "cannot read what git says");
}

/* Reads to the end of a list. *ret, which may be NULL, is true if `wanted` is in it. */
static int read_list(struct filter *filter, const char *wanted, bool *ret, struct err *err)
{
    enum packet packet = PACKET_END;

    while ((packet = read_packet(filter)) == PACKET_DATA)
        if (ret != NULL && strcmp(filter->data, wanted) == 0)
            *ret = true;
    return packet == PACKET_FLUSH ? 0 : fail_input(err);
}

/* git names itself, its versions and what it can do. */
static int greet(struct filter *filter, struct err *err)
{
    bool known = false;

    if (read_list(filter, "version=2\n", &known, err) == -1)
        return -1;
    if (!known)
        return err_set(err, MAS_FAILED, "git speaks another version of the protocol of filters");
    return write_line("git-filter-server\n", err) == -1 || write_line("version=2\n", err) == -1 ||
                   write_flush(err) == -1 || read_list(filter, "", NULL, err) == -1 ||
                   write_line("capability=clean\n", err) == -1 ||
                   write_line("capability=smudge\n", err) == -1 || write_flush(err) == -1
               ? -1
               : 0;
}

static int begin_answer(struct err *err)
{
    return write_line("status=success\n", err) == -1 ? -1 : write_flush(err);
}

/* Ends the contents, and says that the status stays. */
static int end_answer(struct err *err)
{
    return write_flush(err) == -1 ? -1 : write_flush(err);
}

static int answer(const struct str *text, struct err *err)
{
    return begin_answer(err) == -1 || write_bytes(str_text(text), text->len, err) == -1
               ? -1
               : end_answer(err);
}

/* Gives the pointer of a file; a pointer and an empty file stay as they are. */
static int clean(struct filter *filter, struct err *err)
{
    struct sha256 sum = sha256_begin();
    _cleanup_str_ struct str head = STR_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    struct lfs_pointer pointer = {.size = 0};
    enum packet packet = PACKET_END;

    while ((packet = read_packet(filter)) == PACKET_DATA) {
        sha256_add(&sum, filter->data, filter->len);
        if (head.len < LFS_POINTER_MAX)
            str_addn(&head, filter->data, filter->len);
    }
    if (packet == PACKET_END)
        return fail_input(err);
    pointer.size = (int64_t)sum.len;
    if (sum.len == 0 || lfs_parse(head.data, head.len, &(struct lfs_pointer){.size = 0}))
        return answer(&head, err);
    sha256_hex(&sum, pointer.oid);
    lfs_format(&pointer, &text);
    return answer(&text, err);
}

/* Returns true if the file has the bytes of the object, and leaves it at its beginning. */
static bool is_whole(int fd, const struct lfs_pointer *pointer, char *buffer)
{
    struct sha256 sum = sha256_begin();
    char oid[SHA256_TEXT];
    ssize_t n = 0;

    while (sum.len <= (uint64_t)pointer->size && (n = read(fd, buffer, PACKET_MAX)) > 0)
        sha256_add(&sum, buffer, (size_t)n);
    sha256_hex(&sum, oid);
    return n == 0 && strcmp(oid, pointer->oid) == 0 && lseek(fd, 0, SEEK_SET) == 0;
}

static int answer_file(int fd, char *buffer, struct err *err)
{
    ssize_t n = 0;

    if (begin_answer(err) == -1)
        return -1;
    while ((n = read(fd, buffer, PACKET_MAX)) > 0)
        if (write_packet(buffer, (size_t)n, err) == -1)
            return -1;
    return n == -1 ? err_errno(err, "cannot read a file of git-lfs") : end_answer(err);
}

/* Gives the file of a pointer; anything else stays as it is. */
static int smudge(struct filter *filter, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct lfs_pointer pointer = {.size = 0};
    enum packet packet = PACKET_END;

    while ((packet = read_packet(filter)) == PACKET_DATA)
        str_addn(&text, filter->data, filter->len);
    if (packet == PACKET_END)
        return fail_input(err);
    bool wanted = lfs_parse(str_text(&text), text.len, &pointer) && pointer.size <= LFS_FILE_MAX;
    for (char *const *dir = filter->dirs; wanted && *dir != NULL; dir++) {
        bool damaged = false;
        _cleanup_close_ int fd = lfs_open(*dir, &pointer, &damaged);
        if (fd != -1 && is_whole(fd, &pointer, filter->data))
            return answer_file(fd, filter->data, err);
    }
    return answer(&text, err);
}

/* Reads "command=WORD" and the rest of the list. *ret is false if git has ended. */
static int read_command(struct filter *filter, char word[WORD_MAX], bool *ret, struct err *err)
{
    static const char key[] = "command=";
    enum packet packet = read_packet(filter);

    *ret = packet != PACKET_END;
    if (packet == PACKET_END)
        return 0;
    word[0] = '\0';
    if (packet == PACKET_DATA && str_starts(filter->data, key))
        (void)snprintf(word, WORD_MAX, "%.*s", WORD_MAX - 1, filter->data + strlen(key));
    word[strcspn(word, "\n")] = '\0';
    return packet == PACKET_FLUSH ? 0 : read_list(filter, "", NULL, err);
}

static int refuse(struct filter *filter, struct err *err)
{
    return read_list(filter, "", NULL, err) == -1 || write_line("status=error\n", err) == -1
               ? -1
               : write_flush(err);
}

int lfs_filter(char *const *dirs, struct err *err)
{
    struct filter *filter = mem_alloc(sizeof *filter);
    char word[WORD_MAX];
    bool more = true;

    filter->dirs = dirs;
    int rc = greet(filter, err);
    while (rc == 0) {
        rc = read_command(filter, word, &more, err);
        if (rc == -1 || !more)
            break;
        rc = strcmp(word, "clean") == 0    ? clean(filter, err)
             : strcmp(word, "smudge") == 0 ? smudge(filter, err)
                                           : refuse(filter, err);
    }
    free(filter);
    return rc;
}

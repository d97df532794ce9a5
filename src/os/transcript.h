/*
 * A file to which a program appends lines, read once and as it grows: each look reads what is new.
 * Where the reading has come to is an offset in bytes, and a hash of the bytes before it, by which
 * the file is known again. One that is shorter, or has other bytes there, is another file: nobody
 * can tell what of it was read, so that all of it counts as read.
 */
#pragma once

enum {
    TRANSCRIPT_LINE_MAX = 4 << 20, /* bytes; a longer line is passed over */
    TRANSCRIPT_LOOK_MAX = 16 << 20, /* bytes that one look reads, about */
};

struct transcript {
    int64_t offset; /* where the line begins that is taken, or comes next */
    int64_t tail; /* the hash of what is before it */
    int64_t skipped; /* bytes that were read of a line there that is too long; 0: it is not */
    int64_t too_long; /* how many were */
    struct { /* of the file at the last look; what has not changed is not read */
        uint64_t inode;
        int64_t size, mtime_ns;
    } seen;
};

/* Takes a line without its newline. */
typedef void transcript_line(const char *line, size_t len, void *arg);

enum transcript_found { TRANSCRIPT_SAME, TRANSCRIPT_NEW, TRANSCRIPT_REPLACED };
/* Finds out whether the file open at `fd` has something new. Of a replaced one all is skipped. */
enum transcript_found transcript_look(struct transcript *transcript, int fd);
/* Reads lines. Returns true if there may be more. */
bool transcript_read(struct transcript *transcript, int fd, transcript_line *each, void *arg);
/* Goes to the end of the file. */
void transcript_skip_all(struct transcript *transcript, int fd);
/* Goes to where the last line began at the last look, which may not have been whole yet. Returns
 * false if there was none, or a long one: then it goes behind that. */
bool transcript_skip_to_last(struct transcript *transcript, int fd);
/* Returns a hash of bytes. */
int64_t transcript_hash(const char *bytes, size_t len);

/*
 * SHA-256 checksums of an archive's files, computed by a thread while others read, write and
 * compress. The list has the format of sha256sum(1), so `sha256sum -c` accepts it.
 */
#pragma once

struct hasher;

/* Starts the thread. Free *ret with hasher_freep() even after a failure. */
int hasher_new(struct hasher **ret, struct err *err);
void hasher_freep(struct hasher **hasher);

/* Adds bytes to the current file and returns a ticket. They must not change until hasher_wait() for
 * this ticket has returned. */
uint64_t hasher_feed(struct hasher *hasher, const void *bytes, size_t len);
/* Adds zeros to the current file, as a hole reads. */
void hasher_feed_zeros(struct hasher *hasher, uint64_t len);
/* Waits until everything up to this ticket is hashed. */
void hasher_wait(struct hasher *hasher, uint64_t ticket);
/* Ends the current file and adds its line under this name. */
void hasher_end_file(struct hasher *hasher, const char *name);
/* Waits for everything. The list belongs to the hasher. */
const struct str *hasher_list(struct hasher *hasher);

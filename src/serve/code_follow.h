/*
 * Follows the events of code (store/code_log.h) that commands of mas write.
 */
#pragma once

#include "store/root.h"

struct code_follow;

/* Called with the type of an event, and with its data: a JSON object in one line. */
typedef void code_follow_tell(void *arg, const char *type, const struct str *body);

/* Creates a follower; release it with code_follow_free(). `root` must outlive it. */
struct code_follow *code_follow_make(const struct root *root, code_follow_tell *tell, void *arg);
void code_follow_free(struct code_follow *follow);
/* From now on events are told; those before are not. */
void code_follow_begin(struct code_follow *follow);
/* Tells the events that were written since the last call. */
void code_follow_read(struct code_follow *follow);
/* Ends until the next code_follow_begin(). */
void code_follow_end(struct code_follow *follow);

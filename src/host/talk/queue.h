/*
 * Prompts that wait.
 *
 * A waiting prompt is a message of role `user` that is open, has no stop reason and has caused
 * nothing (STORE_WAITS); there is no other queue on disk. It is written before it is accepted,
 * marked as done, with fsync, before it is sent, and the agent's next host reads it (queue_read()).
 * A kill between the mark and the sending leaves a prompt that looks cut off, and mas treats it as
 * one.
 *
 * After a restart in the middle of a turn, nobody can know whether the agent kept the prompt that
 * was cut off. A second kill may cut off the next prompt, with the first in front of it. So the
 * text in front of the next prompt begins with the first cut-off turn since the last turn that
 * ended well.
 */
#pragma once

#include "host/talk/talk.h"

struct new_prompt {
    const char *text;
    size_t len;
    const char *from;
    char *const *tags; /* NULL: none */
    const char *data; /* its pictures, see pictures_data(); NULL: none */
    enum conversation_choice choice; /* CHOICE_CURRENT: the conversation of the prompts before it */
    const char *id; /* of CHOICE_NAMED */
    bool begins; /* its turn begins at once, unless others wait */
    bool told; /* a program has it already: it is not refused, but stored later if it has to be */
    bool steers; /* it is given to the agent at once, and stored as one that is at work */
};
/* Stores a prompt and appends it to the queue. *ret is its number. */
int queue_add(struct host *host, const struct new_prompt *prompt, int64_t *ret, struct err *err);
/* Queues the first message of the team, which is a prompt, if it was not asked yet. */
void queue_open(struct host *host);
/* Tries that again. Returns false if it cannot be stored. */
bool queue_add_first(struct host *host);
/* Appends a prompt that is stored already. */
void queue_push(struct host *host, int64_t number, const char *text, size_t len, const char *from,
                const char *data, char *const *tags);
/* Puts a prompt in front of those that the agent does not have; the queue owns it then. */
void queue_push_first(struct host *host, const struct prompt *prompt);
/* Removes a prompt from the queue; the caller owns it then. */
struct prompt queue_remove(struct talk *talk, size_t index);
/* Returns the index of a prompt; queue.count if it does not wait. */
size_t queue_find(const struct talk *talk, int64_t number);
/* Tells the client that waits for it what has become of a prompt: "steered" or "queued". */
void queue_tell_outcome(struct host *host, int64_t number, const char *outcome, const char *why);
/* Ends a prompt without a turn, and frees it. `kept`: its end is in the store already. */
void queue_drop(struct host *host, struct prompt *prompt, bool kept, const char *stop_reason,
                const char *error);
/* Ends all prompts that wait, without a turn. */
void queue_fail(struct host *host, const char *stop_reason, const char *error);
/* Keeps the prompts that wait for the agent's next start, in the store and here, and tells those
 * who wait for them. */
void queue_keep(struct host *host, const char *why);
/* Reads the prompts that waited when the previous host ended, however it ended. */
int queue_read(struct host *host, struct err *err);
/* Returns the number of the first prompt that waits; INT64_MAX if none does. What was said before
 * it is the history. */
int64_t queue_first_number(const struct talk *talk);
/* Returns true if a prompt that waits is kept in another conversation than the present one. */
bool queue_is_elsewhere(const struct talk *talk, const struct prompt *prompt);
void queue_free_prompt(struct prompt *prompt);

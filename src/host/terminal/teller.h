/*
 * A program on a terminal that tells what it does: its preset has told.event.NAME. What it tells
 * feeds the same conversation as an ACP agent's (host/talk/): the turns, what is said, the history.
 *
 *     teller.c          its life, its state, and who is heard
 *     teller_facts.c    what is told becomes turns and words
 *     teller_asks.c     what it asks on its screen becomes a permission, and an answer a key
 *     teller_turn.c     prompts that clients ask, a cancel, a clear
 *     teller_typed.c    who has typed what on its line
 *     teller_session.c  the session of the program: which one it is started with
 *     teller_files.c    what it keeps in files, and the state that it writes there
 *     teller_lines.c    what the lines of its transcript tell
 *     teller_rows.c     what rows of its database tell, which a kill has kept from being told
 *     teller_limit.c    limits of its provider
 *     teller_sleep.c    what keeps it awake
 *     teller_adopt.c    a session that began without mas, and goes on here
 *     teller_hooks.c    the settings by which the program runs mas-told
 *
 * What is told only describes. It answers nothing and raises no right, and a prompt counts as a
 * person's or an agent's only if the host has typed it, or it stood on the line at an Enter.
 *
 * Killed at any point, the host leaves in memory.db what was told, the turn as cut off, and the id
 * of the session as soon as it has a prompt; the next host continues that session.
 */
#pragma once

#include "host/backend.h"
#include "host/talk/permission.h"
#include "memory/store_transcript.h"
#include "os/transcript.h"
#include "protocol/line.h"

enum { TOLD_TYPED_MAX = 8, TOLD_WORDS_MAX = 512 };

/* What was decided about a dialog that is not on the screen yet. */
struct told_answer {
    int64_t serial; /* of the dialog, in the order in which they were asked */
    const char *keys; /* of the preset */
    char *title; /* what was asked */
    int64_t until; /* it is given up then; monotonic */
};

/* ---- the lines of its transcript */

enum { LINES_FILES_MAX = 32, LINES_ONCE_MAX = 8 };

struct lines_file {
    char *name; /* without its directory */
    struct transcript read;
    int64_t past; /* lines before this offset are of the past */
    bool anew; /* the next line is the last one of a file that was written anew */
    struct lines_once { /* what was counted last, and what of it */
        int64_t hash;
        struct token_counts tokens;
    } once[LINES_ONCE_MAX];
    size_t once_count;
};

/* Words that were told, to be told again by a line or by an event; or of the past, in the store. */
struct lines_words {
    enum store_role role;
    bool by_line;
    int64_t hash, number;
    bool cut; /* a prompt whose turn was cut off */
};

enum lines_session {
    LINES_NEW, /* it has just begun */
    LINES_RESUMED, /* what it has was said before, and is read from where it was read last */
    LINES_ENTERED, /* likewise; but if nothing of it was ever read, it is somebody else's */
};

struct teller_lines {
    /* Takes a fact that is new, and stores the call of a tool of the past, which is of the prompt
     * `trigger`. */
    void (*take)(struct host *host, enum told_fact fact, const struct hook_told *told);
    void (*add_tool)(struct host *host, const struct hook_told *told, int64_t trigger);
    /* Returns true if an event has told this prompt, which the program takes only now. */
    bool (*is_kept)(const struct host *host, const char *text);
    struct lines_file told; /* what is told is read like a file; its offset is for teller_rows.c */
    struct lines_file *files;
    size_t file_count;
    struct lines_words *words; /* the oldest first */
    size_t word_count;
    struct store_spending more; /* by what was read in this look */
    char *model; /* that answered last; NULL: not known */
    enum lines_session session; /* whose files are new to the reader */
    bool is_past; /* the line that is taken */
    bool is_anew; /* it is the last one of a file that was written anew */
    bool counted; /* what that one has used is counted already */
    bool done; /* the newest answer is said to be the last one of its turn */
    bool loaded; /* `words` has those of the store */
    int64_t prompt; /* of the newest turn, to which late lines belong */
    int64_t past_prompt; /* the same for lines of the past; 0: none */
    bool past_cut; /* that turn has no end */
    int64_t look_at, moved; /* monotonic: when to look, and when something was new */
    int64_t known, unknown, damaged; /* lines; unknown: that no rule is about */
    bool doubts; /* it was said that something of the transcript cannot be read */
};

struct teller {
    struct talk talk; /* host->talk */
    char *machine;
    /* The session that the program was started with, or has told; "" not known yet. It is recorded
     * as the agent's (talk.session) with its first prompt: then the program keeps it. */
    char id[HOOK_ID_MAX + 1];
    enum store_outcome outcome; /* of the newest start */
    bool lost; /* the session could not go on: the next start begins a new one */
    bool heard; /* something was told in this run */
    struct proc_id process; /* which tells; pid 0: not known yet */
    enum agent_state state; /* by what was told last */
    int64_t told_ms; /* when something was told last; epoch */
    int64_t turn; /* the hash of the program's id of the newest turn; 0: it has none */
    int64_t look_at; /* when to look at its file of the state; monotonic */
    /* ---- of teller_turn.c */
    bool clears; /* it is to clear its context: what it tells of the old session is not heard */
    bool clear_typed; /* the line for that was typed */
    int64_t clear_until; /* monotonic; it is started anew then */
    bool follows; /* mas follows a clear of the program itself */
    bool behind; /* something of it goes on behind the turn that has ended last */
    /* ---- of teller_asks.c: what is open is in talk.permissions */
    int64_t asked; /* the serial of the newest dialog */
    int64_t shown; /* since when a dialog is on the screen; monotonic; 0: none is */
    int64_t gone; /* when the last one left it; likewise; 0: none has */
    bool keyed; /* a person has pressed keys in the dialog that is open */
    struct told_answer answers[PERMISSIONS_MAX];
    size_t answer_count;
    bool asked_trust; /* in this run */
    const char *yes; /* of told.key.trust, what a person has not pressed yet; NULL: other keys */
    int64_t trusted_at; /* when that was in this run; 0: it was not */
    char trouble[TOLD_WORDS_MAX]; /* how the newest turn has failed, or fails to go on; "" */
    bool limited; /* that is a limit of its provider, which the program waits for itself */
    unsigned calls; /* of tools that were told without an id */
    struct typed { /* messages that the host has typed, the newest last */
        char *text;
        char *data; /* its pictures, of which the program shows marks; NULL: none */
        char from[TEAM_WORD_MAX + 1];
        bool message; /* not what a person has typed in the pane */
    } typed[TOLD_TYPED_MAX];
    size_t typed_count;
    bool untold; /* the last of them is a message, and no turn was told since */
    bool again; /* Enter was pressed again for it */
    /* Has a message typed again: delivery_put_back(). */
    void (*put_back)(struct host *host, const struct prompt *prompt);
    int64_t entered; /* when a person pressed Enter on an unknown line, and no prompt came since */
    struct teller_lines lines; /* of its transcript */
    int64_t unwanted_until; /* a turn that begins before that is to be stopped; monotonic */
    int64_t enter_at; /* when the newest Enter came, also one of the host; monotonic; 0: none */
    /* ---- of teller_session.c: what a change that no hook tells yet is known by */
    char **held; /* the sessions that were held open at that Enter, or since */
    bool was_anew; /* by its title, likewise */
    int64_t follow_at; /* when to look again; monotonic */
};

/* ---- teller.c */
void teller_open(struct host *host);
void teller_close(struct host *host);
/* The run begins, or has ended. */
void teller_begins(struct host *host);
void teller_ended(struct host *host, const char *how, struct agent_end *ret);
/* A process of the agent has told something: backend.told. */
void teller_event(struct host *host, const struct proc_id *peer, const struct frame *frame);
/* A person types in the pane. */
void teller_keys(struct host *host, const char *keys, size_t len, int64_t now);
/* Fills in the conversation, and what it asks. *ret points into the host. */
void teller_fill_status(const struct host *host, struct agent_status *ret);
/* The state by what was told, as long as something was; else `seen`, which the screen says. */
enum agent_state teller_state(const struct host *host, enum agent_state seen);
int64_t teller_tick(struct host *host, int64_t now);

/* ---- teller_facts.c */
/* For struct teller_lines, which says what they do. */
void teller_take(struct host *host, enum told_fact fact, const struct hook_told *told);
void teller_add_tool(struct host *host, const struct hook_told *told, int64_t trigger);
bool teller_prompt_is_kept(const struct host *host, const char *text);
/* Returns how a call of a tool is shown, and appends what is stored of it. The caller frees it. */
char *teller_describe_tool(const struct host *host, const struct hook_told *told, struct str *data);

/* ---- teller_asks.c
 *
 * A dialog of the program is open until one of these comes: the answer of a client, or of the
 * preset's rules, which mas types as soon as the dialog is on the screen; the same keys of a person
 * in the pane; or what the program does next. */
/* Returns a tool call on a line, which the caller frees. */
char *teller_describe(const struct host *host, const struct hook_told *told);
/* It has told that it asks whether a tool may run. */
void teller_ask(struct host *host, const struct hook_told *told);
/* It has told something else, by which a dialog is over. */
void teller_asked(struct host *host, enum told_fact fact, const struct hook_told *told);
/* A person types while a dialog may be open. */
void teller_ask_keys(struct host *host, const char *keys, size_t len);
/* Returns true if a person has said that the directory in which it runs is to be trusted, in any of
 * its starts. */
bool teller_is_trusted(const struct host *host);
/* Returns true if it has told that it asks something. */
bool teller_asks(const struct host *host);
/* Answers one for a client: talk_ops.permit. */
int teller_permit(struct host *host, size_t index, const struct word *option,
                  const struct verdict *verdict, struct answered_permission *ret, struct err *err);
/* Returns true if an answer is still to be typed. */
bool teller_answers(const struct host *host);
/* Types the answers. Returns when to call again. */
int64_t teller_ask_tick(struct host *host, int64_t now);
/* Forgets answers that were not typed, as the program has ended. */
void teller_ask_forget(struct teller *teller);

/* ---- teller_typed.c */
/* The host has typed a message with its Enter. `data`: its pictures; NULL: none. */
void teller_typed(struct host *host, const char *text, size_t len, const char *data,
                  const char *from);
/* The same, or with `message` false a line of a person. */
void typed_add(struct host *host, const char *text, size_t len, const char *data, const char *from,
               bool message);
/* Finds out who has asked this: the sender of a message that the host has typed, or a person who
 * has typed it, as far as that is known. Returns false: nobody that the host knows of. *ret has a
 * text if the message had pictures: it as it was sent. */
bool typed_by(struct host *host, const char *text, struct typed *ret);
/* Returns true if the program tells of the message `a`: the same text but for blanks at the ends.
 * Marks of its pictures may stand before it, and what is in them behind it. */
bool typed_is(const char *a, bool has_pictures, const char *b);
/* The program has another line now. */
void typed_forget(struct teller *teller);
/* Returns the message that may still stand on the line: it was typed, and no turn is told since.
 * What begins with '/' is no prompt, and may have opened a dialog. NULL: there is none. */
const struct typed *typed_untold(const struct host *host);
/* Returns until when its turn is being stopped, with which what is typed may be lost; -1: not
 * known; 0: it is not. */
int64_t teller_stops_until(const struct host *host, int64_t now);

/* ---- teller_turn.c: the rest of talk_ops */
bool teller_is_ready(const struct host *host);
void teller_give(struct host *host);
bool teller_cancel(struct host *host);
/* Takes back a prompt of which nothing was typed. */
bool teller_take_back(struct host *host, int64_t number);
void teller_cut_off(struct host *host);
void teller_leave(struct host *host, int64_t turn, bool cleared);
/* Returns true if a prompt waits because a person has typed on the line. */
bool teller_holds(const struct host *host);
/* Returns true if the program was given a prompt, and has not told of its turn yet. */
bool teller_gives(const struct host *host);
/* The program has ended: what it was given waits again, or is lost with it. */
void teller_given_ended(struct host *host, const char *how);
/* *ret_stopped: the screen shows that the turn has ended which was cancelled. */
int64_t teller_cancel_tick(struct host *host, int64_t now, bool *ret_stopped);
/* Types what may be typed now. Returns when to call again. */
int64_t teller_turn_tick(struct host *host, int64_t now);

/* ---- teller_files.c */
/* What the id of a session is replaced by; the values point into it and to the id. */
struct teller_id_values {
    struct expand_value values[3];
    char first[8 + 1];
};
void teller_id_values(const struct host *host, const char *id, struct teller_id_values *ret);
/* Returns the paths of what the program keeps by these patterns, below the agent's home behind its
 * wall and below the user's, if it was written since; NULL: nothing. The caller releases the
 * vector. */
char **teller_find_files(const struct host *host, char *const *patterns, const char *id,
                         int64_t since_ms);
/* Opens one of them to read, without blocking. Behind a wall, where the agent may put links, none
 * is followed. Returns -1 if it cannot. */
int teller_open_file(const struct host *host, const char *path);
/* Returns the ids of the sessions whose files (told.alive without {pid}) the program holds open;
 * NULL: none. The caller releases the vector. */
char **teller_held_sessions(const struct host *host);
/* Looks, if it is time, whether the program says that it rests, while a turn is on by what it has
 * told: not every end is told. Returns when to look again. */
int64_t teller_look(struct host *host, int64_t now, bool *ret_rests);

/* ---- teller_session.c */
/* Chooses the session of the next run. Appends the words that name it to the command, and what was
 * said before to `history` if the program does not know it. */
void teller_choose_session(struct host *host, char ***argv, struct str *history);
/* The program has another session than it was started with. */
void teller_change_session(struct host *host, const char *id, const char *source);
/* An Enter comes, of a person or of the host. */
void teller_enters(struct host *host, int64_t now);
/* Looks whether the program has gone to another session behind that, which it may tell with its
 * next prompt only. Returns when to look again. */
int64_t teller_follow(struct host *host, int64_t now);
/* Records that the session is the agent's. */
void teller_keep_session(struct host *host, const char *note);
/* Returns where its sessions are opened. */
struct store_home teller_home(const struct host *host);
/* Returns true if the program can continue the session that it is in, so far as is known; else
 * appends why not. */
bool teller_can_continue(const struct host *host, struct str *why);

/* ---- teller_limit.c */
/* Handles an end of the turn that is a refusal of the provider: an error, or with `done` an answer
 * that is nothing else. Returns false if it is none. */
bool teller_is_refused(struct host *host, const struct hook_told *told, bool done);
/* Returns true if an error that the program tells of is such a refusal. */
bool teller_is_limit(const struct host *host, const struct hook_told *told);
/* Returns until when messages wait for the provider; 0: they do not. */
int64_t teller_limited_until(struct host *host);
/* Returns why messages wait until a person lets the agent go on: its budget is used up. NULL: they
 * do not. */
const char *teller_paused(const struct host *host);

/* ---- teller_sleep.c: talk_ops */
bool teller_is_at_rest(const struct host *host);
bool teller_is_kept_awake(const struct host *host, struct str *why);
/* Returns true, and appends why, if an end of the process now would lose something. */
bool teller_is_busy(const struct host *host, struct str *why);
/* Returns true if a person has typed something, or is asked something, that would be lost with the
 * program. */
bool teller_is_used(const struct host *host);

/* ---- teller_adopt.c */
/* A request: an agent session that began without mas goes on in this agent. */
int teller_request_adopt(struct host *host, struct client *client, const struct frame *frame,
                         struct err *err);

/* ---- teller_hooks.c */
/* Writes the settings into run/<agent>.role/told/, and adds the words and variables that name
 * them. */
int teller_write_hooks(struct host *host, char ***argv, char ***env, struct err *err);

/* ---- teller_lines.c */
/* The program has another session, or is started with one. */
void lines_begin(struct host *host, enum lines_session session);
/* Reads what is new, if it is time; the second function at once. Returns when to look again. */
int64_t lines_tick(struct host *host, int64_t now);
void lines_look(struct host *host);
/* An event has told what is like a line. */
void lines_take(struct host *host, const char *text, size_t len);
/* An event has told words. Returns true if a line has told them before. Otherwise they are stored,
 * and noted by the second function with their number. */
bool lines_have_told(struct host *host, enum store_role role, const char *text);
/* Returns true if the history has this prompt: a program may write an old one anew. */
bool lines_was_asked(struct host *host, const char *text);
void lines_note(struct host *host, enum store_role role, const char *text, int64_t number);
/* Returns how many lines of this run no rule was about, or could not be read: a later version of
 * the program may write others. */
int64_t lines_passed_over(const struct host *host);
/* Returns a hash of words, but for blanks at their ends. */
int64_t lines_hash(const char *text);
/* Rows of a database of the program, which are lines of the past. */
struct lines_rows {
    char **row;
    size_t count;
    size_t counted; /* so many of them are counted as used */
    int64_t end; /* rows of the session, with those before */
    int64_t mark; /* messages up to this number need not be compared */
};
void lines_take_rows(struct host *host, const struct lines_rows *rows);
void lines_free(struct teller_lines *lines);

/* ---- teller_rows.c */
/* Reads what is new in the rows of the session, which goes on. */
void rows_read(struct host *host);

/*
 * Rules by which the lines of a program's transcript are read, each of which is a JSON object:
 *
 *     told.line.NAME = FACT WORD...
 *
 * A WORD is a condition, or MEMBER:PATH, which says where the line has a member of the fact. A PATH
 * is names joined by dots; NAME[] is each element of an array. mas.ini(5) describes them,
 * protocol/line.h applies them.
 */
#pragma once

enum {
    LINE_RULES_MAX = 32,
    LINE_WORDS_MAX = 16, /* of a rule */
};

/* What an event of a program on a terminal, or a line of its transcript, says. */
enum told_fact {
    TOLD_STARTS, /* a session of it begins, or is another one now */
    TOLD_PROMPT, /* a turn begins */
    TOLD_TOOL, /* a tool has run */
    TOLD_ASKS, /* it asks whether a tool may run, and waits */
    TOLD_DONE, /* the turn has ended well */
    TOLD_FAILED, /* it has ended with an error */
    TOLD_STOPPED, /* a person has stopped it */
    TOLD_ENDS, /* the session ends */
    TOLD_WORKS, /* it is at work, also without a turn: it makes its context smaller */
    TOLD_RESTS, /* without a turn, that is over */
    TOLD_RETRIES, /* a request to its model has failed, and it tries again in the same turn */
    TOLD_LINE, /* of an event alone: what came with it is like a line of the transcript */
    TOLD_EVENTS, /* the rest is told by lines alone: */
    TOLD_SAYS = TOLD_EVENTS, /* words of the agent */
    TOLD_USAGE, /* what a request has used */
    TOLD_JOINS, /* a prompt of the middle of a turn is taken into it */
    TOLD_QUOTA, /* how much of a window of its provider is used; the rule names the window */
    TOLD_SESSION, /* which session it is; only of one that began without mas:
                     session/outside/outside.h */
    TOLD_NOTHING, /* a line that is known and passed over; one of its conditions is enough */
    TOLD_FACT_COUNT
};
extern const char *const told_facts[]; /* "starts", "prompt" and so on */

enum line_test {
    LINE_IS, /* one of the values is the text */
    LINE_IS_NOT, /* none is */
    LINE_BEGINS, /* one begins with it */
    LINE_BEGINS_NOT, /* none does */
    LINE_IS_THERE, /* there is one, and not null */
    LINE_IS_MISSING, /* there is none */
    LINE_SAYS, /* no condition: the value is a member of the fact */
};

/* The members of facts. */
enum line_member {
    MEMBER_SESSION,
    MEMBER_TEXT, /* the prompt, or the answer */
    MEMBER_WHY,
    MEMBER_TOOL,
    MEMBER_TOOL_ID,
    MEMBER_INPUT, /* of the tool; of a fact `usage`, tokens, as the next ones */
    MEMBER_OUTPUT,
    MEMBER_THOUGHT,
    MEMBER_CACHED,
    MEMBER_CACHE_WRITE,
    MEMBER_TOTAL,
    MEMBER_USED, /* tokens in the context */
    MEMBER_WINDOW, /* that have room in it */
    MEMBER_COST, /* in USD */
    MEMBER_ONCE, /* what is counted once, although several lines tell of it */
    MEMBER_MODEL,
    MEMBER_DIRECTORY, /* that the session is about */
    MEMBER_PERCENT, /* that is used of a window */
    MEMBER_PART, /* the same from 0 to 1 */
    MEMBER_MINUTES, /* of which the window is */
    MEMBER_RESETS, /* when it begins anew, in seconds since 1970 */
    MEMBER_COUNT
};

struct line_word {
    enum line_test test;
    char **path; /* its names; "[]" is each element */
    char *text; /* of a condition; NULL: none */
    enum line_member member; /* of LINE_SAYS */
};

struct line_rule {
    char *name; /* set by the caller of line_rule_parse(); NULL: none */
    enum told_fact fact;
    bool past; /* it holds only for lines that were written while no host read them */
    struct line_word words[LINE_WORDS_MAX];
    size_t count;
};

/* Parses FACT WORD... The error says what is wrong with which word (MAS_USAGE). The caller releases
 * *ret with line_rule_free(), also on failure. */
int line_rule_parse(const char *text, struct line_rule *ret, struct err *err);
void line_rule_free(struct line_rule *rule);

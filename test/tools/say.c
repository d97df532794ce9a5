/*
 * Fills a session's memory.db as a host would, for tests that need one without an agent.
 *
 *   say WORKSPACE AGENT
 *
 * reads what is to be stored, one a line, TEXT with \n, \t, \\ and \xNN in it:
 *
 *   user TEXT        a prompt; the turn lasts until `end`
 *   agent | thought | tool | plan | permission | mode | note TEXT
 *   more TEXT        a piece of the message before
 *   data JSON        of the message before
 *   end [STOP]       of the turn; a STOP other than end_turn has failed
 *   tag KEY:VALUE    of the next prompt        sender AGENT    of the next prompt
 *   session ID OUTCOME                         of the agent
 *   clear [TEXT]     with TEXT as --then       new             conversation
 *   turns N          N times a prompt, an answer of many pieces, its end
 *   fill N           N whole messages, quickly
 *   flood N          N pieces of one message; prints how many a second
 *   full N           N whole messages, each synced; likewise
 *   kill             kills itself, as kill -9 would
 *   check            the database         dump             all that is in it, as text
 *
 * After each line that is stored it prints "ok" and the number of the message, if there is one.
 */
#include "base/time.h"
#include "memory/store.h"
#include "os/path.h"

enum { PIECES = 5 };

struct say {
    struct store *store;
    struct store_place at;
    int64_t prompt; /* of the turn; 0: none */
    int64_t last;
    char **tags;
    char *sender;
};

static int hex(char c)
{
    const char *digits = "0123456789abcdef";
    const char *at = c != '\0' ? strchr(digits, c) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

/* In place. */
static size_t decode(char *text)
{
    char *to = text;

    for (const char *p = text; *p != '\0'; p++) {
        if (*p != '\\') {
            *to++ = *p;
        } else if (*++p == 'x' && hex(p[1]) >= 0 && hex(p[2]) >= 0) {
            *to++ = (char)(hex(p[1]) * 16 + hex(p[2]));
            p += 2;
        } else {
            *to++ = *p == 'n' ? '\n' : *p == 't' ? '\t' : *p;
        }
    }
    *to = '\0';
    return (size_t)(to - text);
}

static int add(struct say *say, enum store_role role, const char *text, size_t len, struct err *err)
{
    bool prompt = role == ROLE_USER;
    struct store_message message = {.role = role,
                                    .state = MESSAGE_OPEN,
                                    .text = text,
                                    .len = len,
                                    .trigger = prompt ? 0 : say->prompt,
                                    .tags = prompt ? say->tags : NULL,
                                    .sender = prompt ? say->sender : NULL};

    /* What comes outside of a turn is whole at once. */
    if (!prompt && say->prompt == 0)
        message.state = MESSAGE_DONE;
    if (store_add(say->store, say->at.query, &message, prompt ? SYNC_FULL : SYNC_CHUNK, &say->last,
                  err) == -1)
        return -1;
    if (prompt) {
        say->prompt = say->last;
        strv_free(say->tags);
        free(say->sender);
        say->tags = NULL;
        say->sender = NULL;
    }
    return 0;
}

static int end(struct say *say, const char *stop, struct err *err)
{
    bool well = stop[0] == '\0' || strcmp(stop, "end_turn") == 0;
    int64_t prompt = say->prompt;

    say->prompt = 0;
    return store_end_turn(say->store, say->at.query, prompt, well ? "end_turn" : stop,
                          well ? MESSAGE_DONE : MESSAGE_FAILED, NULL, err);
}

static int clear(struct say *say, const char *then, size_t len, struct err *err)
{
    struct store_clear how = {
        .reason = "clear", .then_text = len > 0 ? then : NULL, .then_len = len};
    struct store_place next;

    if (store_clear(say->store, say->at.conversation, &how, &next, &say->prompt, err) == -1)
        return -1;
    store_place_free(&say->at);
    say->at = next;
    return 0;
}

static int enter(struct say *say, enum conversation_choice choice, struct err *err)
{
    store_place_free(&say->at);
    say->prompt = 0;
    return store_enter(say->store, choice, NULL, &say->at, err);
}

static int session(struct say *say, char *text, struct err *err)
{
    char *outcome = strchr(text, ' ');
    unsigned which = 0;

    if (outcome != NULL)
        *outcome++ = '\0';
    while (outcome != NULL && which < OUTCOME_INJECTED &&
           strcmp(store_outcome_name((enum store_outcome)which), outcome) != 0)
        which++;
    const struct store_agent_session session = {.id = text,
                                                .home = {.directory = "/", .machine = "-"},
                                                .program = "say 1.0",
                                                .outcome = (enum store_outcome)which};
    return store_agent_session(say->store, say->at.query, &session, err);
}

static int turns(struct say *say, int count, struct err *err)
{
    char text[64];

    for (int i = 1; i <= count; i++) {
        int len = snprintf(text, sizeof text, "question %d", i);
        if (add(say, ROLE_USER, text, (size_t)len, err) == -1 ||
            add(say, ROLE_AGENT, "", 0, err) == -1)
            return -1;
        for (int piece = 0; piece < PIECES; piece++) {
            len = snprintf(text, sizeof text, "piece %d of answer %d. ", piece, i);
            if (store_append(say->store, say->last, text, (size_t)len, err) == -1)
                return -1;
        }
        if (end(say, "", err) == -1)
            return -1;
    }
    return 0;
}

static int fill(struct say *say, long count, enum store_sync sync, struct err *err)
{
    char text[64];
    struct store_message message = {.state = MESSAGE_DONE, .text = text};
    int64_t number;

    for (long i = 1; i <= count; i++) {
        message.role = i % 2 == 1 ? ROLE_USER : ROLE_AGENT;
        message.len = (size_t)snprintf(text, sizeof text, "message %ld: some words of it", i);
        if (store_add(say->store, say->at.query, &message, sync, &number, err) == -1)
            return -1;
    }
    return 0;
}

static int flood(struct say *say, long count, struct err *err)
{
    static const char piece[] = "a piece as an agent streams it, ";

    if (add(say, ROLE_USER, "go", 2, err) == -1 || add(say, ROLE_AGENT, "", 0, err) == -1)
        return -1;
    for (long i = 0; i < count; i++) {
        if (store_append(say->store, say->last, piece, sizeof piece - 1, err) == -1)
            return -1;
    }
    return end(say, "", err);
}

static int timed(struct say *say, bool pieces, long count, struct err *err)
{
    int64_t start = time_monotonic_ms();
    int rc = pieces ? flood(say, count, err) : fill(say, count, SYNC_FULL, err);
    int64_t took = time_monotonic_ms() - start;

    printf("%lld a second\n", (long long)count * 1000 / (took > 0 ? took : 1));
    return rc;
}

static bool dump_item(const struct store_item *item, void *arg)
{
    (void)arg;
    printf("%lld query %lld %s %s %s %s: %.*s\n", (long long)item->number, (long long)item->query,
           item->agent, store_role_name(item->role), store_state_name(item->state),
           item->stop_reason != NULL ? item->stop_reason : "-", (int)item->len, item->text);
    return true;
}

static bool dump_query(const struct store_query *query, void *arg)
{
    (void)arg;
    printf("query %lld %d %s %lld%s\n", (long long)query->query, query->number, query->reason,
           (long long)query->messages, query->current ? " current" : "");
    return true;
}

static int dump(struct say *say, struct err *err)
{
    const struct store_filter all = {.agent = NULL};

    return store_queries(say->store, NULL, dump_query, NULL, err) == -1
               ? -1
               : store_read(say->store, &all, dump_item, NULL, err);
}

static int unknown(const char *word, struct err *err)
{
    return err_set(err, MAS_USAGE, "cannot say '%s': no such word", word);
}

static int run_line(struct say *say, char *line, struct err *err)
{
    char *text = strchr(line, ' ');
    enum store_role role;

    text = text != NULL ? text + 1 : line + strlen(line);
    if (text[0] != '\0')
        text[-1] = '\0';
    size_t len = decode(text);
    if (store_role_parse(line, &role))
        return add(say, role, text, len, err);
    if (strcmp(line, "more") == 0)
        return store_append(say->store, say->last, text, len, err);
    if (strcmp(line, "data") == 0)
        return store_update(say->store, say->last, NULL, 0, text, MESSAGE_OPEN, SYNC_CHUNK, err);
    if (strcmp(line, "end") == 0)
        return end(say, text, err);
    if (strcmp(line, "clear") == 0)
        return clear(say, text, len, err);
    if (strcmp(line, "new") == 0)
        return enter(say, CHOICE_NEW, err);
    if (strcmp(line, "session") == 0)
        return session(say, text, err);
    if (strcmp(line, "turns") == 0)
        return turns(say, (int)strtol(text, NULL, 10), err);
    if (strcmp(line, "fill") == 0)
        return fill(say, strtol(text, NULL, 10), SYNC_CHUNK, err);
    if (strcmp(line, "flood") == 0 || strcmp(line, "full") == 0)
        return timed(say, line[1] == 'l', strtol(text, NULL, 10), err);
    if (strcmp(line, "kill") == 0)
        return kill(getpid(), SIGKILL);
    if (strcmp(line, "check") == 0)
        return store_check(say->store, err);
    if (strcmp(line, "dump") == 0)
        return dump(say, err);
    if (strcmp(line, "tag") == 0) {
        strv_push(&say->tags, text);
    } else if (strcmp(line, "sender") == 0) {
        free(say->sender);
        say->sender = mem_dup(text);
    } else {
        return unknown(line, err);
    }
    return 0;
}

static int run(struct say *say, struct err *err)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    int rc = 0;

    while (rc == 0 && (n = getline(&line, &room, stdin)) > 0) {
        if (line[n - 1] == '\n')
            line[n - 1] = '\0';
        say->last = line[0] == 'm' || line[0] == 'd' ? say->last : 0;
        rc = run_line(say, line, err);
        if (rc == 0) {
            printf("ok %lld\n", (long long)say->last);
            (void)fflush(stdout);
        }
    }
    free(line);
    return rc;
}

int main(int argc, char **argv)
{
    struct say say = {.store = NULL};
    struct err err = ERR_INIT;

    if (argc != 3) {
        (void)fprintf(stderr, "usage: say WORKSPACE AGENT\n");
        return MAS_USAGE;
    }
    _cleanup_close_ int dir = path_open_dir(AT_FDCWD, argv[1]);
    const char *slash = strrchr(argv[1], '/');
    int rc = store_open(dir, slash != NULL ? slash + 1 : argv[1], argv[2], true, &say.store, &err);
    if (rc == 0)
        rc = enter(&say, CHOICE_CURRENT, &err);
    if (rc == 0)
        rc = run(&say, &err);
    if (rc == -1)
        err_print(&err);
    store_place_free(&say.at);
    strv_free(say.tags);
    free(say.sender);
    store_close(say.store);
    return rc == 0 ? 0 : err.code;
}

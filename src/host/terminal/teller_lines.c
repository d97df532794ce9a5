/*
 * The transcript of a program on a terminal: each of its lines is tried by the rules of the preset
 * (told.line.NAME), and what it says becomes words, usage, and facts as an event does.
 *
 * What an event and a line both tell counts once. Lines that were written before this run, which a
 * kill has kept from being read, and those of a session that was left and comes back, belong to the
 * past: they change no state, and are compared with the history. How far a file was read is in
 * memory.db, together with what it has added to the usage, so that a kill at any point loses and
 * doubles nothing.
 */
#include "host/terminal/teller.h"

#include "base/time.h"
#include "host/talk/budget.h"
#include "host/talk/event.h"
#include "host/talk/memory.h"
#include "host/talk/quota.h"
#include "host/talk/said.h"
#include "host/talk/turn.h"
#include "host/talk/usage.h"
#include "host/terminal/terminal.h"
#include "host/unwritten.h"
#include "protocol/host.h"

enum {
    LOOK_MS = 200,
    LATE_MS = 5000, /* so long behind the newest sign of life lines may still come */
    WORDS_MAX = 64, /* that wait to be told again */
    PAST_WORDS_MAX = 65536, /* the same of the store */
    PAST_LOOKS = 16, /* at a start, before the program runs */
    QUOTE_MAX = 2000,
    UNFIT_MIN = 100, /* lines, none of which is known */
};

static struct teller_lines *lines_of(const struct host *host)
{
    return &host->terminal->teller->lines;
}

/* ---- words that are told twice */

int64_t lines_hash(const char *text)
{
    size_t len = strlen(text);

    while (len > 0 && strchr(" \t\r\n", text[0]) != NULL)
        text++, len--;
    while (len > 0 && strchr(" \t\r\n", text[len - 1]) != NULL)
        len--;
    return transcript_hash(text, len);
}

static void drop_words(struct teller_lines *lines, size_t i)
{
    lines->word_count--;
    memmove(&lines->words[i], &lines->words[i + 1], (lines->word_count - i) * sizeof *lines->words);
}

static void add_words(struct teller_lines *lines, const struct lines_words *words, size_t most)
{
    if (lines->word_count == most)
        drop_words(lines, 0);
    lines->words = mem_room(lines->words, lines->word_count, sizeof *lines->words);
    lines->words[lines->word_count++] = *words;
}

/* Finds words that the other side has told. Returns false if there are none; else they are dropped,
 * and *ret has them. */
static bool take_words(struct teller_lines *lines, enum store_role role, bool by_line,
                       const char *text, struct lines_words *ret)
{
    int64_t hash = lines_hash(text);

    for (size_t i = 0; i < lines->word_count; i++) {
        const struct lines_words *words = &lines->words[i];
        if (words->role != role || words->by_line != by_line || words->hash != hash)
            continue;
        *ret = *words;
        drop_words(lines, i);
        return true;
    }
    return false;
}

bool lines_have_told(struct host *host, enum store_role role, const char *text)
{
    struct lines_words words;

    return take_words(lines_of(host), role, true, text, &words);
}

void lines_note(struct host *host, enum store_role role, const char *text, int64_t number)
{
    struct teller_lines *lines = lines_of(host);
    const struct lines_words words = {.role = role, .hash = lines_hash(text), .number = number};

    if (host->preset->told.line_count == 0)
        return;
    if (role == ROLE_USER) {
        lines->prompt = number;
        lines->done = false;
    }
    for (size_t i = lines->word_count; role == ROLE_USER && i-- > 0;)
        if (lines->words[i].by_line)
            drop_words(lines, i); /* no event has told them in their turn */
    add_words(lines, &words, WORDS_MAX);
}

static bool load_words(const struct store_item *item, void *arg)
{
    struct teller_lines *lines = arg;
    const struct lines_words words = {
        .role = item->role,
        .hash = lines_hash(item->role == ROLE_TOOL && item->key != NULL ? item->key : item->text),
        .number = item->number,
        .cut = item->role == ROLE_USER && item->state == MESSAGE_INTERRUPTED,
    };

    add_words(lines, &words, PAST_WORDS_MAX);
    return true;
}

/* Reads what the store has of what the lines of the past may tell. */
static void load_past(struct host *host, int64_t mark)
{
    struct teller_lines *lines = lines_of(host);
    struct store *store = host->talk->memory.store;
    const struct store_filter newest = {
        .agent = host->agent->id, .roles = 1U << ROLE_USER, .newest = true, .limit = 1};
    const struct store_filter filter = {
        .agent = host->agent->id,
        .roles = 1U << ROLE_USER | 1U << ROLE_AGENT | 1U << ROLE_TOOL,
        .after = mark,
    };
    struct err err = ERR_INIT;

    if (lines->loaded)
        return;
    lines->loaded = true;
    (void)memory_kept(host, store_read(store, &newest, load_words, lines, &err), &err);
    if (lines->word_count > 0) { /* lines without a prompt go on with it */
        lines->past_prompt = lines->words[lines->word_count - 1].number;
        lines->past_cut = lines->words[lines->word_count - 1].cut;
    }
    lines->word_count = 0;
    (void)memory_kept(host, store_read(store, &filter, load_words, lines, &err), &err);
}

struct was_asked {
    int64_t hash;
    bool found;
};

static bool compare_asked(const struct store_item *item, void *arg)
{
    struct was_asked *asked = arg;

    asked->found = lines_hash(item->text) == asked->hash;
    return !asked->found;
}

bool lines_was_asked(struct host *host, const char *text)
{
    const struct store_filter filter = {.agent = host->agent->id, .roles = 1U << ROLE_USER};
    struct was_asked asked = {.hash = lines_hash(text)};
    struct err err = ERR_INIT;

    (void)memory_kept(
        host, store_read(host->talk->memory.store, &filter, compare_asked, &asked, &err), &err);
    return asked.found;
}

/* ---- what lines say */

/* Stores words of the agent that came outside of a turn of this run. */
static void add_late(struct host *host, const char *text, int64_t trigger)
{
    const struct store_message message = {.role = ROLE_AGENT,
                                          .state = MESSAGE_DONE,
                                          .text = text,
                                          .len = strlen(text),
                                          .trigger = trigger};

    int64_t number = memory_add(host, &message);
    event_tell_text(host, "text", number, 0, text, message.len);
}

static void take_says(struct host *host, const char *text)
{
    struct teller_lines *lines = lines_of(host);
    struct lines_words words = {.role = ROLE_AGENT, .by_line = true};

    lines->done = false;
    if (text == NULL || text[0] == '\0' || take_words(lines, ROLE_AGENT, false, text, &words))
        return;
    if (lines->is_past) {
        add_late(host, text, lines->past_prompt);
    } else if (host->talk->turn.on) {
        said_text(host, ROLE_AGENT, text, strlen(text));
        said_close_text(host);
    } else {
        add_late(host, text, lines->prompt);
    }
    words.hash = lines_hash(text);
    add_words(lines, &words, lines->is_past ? PAST_WORDS_MAX : WORDS_MAX);
}

/* Returns what of these counts is new, and keeps the highest. */
static struct token_counts count_once(struct lines_file *file, const struct line_told *line)
{
    struct token_counts more = line->usage.tokens;
    size_t i = 0;

    if (line->usage.once == NULL)
        return more;
    int64_t hash = transcript_hash(line->usage.once, strlen(line->usage.once));
    while (i < file->once_count && file->once[i].hash != hash)
        i++;
    if (i == file->once_count) {
        if (file->once_count == LINES_ONCE_MAX)
            memmove(file->once, file->once + 1, --file->once_count * sizeof *file->once);
        file->once[file->once_count++] = (struct lines_once){.hash = hash, .tokens = more};
        return more;
    }
    for (size_t kind = 0; kind < TOKEN_KIND_COUNT; kind++) {
        int64_t *known = &file->once[i].tokens.of[kind];
        int64_t now = more.of[kind];
        more.of[kind] = now > *known ? now - (*known > 0 ? *known : 0) : -1;
        *known = now > *known ? now : *known;
    }
    return more;
}

static void take_usage(struct host *host, struct lines_file *file, const struct line_told *line)
{
    struct store_spending *spending = &lines_of(host)->more;
    size_t known = file->once_count;
    int64_t newest = known > 0 ? file->once[known - 1].hash : 0;
    const struct token_counts more = count_once(file, line);
    bool is_new = line->usage.once == NULL || file->once_count > known ||
                  file->once[file->once_count - 1].hash != newest;

    token_counts_add(&spending->tokens, &more);
    if (is_new && line->usage.cost.currency[0] != '\0') {
        spending->cost.micro = money_sum(spending->cost.micro, line->usage.cost.micro);
        memcpy(spending->cost.currency, line->usage.cost.currency, sizeof spending->cost.currency);
    }
    if (line->usage.used != -1)
        spending->used = line->usage.used;
    if (line->usage.window != -1)
        spending->size = line->usage.window;
    if (line->usage.model != NULL && line->usage.model[0] != '\0' &&
        strlen(line->usage.model) <= TEAM_MODEL_MAX) {
        free(lines_of(host)->model);
        lines_of(host)->model = mem_dup(line->usage.model);
        spending->model = lines_of(host)->model;
    }
}

/* ---- the past */

static void end_past(struct host *host, const char *stop_reason, const char *why)
{
    struct teller_lines *lines = lines_of(host);

    if (lines->past_prompt == 0 || !lines->past_cut)
        return;
    lines->past_cut = false;
    memory_end_prompt(host, lines->past_prompt, stop_reason, why);
    enum store_state state = memory_end_state(stop_reason);
    attention_turn_ended(host,
                         state == MESSAGE_DONE     ? TURN_DONE
                         : state == MESSAGE_FAILED ? TURN_FAILED
                                                   : TURN_STOPPED,
                         why);
}

static void take_past_prompt(struct host *host, const char *text)
{
    struct teller_lines *lines = lines_of(host);
    struct lines_words words = {.number = 0};

    if (text == NULL || text[0] == '\0')
        return;
    bool is_stored = take_words(lines, ROLE_USER, false, text, &words);
    if (!is_stored && lines_was_asked(host, text))
        return;
    if (!is_stored)
        memory_say(host, true, "the program says that it was asked: %.*s",
                   (int)str_fit(text, QUOTE_MAX), text);
    lines->past_prompt = words.number;
    lines->past_cut = words.cut;
}

static void take_past(struct host *host, enum told_fact fact, const struct hook_told *told)
{
    struct teller_lines *lines = lines_of(host);
    struct lines_words words;

    switch (fact) {
    case TOLD_JOINS:
        end_past(host, "end_turn", NULL); /* what follows is the answer to both */
        /* fallthrough */
    case TOLD_PROMPT:
        take_past_prompt(host, told->prompt);
        break;
    case TOLD_TOOL:
        if (told->tool_id != NULL && !take_words(lines, ROLE_TOOL, false, told->tool_id, &words))
            lines->add_tool(host, told, lines->past_prompt);
        break;
    case TOLD_DONE:
        if (told->answer != NULL && !take_words(lines, ROLE_AGENT, true, told->answer, &words))
            take_says(host, told->answer);
        end_past(host, "end_turn", NULL);
        break;
    case TOLD_FAILED:
        end_past(host, HOST_END_FAILED, told->error);
        break;
    case TOLD_STOPPED:
        end_past(host, "cancelled", NULL);
        break;
    default:
        break;
    }
}

/* ---- a line */

/* Of a program that runs no hook in this run, lines tell all. A question has a line only if no
 * event tells it. */
static bool is_told_by_event(const struct host *host, enum told_fact fact)
{
    const struct kv *events = &host->preset->told.events;

    for (size_t i = 0; i < events->count && host->terminal->teller->heard && fact != TOLD_ASKS; i++)
        if (strcmp(events->pairs[i].value, told_facts[fact]) == 0)
            return true;
    return false;
}

/* Takes a fact that no event tells, though one may come a little later. */
static void take_live(struct host *host, enum told_fact fact, const struct hook_told *told)
{
    struct teller_lines *lines = lines_of(host);
    struct lines_words words;

    lines->take(host, fact, told);
    if (fact != TOLD_PROMPT || told->prompt == NULL ||
        !take_words(lines, ROLE_USER, false, told->prompt, &words))
        return;
    words.by_line = true;
    add_words(lines, &words, WORDS_MAX);
}

/* Returns true if it is said only that what was asked is answered, which no end of a tool tells in
 * time. */
static bool goes_on(enum told_fact fact, const struct hook_told *told)
{
    return fact == TOLD_TOOL && told->tool == NULL;
}

static void take(struct host *host, struct lines_file *file, const struct line_rule *rule,
                 const struct line_told *line)
{
    enum told_fact fact = rule->fact;
    struct lines_words words;

    if (fact == TOLD_USAGE && lines_of(host)->counted)
        return;
    if (lines_of(host)->is_anew && fact != TOLD_STOPPED)
        return;
    if (fact == TOLD_USAGE)
        take_usage(host, file, line);
    else if (fact == TOLD_QUOTA && !lines_of(host)->is_past)
        quota_told(host, rule, line);
    else if (fact == TOLD_SAYS)
        take_says(host, line->told.answer);
    else if (lines_of(host)->is_past)
        take_past(host, fact, &line->told);
    else if (!is_told_by_event(host, fact) || goes_on(fact, &line->told))
        take_live(host, fact, &line->told);
    else if (fact == TOLD_PROMPT && line->told.prompt != NULL &&
             !take_words(lines_of(host), ROLE_USER, false, line->told.prompt, &words) &&
             lines_of(host)->is_kept(host, line->told.prompt)) {
        lines_of(host)->take(host, fact, &line->told);
        (void)take_words(lines_of(host), ROLE_USER, false, line->told.prompt, &words);
    } else if (fact == TOLD_DONE) {
        lines_of(host)->done = true;
    }
}

struct line_reading {
    struct host *host;
    struct lines_file *file;
};

static void take_line(const char *text, size_t len, void *arg)
{
    const struct line_reading *reading = arg;
    struct lines_file *file = reading->file;
    struct host *host = reading->host;
    const struct preset_told *told = &host->preset->told;
    struct teller_lines *lines = lines_of(host);
    _cleanup_json_ struct json *json = NULL;
    struct err err = ERR_INIT;
    bool is_known = false, may = false;

    lines->is_past = file->read.offset < file->past;
    lines->is_anew = file->anew;
    file->anew = false;
    for (size_t i = 0; i < told->line_count && !may; i++)
        may = told->lines[i].fact != TOLD_SESSION && line_may_apply(&told->lines[i], text, len);
    if (may &&
        (json_parse(text, len, TRANSCRIPT_LINE_MAX, &json, &err) == -1 || !json_is_object(json))) {
        lines->damaged++;
        return;
    }
    for (size_t i = 0; i < told->line_count && may; i++) {
        _cleanup_line_ struct line_told line = {.owned = NULL};
        if (told->lines[i].fact == TOLD_SESSION || !line_apply(&told->lines[i], json, &line))
            continue;
        is_known = true;
        if (told->lines[i].fact != TOLD_NOTHING && (!told->lines[i].past || lines->is_past))
            take(host, file, &told->lines[i], &line);
    }
    lines->known += is_known ? 1 : 0;
    lines->unknown += is_known ? 0 : 1;
}

/* ---- files */

/* Keeps where the reading has come to, with what it adds. */
static void keep(struct host *host, struct lines_file *file)
{
    struct teller_lines *lines = lines_of(host);
    struct store_transcript at = {
        .agent_session = host->terminal->teller->id,
        .file = file->name,
        .offset = file->read.offset,
        .tail = file->read.tail,
        .once = file->once_count > 0 ? file->once[file->once_count - 1].hash : 0,
        .mark = -1,
    };

    for (size_t i = 0; i < lines->word_count; i++) {
        const struct lines_words *words = &lines->words[i];
        if (!words->by_line && words->number > 0 &&
            (at.mark == -1 || words->number <= at.mark)) /* a line may still tell it */
            at.mark = words->number - 1;
    }
    usage_step(host, &at, &lines->more);
    if (!host->talk->turn.on && token_counts_all(&lines->more.tokens) != -1)
        budget_look(host, true); /* the turn has ended before its last line was there */
    lines->more =
        (struct store_spending){.tokens = token_counts_none(), .used = -1, .size = -1, .model = ""};
}

/* Goes on where the store says. */
static void go_on(struct lines_file *file, const struct store_transcript *at)
{
    file->read = (struct transcript){.offset = at->offset, .tail = at->tail};
    if (at->once == 0)
        return;
    file->once[file->once_count++].hash = at->once;
    for (size_t i = 0; i < TOKEN_KIND_COUNT; i++)
        file->once[0].tokens.of[i] = TOKENS_MAX;
}

/* Finds a file by its name. A new one goes on where the store says. */
static struct lines_file *know_file(struct host *host, const char *name, int fd)
{
    struct teller_lines *lines = lines_of(host);
    struct store *store = host->talk->memory.store;
    struct store_transcript at = {.offset = 0};
    struct err err = ERR_INIT;
    struct stat st;

    for (size_t i = 0; i < lines->file_count; i++)
        if (strcmp(lines->files[i].name, name) == 0)
            return &lines->files[i];
    if (lines->file_count == LINES_FILES_MAX || fstat(fd, &st) == -1)
        return NULL;
    int rc = store_transcript_read(store, host->terminal->teller->id, name, &at, &err);
    if (!memory_kept(host, rc == -1 ? -1 : 0, &err))
        return NULL;
    lines->files = mem_room(lines->files, lines->file_count, sizeof *lines->files);
    struct lines_file *file = &lines->files[lines->file_count++];
    *file = (struct lines_file){.name = mem_dup(name),
                                .past = lines->session != LINES_NEW ? st.st_size : 0};
    go_on(file, &at);
    if (rc == 0 && lines->session == LINES_ENTERED) {
        transcript_skip_all(&file->read, fd);
        keep(host, file);
    }
    if (file->past > file->read.offset)
        load_past(host, at.mark);
    return file;
}

/* A program that takes a prompt back whose turn is stopped may write its transcript anew, and say
 * so at its end alone. */
static void take_last(struct line_reading *reading, int fd)
{
    struct lines_file *file = reading->file;

    file->past = 0;
    file->anew = transcript_skip_to_last(&file->read, fd);
    (void)transcript_read(&file->read, fd, take_line, reading);
}

/* Reads what a file has, at most as much as one look reads. Returns true if there may be more. */
static bool look_at(struct host *host, const char *path)
{
    const char *slash = strrchr(path, '/');
    _cleanup_close_ int fd = teller_open_file(host, path);
    struct stat st;

    if (fd == -1 || fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))
        return false;
    struct lines_file *file = know_file(host, slash != NULL ? slash + 1 : path, fd);
    if (file == NULL)
        return false;
    enum transcript_found found = transcript_look(&file->read, fd);
    if (found == TRANSCRIPT_SAME)
        return false;
    lines_of(host)->moved = time_monotonic_ms();
    bool more = false;
    struct line_reading reading = {.host = host, .file = file};
    if (found == TRANSCRIPT_NEW) {
        int64_t before = file->read.offset;
        more = transcript_read(&file->read, fd, take_line, &reading);
        if (file->read.offset == before)
            return more; /* a part of a line */
    } else {
        _cleanup_free_ char *words = mem_printf(
            "its transcript '%s' is another file now: of what it has only the end is read", path);
        host_log(host, words);
        if (lines_of(host)->session == LINES_NEW)
            take_last(&reading, fd);
    }
    keep(host, file);
    return more;
}

static bool look_once(struct host *host)
{
    const struct preset_told *told = &host->preset->told;
    const struct teller *teller = host->terminal->teller;
    bool more = false;

    if (told->line_count == 0 || teller->id[0] == '\0' || host->talk->memory.store == NULL ||
        unwritten_is_full(host))
        return false;
    _cleanup_strv_ char **paths = teller_find_files(
        host, told->transcript != NULL ? told->transcript : told->kept, teller->id, 0);
    for (char **path = paths; path != NULL && *path != NULL; path++)
        more = look_at(host, *path) || more;
    return more;
}

void lines_take(struct host *host, const char *text, size_t len)
{
    struct lines_file *told = &lines_of(host)->told;
    struct line_reading reading = {.host = host, .file = told};

    if (host->talk->memory.store == NULL || host->terminal->teller->id[0] == '\0')
        return;
    take_line(text, len, &reading);
    keep(host, told);
}

void lines_take_rows(struct host *host, const struct lines_rows *rows)
{
    struct teller_lines *lines = lines_of(host);
    struct line_reading reading = {.host = host, .file = &lines->told};

    load_past(host, rows->mark);
    lines->told.past = INT64_MAX;
    for (size_t i = 0; i < rows->count; i++) {
        lines->counted = i < rows->counted;
        take_line(rows->row[i], strlen(rows->row[i]), &reading);
    }
    lines->counted = false;
    lines->told.past = 0;
    lines->told.read.offset = rows->end;
    keep(host, &lines->told);
    lines->word_count = 0;
    lines->loaded = false;
}

/* When all lines of the past are read, what they have not told again is older. */
static void leave_past(struct teller_lines *lines)
{
    for (size_t i = 0; i < lines->file_count; i++)
        if (lines->files[i].read.offset < lines->files[i].past)
            return;
    if (lines->loaded)
        lines->word_count = 0;
    lines->loaded = false;
}

/* Returns how many lines could not be read: damaged, or too long. */
static int64_t count_damaged(const struct teller_lines *lines)
{
    int64_t wrong = lines->damaged;

    for (size_t i = 0; i < lines->file_count; i++)
        wrong += lines->files[i].read.too_long;
    return wrong;
}

int64_t lines_passed_over(const struct host *host)
{
    const struct teller_lines *lines = lines_of(host);

    return lines->unknown + count_damaged(lines);
}

/* Says once in the log that lines are damaged or too long, or that the rules do not fit: a later
 * version of the program may write others. */
static void say_doubts(struct host *host)
{
    struct teller_lines *lines = lines_of(host);
    bool fits = lines->known > 0 || lines->unknown < UNFIT_MIN;

    if (lines->doubts || (count_damaged(lines) == 0 && fits))
        return;
    lines->doubts = true;
    _cleanup_free_ char *words =
        !fits ? mem_printf("no rule told.line of preset '%s' is about any line of its transcript",
                           host->preset->name)
              : mem_dup("lines of its transcript are passed over: damaged, or of more than 4 MiB");
    host_log(host, words);
}

void lines_look(struct host *host)
{
    struct teller_lines *lines = lines_of(host);

    lines->look_at = time_monotonic_ms() + (look_once(host) ? 0 : LOOK_MS);
    leave_past(lines);
    say_doubts(host);
}

int64_t lines_tick(struct host *host, int64_t now)
{
    struct teller_lines *lines = lines_of(host);
    const struct teller *teller = host->terminal->teller;

    if (host->preset->told.line_count == 0 || host->child.phase != CHILD_RUNS)
        return -1;
    int64_t quiet = time_epoch_ms() - host->output_ms;
    bool may_come = host->talk->turn.on || teller->state == AGENT_WORKING ||
                    teller->state == AGENT_WAITING || quiet < LATE_MS ||
                    now - lines->moved < LATE_MS;
    if (!may_come)
        return -1;
    if (now >= lines->look_at)
        lines_look(host);
    return lines->look_at;
}

/* ---- sessions */

static void forget_files(struct teller_lines *lines)
{
    for (size_t i = 0; i < lines->file_count; i++)
        free(lines->files[i].name);
    lines->file_count = 0;
}

/* What is told has a place in the store as a file has. */
static void begin_told(struct host *host)
{
    struct store *store = host->talk->memory.store;
    struct store_transcript at = {.offset = 0};
    struct err err = ERR_INIT;

    lines_of(host)->told = (struct lines_file){.name = (char *)""};
    if (store == NULL || host->terminal->teller->id[0] == '\0')
        return;
    int rc = store_transcript_read(store, host->terminal->teller->id, "", &at, &err);
    if (memory_kept(host, rc == -1 ? -1 : 0, &err))
        go_on(&lines_of(host)->told, &at);
}

void lines_begin(struct host *host, enum lines_session session)
{
    struct teller_lines *lines = lines_of(host);

    forget_files(lines);
    begin_told(host);
    lines->word_count = 0;
    lines->loaded = false;
    lines->past_prompt = 0;
    lines->past_cut = false;
    lines->session = session;
    if (host->preset->told.line_count > 0)
        usage_entered(host, host->terminal->teller->id, session == LINES_NEW);
    lines->more =
        (struct store_spending){.tokens = token_counts_none(), .used = -1, .size = -1, .model = ""};
    for (int i = 0; i < PAST_LOOKS && look_once(host); i++)
        ;
    lines->session = LINES_NEW; /* a file that comes now is */
    leave_past(lines);
}

void lines_free(struct teller_lines *lines)
{
    forget_files(lines);
    free(lines->files);
    free(lines->words);
    free(lines->model);
}

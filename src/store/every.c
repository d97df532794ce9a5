/*
 * A change reads the file again under the metadata lock and writes it whole, with one entry other
 * than before. every_members is what an entry shows, own_members what only the file has. On a full
 * disk the reserve of the session makes room to record a run. A damaged file stops whoever adds or
 * changes an entry, but no agent from leaving and no session from arriving.
 */

#include "store/every.h"

#include "model/message.h"
#include "os/file.h"
#include "os/path.h"
#include "store/reserve.h"
#include "store/workspace.h"

enum { NUMBERS_MAX = 64 }; /* bytes of EVERY_NUMBERS */

#define COUNT_MAX (INT64_C(1) << 50)

static const char *const kinds[] = {"calendar", "span", "at", "after", "goal", "watch", NULL};

static bool fits_text(const char *text)
{
    return message_check(text, strlen(text)) == NULL;
}

static bool fits_agent(const char *text)
{
    return str_is_word(text, TEAM_WORD_MAX);
}

static const struct value_type number_type = {VALUE_NUMBER, .min = 1, .max = COUNT_MAX};
static const struct value_type count_type = {VALUE_NUMBER, .max = COUNT_MAX};
static const struct value_type time_type = {VALUE_MS, .max = INT64_C(1) << 50};
static const struct value_type kind_type = {VALUE_WORD, "a kind", .words = kinds};
static const struct value_type when_type = {VALUE_TEXT, .min = 1, .max = TEAM_COMMAND_MAX,
                                            .line = true};
static const struct value_type agent_type = {VALUE_CHARS, .min = 1, .fits = fits_agent};
static const struct value_type text_type = {VALUE_TEXT, .min = 1, .max = EVERY_TEXT_MAX,
                                            .fits = fits_text};
static const struct value_type why_type = {VALUE_TEXT, .max = EVERY_WHY_MAX, .fits = fits_text};
static const struct value_type word_type = {VALUE_TEXT, .max = 80, .line = true};
static const struct value_type data_type = {VALUE_TEXT, .max = EVERY_DATA_MAX, .fits = fits_text};

const struct member every_members[] = {
    {MEMBER("number", number_type, struct every_entry, number), .how = MEMBER_NEEDED},
    {MEMBER("kind", kind_type, struct every_entry, kind), .how = MEMBER_NEEDED},
    {MEMBER("when", when_type, struct every_entry, when), .how = MEMBER_NEEDED},
    {MEMBER("agent", agent_type, struct every_entry, agent), .how = MEMBER_NEEDED},
    {MEMBER("text", text_type, struct every_entry, text), .how = MEMBER_NEEDED},
    {MEMBER("madeMs", time_type, struct every_entry, made_ms), .how = MEMBER_SAID},
    {MEMBER("nextMs", time_type, struct every_entry, next_ms), .how = MEMBER_SAID},
    {MEMBER("ranMs", time_type, struct every_entry, ran_ms), .how = MEMBER_SAID},
    {MEMBER("lateSeconds", count_type, struct every_entry, late), .how = MEMBER_SAID},
    {MEMBER("runs", count_type, struct every_entry, runs)},
    {MEMBER("skipped", count_type, struct every_entry, skipped)},
    {MEMBER("prompt", count_type, struct every_entry, prompt), .how = MEMBER_SAID},
    {MEMBER("why", why_type, struct every_entry, why)},
    {MEMBER("over", word_type, struct every_entry, over), .how = MEMBER_SAID},
    {MEMBER("budget", word_type, struct every_entry, budget), .how = MEMBER_SAID},
    {MEMBER("roundsMax", count_type, struct every_entry, rounds_max), .how = MEMBER_SAID},
    {MEMBER("untilMs", time_type, struct every_entry, until_ms), .how = MEMBER_SAID},
    MEMBER_END,
};

/* What only the file has. */
static const struct member own_members[] = {
    {MEMBER("start", value_yes, struct every_entry, start), .how = MEMBER_NEEDED},
    {MEMBER("paused", value_yes, struct every_entry, paused), .how = MEMBER_NEEDED},
    {MEMBER("seen", count_type, struct every_entry, seen), .how = MEMBER_SAID},
    {MEMBER("givenMs", time_type, struct every_entry, given_ms), .how = MEMBER_SAID},
    {MEMBER("data", data_type, struct every_entry, data), .how = MEMBER_SAID},
    MEMBER_END,
};

void every_entry_free(struct every_entry *entry)
{
    members_free(every_members, entry);
    members_free(own_members, entry);
}

void every_free(struct every *every)
{
    for (size_t i = 0; i < every->count; i++)
        every_entry_free(&every->at[i]);
    free(every->at);
    *every = (struct every)EVERY_INIT;
}

struct every_entry *every_find(const struct every *every, int64_t number)
{
    for (size_t i = 0; i < every->count; i++)
        if (every->at[i].number == number)
            return &every->at[i];
    return NULL;
}

const char *every_kind_name(const struct every_entry *entry)
{
    return kinds[entry->kind];
}

bool every_is_errand(const struct every_entry *entry)
{
    return entry->kind >= EVERY_GOAL;
}

bool every_needs_tick(const struct every_entry *entry)
{
    return entry->over[0] == '\0' && !entry->paused;
}

bool every_goes_on(const struct every_entry *entry)
{
    return every_is_errand(entry) && every_needs_tick(entry);
}

bool every_has_failed(const struct every_entry *entry)
{
    if (entry->over[0] != '\0')
        return strcmp(entry->over, "passed") != 0 && strcmp(entry->over, "merged") != 0;
    return entry->kind != EVERY_WATCH && entry->why[0] != '\0' &&
           strcmp(entry->why, EVERY_SKIPPED) != 0;
}

/* ---- the files */

static int fail_damaged(const char *what, struct err *err)
{
    (void)err_set(err, MAS_DAMAGED, "cannot read '" EVERY_FILE "': %s", what);
    return err_hint(err, "mend it, or remove it: its entries are lost then");
}

static int read_entries(const struct json *file, struct every *to, struct err *err)
{
    if (!json_is_array(json_get(file, "entries")))
        return fail_damaged("it has no list of entries", err);
    for (const struct json *it = json_first(json_get(file, "entries")); it != NULL;
         it = json_next(it)) {
        if (to->count == EVERY_MAX)
            return fail_damaged("it has too many entries", err);
        to->at = mem_room(to->at, to->count, sizeof *to->at);
        struct every_entry *entry = &to->at[to->count++];
        *entry = (struct every_entry){.number = 0};
        members_fill(every_members, entry);
        members_fill(own_members, entry);
        const struct member *wrong = members_read(every_members, it, entry);
        wrong = wrong != NULL ? wrong : members_read(own_members, it, entry);
        if (wrong != NULL) {
            _cleanup_free_ char *what = mem_printf("entry %zu, '%s'", to->count, wrong->key);
            return fail_damaged(what, err);
        }
    }
    return 0;
}

int every_read(int dir, struct every *ret, struct err *err)
{
    _cleanup_free_ char *text = NULL;
    _cleanup_json_ struct json *file = NULL;
    _cleanup_every_ struct every every = EVERY_INIT;
    struct err why = ERR_INIT;
    size_t len = 0;

    int there = file_read_if_there(dir, EVERY_FILE, EVERY_FILE_MAX, &text, &len, &why);
    if (there == -1 && !file_is_wrong(&why)) {
        *err = why;
        return -1;
    }
    if (there == -1 || (there == 1 && json_parse(text, len, EVERY_FILE_MAX, &file, &why) == -1))
        return fail_damaged(why.text, err);
    if (there == 1 && read_entries(file, &every, err) == -1)
        return -1;
    *ret = every;
    every = (struct every)EVERY_INIT;
    return 0;
}

static int write_entries(int dir, const struct every *every, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};
    struct err why = ERR_INIT;

    if (every->count == 0 && unlinkat(dir, EVERY_FILE, 0) == -1 && errno != ENOENT)
        return err_errno(err, "cannot remove '" EVERY_FILE "'");
    if (every->count == 0)
        return file_sync_dir(dir, err);
    json_open(&out, NULL, '{');
    json_open(&out, "entries", '[');
    for (size_t i = 0; i < every->count; i++) {
        json_open(&out, NULL, '{');
        members_put(every_members, &every->at[i], &out);
        members_put(own_members, &every->at[i], &out);
        json_close(&out, '}');
    }
    json_close(&out, ']');
    json_close(&out, '}');
    str_addc(&text, '\n');
    if (file_replace(dir, EVERY_FILE, text.data, text.len, 0600, &why) == 0 ||
        (reserve_give(dir, RESERVE_RECORD, &why) &&
         file_replace(dir, EVERY_FILE, text.data, text.len, 0600, &why) == 0))
        return 0;
    *err = why;
    return -1;
}

/* ---- the environment */

static int write_env(int dir, char *const *env, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;

    for (; *env != NULL; env++)
        str_addn(&text, *env, strlen(*env) + 1);
    if (text.len > EVERY_ENV_MAX)
        return err_set(err, MAS_FAILED, "the environment is too large");
    return file_replace(dir, EVERY_ENV, str_text(&text), text.len, 0600, err);
}

void every_put_data(struct every_entry *entry, const struct member *members, const void *record)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    json_open(&out, NULL, '{');
    members_put(members, record, &out);
    json_close(&out, '}');
    free(entry->data);
    entry->data = str_steal(&text);
}

int every_read_data(const struct every_entry *entry, const struct member *members, void *record,
                    struct err *err)
{
    _cleanup_json_ struct json *data = NULL;

    members_fill(members, record);
    if (json_parse(entry->data, strlen(entry->data), EVERY_DATA_MAX, &data, err) == -1)
        return err_wrap(err, "cannot read the data of entry %" PRId64, entry->number);
    const struct member *wrong = members_read(members, data, record);
    return wrong == NULL
               ? 0
               : err_set(err, MAS_DAMAGED, "the data of entry %" PRId64 " has no good '%s'",
                         entry->number, wrong->key);
}

int every_env(int dir, char ***ret, struct err *err)
{
    _cleanup_free_ char *text = NULL;
    _cleanup_strv_ char **env = NULL;
    size_t len = 0;

    *ret = NULL;
    int there = file_read_if_there(dir, EVERY_ENV, EVERY_ENV_MAX, &text, &len, err);
    if (there != 1)
        return there;
    for (const char *p = text; p < text + len; p += strlen(p) + 1)
        strv_push(&env, p);
    *ret = TAKE_PTR(env);
    return 0;
}

/* ---- numbers */

int every_sessions(const struct root *root, char ***ret, struct err *err)
{
    _cleanup_strv_ char **names = NULL;

    *ret = NULL;
    if (path_list_in(root->sessions, ".", &names, err) == -1)
        return -1;
    for (char **name = names; name != NULL && *name != NULL; name++) {
        _cleanup_free_ char *file = mem_printf("%s/" EVERY_FILE, *name);
        struct stat st;
        if (id_is_valid(*name) && fstatat(root->sessions, file, &st, AT_SYMLINK_NOFOLLOW) == 0)
            strv_push(ret, *name);
    }
    return 0;
}

/* Finds a number that no entry has. */
static int find_next(const struct root *root, int64_t *ret, struct err *err)
{
    _cleanup_strv_ char **ids = NULL;
    int64_t next = 1;

    if (every_sessions(root, &ids, err) == -1)
        return -1;
    for (char **id = ids; id != NULL && *id != NULL; id++) {
        _cleanup_close_ int dir = workspace_open(root, *id);
        _cleanup_every_ struct every every = EVERY_INIT;
        struct err ignored = ERR_INIT;
        if (dir == -1 || every_read(dir, &every, &ignored) == -1)
            continue;
        for (size_t i = 0; i < every.count; i++)
            next = every.at[i].number >= next ? every.at[i].number + 1 : next;
    }
    *ret = next;
    return 0;
}

/* Reads the next number; where it is missing or damaged, finds one. */
static int read_next(const struct root *root, int64_t *ret, struct err *err)
{
    _cleanup_free_ char *text = NULL;
    uint64_t next = 0;
    size_t len = 0;

    if (root_check_private(root, EVERY_NUMBERS, "remove it", err) == -1)
        return -1;
    int there = file_read_if_there(root->sessions, EVERY_NUMBERS, NUMBERS_MAX, &text, &len, err);
    if (there == -1)
        return -1;
    if (there == 1)
        text[strcspn(text, "\n")] = '\0';
    if (there == 0 || !number_parse_count(text, COUNT_MAX, &next) || next == 0)
        return find_next(root, ret, err);
    *ret = (int64_t)next;
    return 0;
}

static int write_next(const struct root *root, int64_t next, struct err *err)
{
    _cleanup_free_ char *text = mem_printf("%" PRId64 "\n", next);
    return file_replace(root->sessions, EVERY_NUMBERS, text, strlen(text), 0600, err);
}

/* ---- changes */

/* Takes the metadata lock, and reads. */
static int begin(const struct root *root, int dir, int *ret_lock, struct every *ret,
                 struct err *err)
{
    _cleanup_close_ int lock = -1;

    if (root_lock(root, &lock, err) == -1 || every_read(dir, ret, err) == -1)
        return -1;
    *ret_lock = TAKE_FD(lock);
    return 0;
}

/* For what need not be stopped by a damaged file: no entry of it runs, and doctor says so. */
static int pass_damage(const struct err *why, struct err *err)
{
    if (why->code == MAS_DAMAGED)
        return 0;
    *err = *why;
    return -1;
}

int every_arrive(const struct root *root, int dir, struct err *err)
{
    _cleanup_every_ struct every every = EVERY_INIT;
    _cleanup_close_ int lock = -1;
    struct err why = ERR_INIT;
    int64_t next = 0;

    if (begin(root, dir, &lock, &every, &why) == -1)
        return pass_damage(&why, err);
    if (every.count == 0)
        return 0;
    if (read_next(root, &next, err) == -1)
        return -1;
    for (size_t i = 0; i < every.count; i++) {
        every.at[i].number = next++;
        every.at[i].paused = true;
    }
    return write_next(root, next, err) == -1 ? -1 : write_entries(dir, &every, err);
}

static void take_out(struct every *every, size_t i)
{
    every_entry_free(&every->at[i]);
    every->count--;
    memmove(every->at + i, every->at + i + 1, (every->count - i) * sizeof *every->at);
}

/* Makes room for one more errand that is over. */
static void drop_over(struct every *every)
{
    int over = 0;

    for (size_t i = every->count; i-- > 0;)
        if (every_is_errand(&every->at[i]) && every->at[i].over[0] != '\0' &&
            ++over >= EVERY_OVER_MAX)
            take_out(every, i);
}

int every_add(const struct root *root, int dir, struct every_entry *entry, char *const *env,
              struct err *err)
{
    _cleanup_every_ struct every every = EVERY_INIT;
    _cleanup_close_ int lock = -1;

    if (begin(root, dir, &lock, &every, err) == -1 || read_next(root, &entry->number, err) == -1)
        return -1;
    members_fill(every_members, entry);
    members_fill(own_members, entry);
    drop_over(&every);
    if (every.count == EVERY_MAX)
        return err_set(err, MAS_CONFLICT, "the session has %d entries already", EVERY_MAX);
    if (write_next(root, entry->number + 1, err) == -1 ||
        (env != NULL && write_env(dir, env, err) == -1))
        return -1;
    every.at = mem_room(every.at, every.count, sizeof *every.at);
    every.at[every.count++] = *entry;
    int rc = write_entries(dir, &every, err);
    every.count--; /* the caller's */
    return rc;
}

/* Writes what is left, and removes the environment that nothing needs. */
static int write_rest(int dir, const struct every *every, struct err *err)
{
    bool starts = false;

    for (size_t i = 0; i < every->count; i++)
        starts = starts || every->at[i].start ||
                 (every_is_errand(&every->at[i]) && every->at[i].over[0] == '\0');
    if (write_entries(dir, every, err) == -1)
        return -1;
    if (!starts && unlinkat(dir, EVERY_ENV, 0) == -1 && errno != ENOENT)
        return err_errno(err, "cannot remove '" EVERY_ENV "'");
    return 0;
}

int every_change(const struct root *root, int dir, const struct every_entry *entry, bool gone,
                 struct err *err)
{
    _cleanup_every_ struct every every = EVERY_INIT;
    _cleanup_close_ int lock = -1;

    if (begin(root, dir, &lock, &every, err) == -1)
        return -1;
    struct every_entry *old = every_find(&every, entry->number);
    if (old == NULL)
        return err_set(err, MAS_NOT_FOUND, "there is no entry %" PRId64, entry->number);
    if (gone) {
        take_out(&every, (size_t)(old - every.at));
        return write_rest(dir, &every, err);
    }
    struct every_entry kept = *old;
    *old = *entry;
    int rc = write_rest(dir, &every, err);
    *old = kept;
    return rc;
}

int every_remove_agent(const struct root *root, int dir, const char *agent, struct err *err)
{
    _cleanup_every_ struct every every = EVERY_INIT;
    _cleanup_close_ int lock = -1;
    struct err why = ERR_INIT;
    size_t count = 0;

    if (begin(root, dir, &lock, &every, &why) == -1)
        return pass_damage(&why, err);
    count = every.count;
    for (size_t i = every.count; i-- > 0;)
        if (strcmp(every.at[i].agent, agent) == 0)
            take_out(&every, i);
    return every.count < count ? write_rest(dir, &every, err) : 0;
}

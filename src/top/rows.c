/*
 * The list is built anew from the table each time: entries that pass the filter are sorted by rank,
 * for the view by team the teams are put together in the order of their first entries, and then
 * come the headings. What the user has chosen or folded is kept by name, not by place, and so is
 * found again in the new list.
 */

#include "top/rows.h"

/* What gets a row: an agent, a team without hosts, or what has failed to be sent to an agent. */
struct row_entry {
    enum row_kind kind;
    struct top_team *team;
    struct top_agent *agent; /* for a team: the first one, for its rank */
    enum attention class;
    const struct every_entry *every;
};

void rows_free(struct rows *rows)
{
    free(rows->list);
    free(rows->filter);
    strv_free(rows->folded_teams);
    *rows = (struct rows){.list = NULL};
}

/* ---- the filter */

static bool has_word(const char *text, const char *word, size_t len)
{
    size_t n = strlen(text);

    for (size_t i = 0; i + len <= n; i++)
        if (strncasecmp(text + i, word, len) == 0)
            return true;
    return false;
}

static bool agent_has(const struct top_agent *agent, const char *word, size_t len)
{
    const struct agent_status *status = &agent->status;
    _cleanup_free_ char *who = mem_printf("%s/%s", agent->team->name, agent->id);
    const char *const texts[] = {
        who,
        agent->role,
        top_agent_word(agent),
        attention_name(attention_of(status)),
        agent->told ? status->title : NULL,
        agent->told ? status->asks : NULL,
        agent->told ? status->code.branch : NULL,
    };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (texts[i] != NULL && has_word(texts[i], word, len))
            return true;
    return false;
}

static bool entry_has(const struct row_entry *row, const char *word, size_t len)
{
    const struct every_entry *entry = row->every;

    if (row->kind != ROW_ENTRY)
        return agent_has(row->agent, word, len);
    _cleanup_free_ char *all = mem_printf("%s/%s\n%s\n%s\n%s", row->team->name, entry->agent,
                                          attention_name(row->class), entry->why, entry->text);
    return has_word(all, word, len);
}

/* Returns true if it has all words of a filter. */
static bool rows_matches(const struct row_entry *row, const char *filter)
{
    while (filter != NULL && *filter != '\0') {
        size_t len = strcspn(filter, " ");
        if (len > 0 && !entry_has(row, filter, len))
            return false;
        filter += len + (filter[len] == ' ');
    }
    return true;
}

void rows_filter(struct rows *rows, const char *filter)
{
    free(rows->filter);
    rows->filter = filter != NULL && filter[0] != '\0' ? mem_dup(filter) : NULL;
    rows->moved = false;
}

/* ---- the order */

static int compare_places(const struct row_entry *a, const struct row_entry *b)
{
    int names = strcmp(a->team->name, b->team->name);

    if (a->team != b->team)
        return names != 0 ? names : strcmp(a->team->id, b->team->id);
    return (a->agent > b->agent) - (a->agent < b->agent);
}

static int compare(const void *left, const void *right)
{
    const struct row_entry *a = left, *b = right;
    int rank = (int)a->class - (int)b->class;

    if (rank == 0)
        rank = (a->kind == ROW_ENTRY) - (b->kind == ROW_ENTRY);
    if (rank == 0 && a->kind == ROW_ENTRY)
        return (a->every->number > b->every->number) - (a->every->number < b->every->number);
    if (rank == 0)
        rank = attention_compare(&a->agent->status, &b->agent->status);
    return rank != 0 ? rank : compare_places(a, b);
}

static struct top_agent *find_agent(struct top_team *team, const char *id)
{
    for (size_t i = 0; i < team->count; i++)
        if (strcmp(team->agents[i].id, id) == 0)
            return &team->agents[i];
    return NULL;
}

struct row_entries {
    struct row_entry *list;
    size_t count;
};

/* Counts it, and adds it if it passes the filter, and `shown`. */
static void add_entry(struct rows *rows, struct row_entry entry, bool shown, struct row_entries *to)
{
    bool fits = rows_matches(&entry, rows->filter);

    rows->totals[entry.class]++;
    rows->hidden += !fits;
    if (!fits || !shown)
        return;
    to->list = mem_room(to->list, to->count, sizeof *to->list);
    to->list[to->count++] = entry;
}

/* Returns the entries in the order of rank. */
static struct row_entries sort_entries(struct rows *rows, const struct top_table *table)
{
    struct row_entries all = {.list = NULL};

    rows->hidden = 0;
    memset(rows->totals, 0, sizeof rows->totals);
    for (size_t t = 0; t < table->count; t++) {
        struct top_team *team = table->teams[t];
        bool down = team_is_down(team);
        team->place = 0;
        for (size_t i = 0; i < team->count; i++) {
            struct top_agent *agent = &team->agents[i];
            const struct row_entry one = {down ? ROW_TEAM : ROW_AGENT, team, agent,
                                          attention_of(&agent->status), NULL};
            add_entry(rows, one, !down || i == 0, &all);
        }
        for (size_t i = 0; i < team->every.count; i++) {
            const struct every_entry *every = &team->every.at[i];
            const struct row_entry one = {ROW_ENTRY, team, find_agent(team, every->agent),
                                          ATTENTION_FAILED, every};
            if (every_has_failed(every))
                add_entry(rows, one, true, &all);
        }
    }
    if (all.count > 1)
        qsort(all.list, all.count, sizeof *all.list, compare);
    return all;
}

static int compare_by_team(const void *left, const void *right)
{
    const struct row_entry *a = left, *b = right;

    if (a->team != b->team)
        return a->team->place < b->team->place ? -1 : 1;
    return compare(left, right);
}

/* Puts the entries of a team together, the teams in the order of their first entries. */
static void group_by_team(struct row_entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (entries[i].team->place == 0)
            entries[i].team->place = i + 1;
    if (count > 1)
        qsort(entries, count, sizeof *entries, compare_by_team);
}

/* ---- the list */

static struct top_row *add_row(struct rows *rows, struct top_row row)
{
    rows->list = mem_room(rows->list, rows->count, sizeof *rows->list);
    rows->list[rows->count] = row;
    return &rows->list[rows->count++];
}

static bool team_is_folded(const struct rows *rows, const struct top_team *team)
{
    for (char **id = rows->folded_teams; id != NULL && *id != NULL; id++)
        if (strcmp(*id, team->id) == 0)
            return true;
    return false;
}

static bool same_group(const struct rows *rows, const struct row_entry *a,
                       const struct row_entry *b)
{
    return rows->by_team ? a->team == b->team : a->class == b->class;
}

static void add_group(struct rows *rows, const struct row_entry *entries, size_t count)
{
    struct top_team *team = rows->by_team ? entries[0].team : NULL;
    bool folded = rows->by_team ? team_is_folded(rows, team) : rows->folded[entries[0].class];
    size_t agents = 0;

    for (size_t i = 0; i < count; i++)
        agents += entries[i].kind == ROW_TEAM ? entries[i].team->count : 1;
    add_row(rows, (struct top_row){.kind = ROW_HEAD,
                                   .class = entries[0].class,
                                   .team = team,
                                   .count = agents,
                                   .folded = folded});
    for (size_t i = 0; i < count && !folded; i++)
        add_row(rows,
                (struct top_row){.kind = entries[i].kind,
                                 .class = entries[i].class,
                                 .team = entries[i].team,
                                 .agent = entries[i].kind == ROW_TEAM ? NULL : entries[i].agent,
                                 .entry = entries[i].every});
}

/* Teams whose agents are unknown come last. */
static void add_unknown(struct rows *rows, const struct top_table *table)
{
    for (size_t t = 0; t < table->count; t++)
        if (table->teams[t]->count == 0 && rows->filter == NULL)
            add_row(rows, (struct top_row){
                              .kind = ROW_TEAM, .class = ATTENTION_IDLE, .team = table->teams[t]});
}

static struct row_key key_of(const struct top_row *row)
{
    struct row_key key = {.kind = row->kind,
                          .class = row->class,
                          .number = row->entry != NULL ? row->entry->number : 0};

    if (row->team != NULL)
        memcpy(key.team, row->team->id, ID_TEXT);
    if (row->agent != NULL)
        memcpy(key.agent, row->agent->id, strlen(row->agent->id) + 1);
    return key;
}

static bool has_key(const struct top_row *row, const struct row_key *key)
{
    const struct row_key own = key_of(row);

    return own.kind == key->kind && strcmp(own.team, key->team) == 0 &&
           strcmp(own.agent, key->agent) == 0 && own.number == key->number &&
           (row->team != NULL || row->class == key->class);
}

/* Finds the chosen row again; if it is gone, the row in its place is chosen. */
static void choose_again(struct rows *rows)
{
    size_t at = 0;

    if (!rows->moved) {
        while (at < rows->count && rows->list[at].kind == ROW_HEAD)
            at++;
        rows->chosen = at < rows->count ? at : 0;
        return;
    }
    while (at < rows->count && !has_key(&rows->list[at], &rows->key))
        at++;
    if (at < rows->count) {
        rows->chosen = at;
        return;
    }
    rows_choose(rows, (long)rows->chosen);
    const struct top_row *row = rows_chosen(rows);
    if (row != NULL && row->kind == ROW_HEAD && !row->folded)
        rows_choose(rows, (long)rows->chosen + 1);
}

void rows_build(struct rows *rows, const struct top_table *table)
{
    struct row_entries all = sort_entries(rows, table);

    rows->count = 0;
    if (rows->by_team)
        group_by_team(all.list, all.count);
    for (size_t from = 0, to; from < all.count; from = to) {
        for (to = from + 1; to < all.count && same_group(rows, &all.list[from], &all.list[to]);
             to++)
            ;
        add_group(rows, all.list + from, to - from);
    }
    add_unknown(rows, table);
    free(all.list);
    choose_again(rows);
}

void rows_choose(struct rows *rows, long at)
{
    if (at >= (long)rows->count)
        at = (long)rows->count - 1;
    rows->chosen = at > 0 ? (size_t)at : 0;
    rows->moved = true;
    if (rows->count > 0)
        rows->key = key_of(&rows->list[rows->chosen]);
}

static void toggle_team(struct rows *rows, const char *id)
{
    for (char **at = rows->folded_teams; at != NULL && *at != NULL; at++)
        if (strcmp(*at, id) == 0) {
            free(*at);
            for (; *at != NULL; at++)
                *at = at[1];
            return;
        }
    strv_push(&rows->folded_teams, id);
}

void rows_fold(struct rows *rows)
{
    size_t at = rows->chosen;

    if (rows->count == 0)
        return;
    while (at > 0 && rows->list[at].kind != ROW_HEAD)
        at--;
    if (rows->list[at].kind != ROW_HEAD)
        return;
    rows_choose(rows, (long)at);
    if (rows->list[at].team != NULL)
        toggle_team(rows, rows->list[at].team->id);
    else
        rows->folded[rows->list[at].class] = !rows->folded[rows->list[at].class];
}

const struct top_row *rows_chosen(const struct rows *rows)
{
    return rows->chosen < rows->count ? &rows->list[rows->chosen] : NULL;
}

/*
 * The list is built anew from the table each time: rows that pass the filter are sorted by rank,
 * for the view by team those of each team are put together, in the order of their first ones, and
 * then come the headings. What the user has chosen or folded is kept by name, not by place, and so
 * is found again in the new list.
 */

#include "top/rows.h"

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

static bool row_has(const struct top_row *row, const char *word, size_t len)
{
    const struct every_entry *entry = row->entry;

    if (row->kind != ROW_ENTRY)
        return agent_has(row->agent, word, len);
    _cleanup_free_ char *all = mem_printf("%s/%s\n%s\n%s\n%s", row->team->name, entry->agent,
                                          attention_name(row->class), entry->why, entry->text);
    return has_word(all, word, len);
}

/* Returns true if it has all words of a filter. */
static bool row_fits(const struct top_row *row, const char *filter)
{
    while (filter != NULL && *filter != '\0') {
        size_t len = strcspn(filter, " ");
        if (len > 0 && !row_has(row, filter, len))
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

static int compare_places(const struct top_row *a, const struct top_row *b)
{
    int names = strcmp(a->team->name, b->team->name);

    if (a->team != b->team)
        return names != 0 ? names : strcmp(a->team->id, b->team->id);
    return (a->agent > b->agent) - (a->agent < b->agent);
}

static int compare(const void *left, const void *right)
{
    const struct top_row *a = left, *b = right;
    int rank = (int)a->class - (int)b->class;

    if (rank == 0)
        rank = (a->kind == ROW_ENTRY) - (b->kind == ROW_ENTRY);
    if (rank == 0 && a->kind == ROW_ENTRY)
        return (a->entry->number > b->entry->number) - (a->entry->number < b->entry->number);
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

struct row_list {
    struct top_row *at;
    size_t count;
};

/* Counts a row, and adds it if it passes the filter, and `shown`. */
static void add_ranked(struct rows *rows, struct top_row row, bool shown, struct row_list *to)
{
    bool fits = row_fits(&row, rows->filter);

    rows->totals[row.class]++;
    rows->hidden += !fits;
    if (!fits || !shown)
        return;
    to->at = mem_room(to->at, to->count, sizeof *to->at);
    to->at[to->count++] = row;
}

/* Returns the rows in the order of rank. That of a team has its first agent, for its rank. */
static struct row_list rank_rows(struct rows *rows, const struct top_table *table)
{
    struct row_list all = {.at = NULL};

    rows->hidden = 0;
    memset(rows->totals, 0, sizeof rows->totals);
    for (size_t t = 0; t < table->count; t++) {
        struct top_team *team = table->teams[t];
        bool down = team_is_down(team);
        team->place = 0;
        for (size_t i = 0; i < team->count; i++) {
            struct top_agent *agent = &team->agents[i];
            const struct top_row row = {.kind = down ? ROW_TEAM : ROW_AGENT,
                                        .class = attention_of(&agent->status),
                                        .team = team,
                                        .agent = agent};
            add_ranked(rows, row, !down || i == 0, &all);
        }
        for (size_t i = 0; i < team->every.count; i++) {
            const struct every_entry *entry = &team->every.at[i];
            const struct top_row row = {.kind = ROW_ENTRY,
                                        .class = ATTENTION_FAILED,
                                        .team = team,
                                        .agent = find_agent(team, entry->agent),
                                        .entry = entry};
            if (every_has_failed(entry))
                add_ranked(rows, row, true, &all);
        }
    }
    if (all.count > 1)
        qsort(all.at, all.count, sizeof *all.at, compare);
    return all;
}

static int compare_by_team(const void *left, const void *right)
{
    const struct top_row *a = left, *b = right;

    if (a->team != b->team)
        return a->team->place < b->team->place ? -1 : 1;
    return compare(left, right);
}

/* Puts the rows of a team together, the teams in the order of their first rows. */
static void group_by_team(struct row_list *all)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->at[i].team->place == 0)
            all->at[i].team->place = i + 1;
    if (all->count > 1)
        qsort(all->at, all->count, sizeof *all->at, compare_by_team);
}

/* ---- the list */

static void add_row(struct rows *rows, struct top_row row)
{
    rows->list = mem_room(rows->list, rows->count, sizeof *rows->list);
    rows->list[rows->count++] = row;
}

static bool team_is_folded(const struct rows *rows, const struct top_team *team)
{
    for (char **id = rows->folded_teams; id != NULL && *id != NULL; id++)
        if (strcmp(*id, team->id) == 0)
            return true;
    return false;
}

static bool same_group(const struct rows *rows, const struct top_row *a, const struct top_row *b)
{
    return rows->by_team ? a->team == b->team : a->class == b->class;
}

static void add_group(struct rows *rows, const struct top_row *group, size_t count)
{
    struct top_team *team = rows->by_team ? group[0].team : NULL;
    bool folded = rows->by_team ? team_is_folded(rows, team) : rows->folded[group[0].class];
    size_t agents = 0;

    for (size_t i = 0; i < count; i++)
        agents += group[i].kind == ROW_TEAM ? group[i].team->count : 1;
    add_row(rows, (struct top_row){.kind = ROW_HEAD,
                                   .class = group[0].class,
                                   .team = team,
                                   .count = agents,
                                   .folded = folded});
    for (size_t i = 0; i < count && !folded; i++) {
        struct top_row row = group[i];
        if (row.kind == ROW_TEAM)
            row.agent = NULL;
        add_row(rows, row);
    }
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
    struct row_list all = rank_rows(rows, table);

    rows->count = 0;
    if (rows->by_team)
        group_by_team(&all);
    for (size_t from = 0, to; from < all.count; from = to) {
        for (to = from + 1; to < all.count && same_group(rows, &all.at[from], &all.at[to]); to++)
            ;
        add_group(rows, all.at + from, to - from);
    }
    add_unknown(rows, table);
    free(all.at);
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

/* The part of client/survey.h that finds the session a user means. */
#include "client/survey.h"

#include "base/suggest.h"
#include "store/workspace.h"

/* Ways in which a text can match a row, the most exact first. */
enum match { MATCH_ID, MATCH_NAME, MATCH_PREFIX, MATCH_COUNT };

/* `tmux_name` and `name` are those of the row, or newer. */
static bool matches(const struct row *row, const char *tmux_name, const char *name,
                    const char *text, enum match match)
{
    char lower[ID_TEXT];
    size_t len = strlen(text);

    switch (match) {
    case MATCH_ID:
        return id_normalise(text, lower) && strcmp(row->id, lower) == 0;
    case MATCH_NAME: /* in tmux or in mas: if these are two sessions, both match */
        return text[0] != '\0' && (strcmp(tmux_name, text) == 0 || strcmp(name, text) == 0);
    case MATCH_PREFIX:
        return len >= ID_PREFIX_MIN && len < ID_TEXT && strncasecmp(row->id, text, len) == 0;
    default:
        return false;
    }
}

/* Searches the views. Returns the number of matches of the first kind that has any. */
static size_t find(const struct survey *survey, const char *text, const struct row **ret,
                   struct str *candidates)
{
    for (enum match match = MATCH_ID; match < MATCH_COUNT; match++) {
        size_t count = 0;
        for (size_t i = 0; i < survey->count; i++) {
            const struct view *view = &survey->views[i];
            if (!matches(&view->row, view->live != NULL ? view->live->name : view->row.tmux_name,
                         view_name(view), text, match))
                continue;
            *ret = &view->row;
            if (count++ < 8)
                str_addf(candidates, "%s%s%s%s", count > 1 ? ", " : "", view->row.id,
                         view_name(view)[0] != '\0' ? " " : "", view_name(view));
        }
        if (count > 0)
            return count;
    }
    return 0;
}

bool survey_has(const struct index *index, const char *text)
{
    for (size_t i = 0; i < index->count; i++)
        for (enum match match = MATCH_ID; match < MATCH_COUNT; match++)
            if (matches(&index->rows[i], index->rows[i].tmux_name, index->rows[i].name, text,
                        match))
                return true;
    return false;
}

int survey_no_session(const char *root, const char *text, struct err *err)
{
    return err_set(err, MAS_NOT_FOUND, "cannot find session '%s': there is no such session in '%s'",
                   text, root);
}

static int hint_meant(const struct survey *survey, const char *text, struct err *err)
{
    struct suggest suggest = SUGGEST_INIT(text);

    for (size_t i = survey->count; i-- > 0;) /* of two that are as near, the newer */
        suggest_try(&suggest, view_name(&survey->views[i]));
    return suggest.nearest != NULL
               ? err_hint(err, SUGGEST_MEANT "%s  (all sessions: mas list)", suggest.nearest)
               : err_hint(err, "list the sessions with: mas list");
}

int survey_select(const struct root *root, const struct config *config, const char *text,
                  char ret[ID_TEXT], struct err *err)
{
    _cleanup_survey_ struct survey survey = SURVEY_INIT;
    _cleanup_str_ struct str candidates = STR_INIT;
    const struct row *row = NULL;
    char id[ID_TEXT];

    if (id_normalise(text, id)) { /* the usual case in scripts: needs neither index nor tmux */
        _cleanup_close_ int dir = workspace_open(root, id);
        if (dir != -1) {
            memcpy(ret, id, ID_TEXT);
            return 0;
        }
    }
    if (survey_take(root, config, SURVEY_LIVE, &survey, err) == -1)
        return -1;
    size_t count =
        strcmp(text, "@last") == 0 ? survey.count > 0 : find(&survey, text, &row, &candidates);
    if (count == 0 && survey.spared) { /* it may be a name that only tmux knows */
        survey_free(&survey);
        if (survey_take(root, config, SURVEY_ALL, &survey, err) == -1)
            return -1;
        count = find(&survey, text, &row, &candidates);
    }
    if (count == 0) {
        (void)survey_no_session(root->path, text, err);
        return hint_meant(&survey, text, err);
    }
    if (count > 1) {
        (void)err_set(err, MAS_CONFLICT, "cannot find session '%s': %zu sessions match", text,
                      count);
        return err_hint(err, "candidates: %s%s", candidates.data, count > 8 ? ", ..." : "");
    }
    if (row == NULL)
        row = &survey.views[survey.count - 1].row;
    memcpy(ret, row->id, ID_TEXT);
    return 0;
}

#include "session/sentence.h"

#include "session/prompts.h"
#include "store/index.h"

enum { WORDS = 2, WORD_MAX = 20, NAMES_MAX = 99 };

static bool says_nothing(const char *word)
{
    static const char *const words[] = {
        "a",    "all",  "an",  "and",  "as", "at", "by",  "for",  "from", "how",    "i",
        "in",   "is",   "it",  "me",   "my", "of", "on",  "or",   "our",  "please", "so",
        "some", "that", "the", "this", "to", "we", "why", "with", "you",  "your"};

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

/* Cuts the next word off, in lower case; "" if it is not ASCII, or too long for a name. */
static const char *next_word(const char *text, char ret[WORD_MAX + 1])
{
    size_t len = 0;
    bool fits = true;

    for (; isalnum((unsigned char)*text) || (unsigned char)*text >= 0x80 || *text == '\''; text++) {
        fits = fits && (unsigned char)*text < 0x80 && len < WORD_MAX;
        if (fits && *text != '\'')
            ret[len++] = (char)tolower((unsigned char)*text);
    }
    ret[fits ? len : 0] = '\0';
    return text;
}

void sentence_name(const char *text, char ret[SENTENCE_NAME_TEXT])
{
    char word[WORD_MAX + 1];
    size_t len = 0;

    ret[0] = '\0';
    for (int left = WORDS; left > 0 && *text != '\0';) {
        const char *end = next_word(text, word);
        if (isalpha((unsigned char)word[0]) && !says_nothing(word)) {
            len += (size_t)snprintf(ret + len, SENTENCE_NAME_TEXT - len, "%s%s", len > 0 ? "-" : "",
                                    word);
            left--;
        }
        text = end > text ? end : text + 1;
    }
}

int sentence_free_name(const struct root *root, const char *text, char **ret, struct err *err)
{
    struct index_facts facts = {.name_taken = true};
    char base[SENTENCE_NAME_TEXT];
    char name[SENTENCE_NAME_TEXT + 4];
    _cleanup_close_ int lock = -1;

    sentence_name(text, base);
    if (base[0] != '\0' && root_lock(root, &lock, err) == -1)
        return -1;
    for (int i = 1; base[0] != '\0' && facts.name_taken && i <= NAMES_MAX; i++) {
        (void)snprintf(name, sizeof name, i == 1 ? "%s" : "%s-%d", base, i);
        if (session_check_name(name) == NULL && index_ask(root, NULL, name, 0, &facts, err) == -1)
            return -1;
    }
    *ret = mem_dup(facts.name_taken ? "" : name);
    return 0;
}

/* Makes of a team of one agent the tries that the sentence wants. */
static int repeat(const struct config *config, const struct sentence *sentence, struct team *team,
                  struct err *err)
{
    size_t count = strv_len(sentence->presets);

    if (team->agent_count != 1 || team->agents[0].code != AGENT_CODE_WORKTREE) {
        (void)err_set(err, MAS_USAGE,
                      "cannot make tries: the template has no single agent with 'code = worktree'");
        return err_hint(err, "leave --template out, or use --template solo");
    }
    team_repeat(team, sentence->tries);
    for (size_t i = 0; i < team->agent_count; i++) {
        struct agent *agent = &team->agents[i];
        if (count > 0) {
            free(agent->preset);
            free(agent->command);
            agent->preset = mem_dup(sentence->presets[i % count]);
            agent->command = mem_dup("");
        }
        const struct preset *preset = config_agent_preset(config, team, agent);
        if (preset == NULL)
            continue;
        /* A TARGET can be the name of a unit: that of the preset, too, names what it made. */
        free(agent->group);
        free(agent->role);
        agent->group = mem_dup(preset->name);
        agent->role = mem_dup(preset->name);
    }
    return 0;
}

/* Fails if an agent would execute the sentence. */
static int check_preset(const struct config *config, const struct sentence *sentence,
                        const struct team *team, const struct agent *agent, struct err *err)
{
    const struct preset *preset = config_agent_preset(config, team, agent);

    if (preset == NULL || !preset_executes(preset))
        return 0;
    (void)err_set(err, MAS_USAGE,
                  "cannot begin with a prompt: agent '%s' runs preset '%s', which would execute it",
                  agent->id, preset->name);
    return err_hint(err, "say what it runs with --agent PRESET; installed: %s",
                    sentence->installed);
}

int sentence_give(const struct config *config, const struct sentence *sentence, char *const *others,
                  struct team *team, struct err *err)
{
    const struct agent *first = &team->agents[0];
    _cleanup_strv_ char **words = NULL;

    if (sentence->preset != NULL && team->preset[0] == '\0' && first->preset[0] == '\0') {
        free(team->preset);
        team->preset = mem_dup(sentence->preset);
    }
    if (sentence->tries > 0 && repeat(config, sentence, team, err) == -1)
        return -1;
    for (; others != NULL && *others != NULL; others++)
        strv_push(&words, *others);
    for (size_t i = 0; i == 0 || i < sentence->tries; i++) {
        const struct agent *agent = &team->agents[i];
        _cleanup_free_ char *word = mem_printf("%s=%s", agent->id, sentence->text);
        if (check_preset(config, sentence, team, agent, err) == -1)
            return -1;
        strv_push(&words, word);
    }
    return prompts_from_words(words, team, err);
}

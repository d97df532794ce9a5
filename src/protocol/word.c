#include "protocol/word.h"

#include "base/json.h"

/* Returns the text of a member, or "". */
static const char *text_of(const struct json *object, const char *key)
{
    return key != NULL ? json_get_text_or(object, key, "") : "";
}

struct word_list word_list_read(const struct json *array, const struct word_keys *keys)
{
    struct word_list words = {.count = 0};

    if (!json_is_array(array))
        return words;
    for (const struct json *it = json_first(array); it != NULL; it = json_next(it)) {
        if (!json_is_object(it))
            continue;
        words.word = mem_room(words.word, words.count, sizeof(*words.word));
        words.word[words.count++] = (struct word){
            .id = mem_dup(text_of(it, keys->id)),
            .name = mem_dup(text_of(it, keys->name)),
            .description = mem_dup(text_of(it, keys->description)),
            .kind = mem_dup(text_of(it, keys->kind)),
        };
    }
    return words;
}

struct word *word_copy(const struct word *words, size_t count)
{
    struct word *copy = count > 0 ? mem_alloc(count * sizeof *copy) : NULL;

    for (size_t i = 0; i < count; i++)
        copy[i] = (struct word){.id = mem_dup(words[i].id),
                                .name = mem_dup(words[i].name),
                                .description = mem_dup(words[i].description),
                                .kind = mem_dup(words[i].kind)};
    return copy;
}

void word_free(struct word *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(words[i].id);
        free(words[i].name);
        free(words[i].description);
        free(words[i].kind);
    }
    free(words);
}

void word_list_free(struct word_list *words)
{
    word_free(words->word, words->count);
    *words = (struct word_list){.count = 0};
}

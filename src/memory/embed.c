/*
 * All texts go to the program at once, the query first, and its answers are read when it has ended.
 * They are a stranger's: lengths are limited, and all lines must agree on model and number of
 * components. One bad line fails everything, because the vectors of a search have to be comparable.
 */

#include "memory/embed.h"

#include "base/build.h"
#include "base/json.h"
#include "os/path.h"
#include "os/proc.h"

#include <math.h>

enum { LINE_MAX_BYTES = 1 << 20, PART_MAX = 127 };

static void add_request(struct str *to, const struct embed_text *text, const char *kind)
{
    struct json_out out = {.to = to};
    _cleanup_free_ char *copy =
        mem_dupn(text->text, str_cut(text->text, text->len, EMBED_TEXT_MAX));

    json_put_all(&out, JO(NULL), JT("kind", kind), JT("text", copy), JOE);
    str_addc(to, '\n');
}

static int wrong(struct err *err, size_t line, const char *what)
{
    return err_set(err, MAS_FAILED, "line %zu of its output %s", line + 1, what);
}

/* Normalises to length 1 and quantises the components. */
static int shorten(const double *numbers, size_t parts, struct vector *ret)
{
    double length = 0;
    double largest = 0;

    for (size_t i = 0; i < parts; i++) {
        length += numbers[i] * numbers[i];
        largest = fabs(numbers[i]) > largest ? fabs(numbers[i]) : largest;
    }
    length = sqrt(length);
    if (!isfinite(length) || length <= 0)
        return -1;
    ret->parts = mem_alloc(parts);
    ret->scale = (float)(largest / PART_MAX / length);
    for (size_t i = 0; i < parts; i++)
        ret->parts[i] = (int8_t)lround(numbers[i] / largest * PART_MAX);
    return 0;
}

/* Returns 1 if the program says that it makes the others another time. */
static int parse_line(struct embedding *embedding, const char *line, size_t len, struct err *err)
{
    _cleanup_json_ struct json *json = NULL;
    _cleanup_free_ double *numbers = mem_alloc(EMBED_PARTS_MAX * sizeof *numbers);
    struct err ignored = ERR_INIT;
    size_t at = embedding->count;
    size_t parts = 0;

    if (json_parse(line, len, LINE_MAX_BYTES, &json, &ignored) == -1)
        return wrong(err, at, "is not a JSON object");
    if (at > 0 && json_get(json, "more") != NULL)
        return 1;
    const char *model = json_get_text(json, "model");
    const struct json *part = json_first(json_get(json, "vector"));
    for (; part != NULL && parts < EMBED_PARTS_MAX; part = json_next(part))
        numbers[parts++] = json_number(part, NAN);
    if (parts == 0 || part != NULL)
        return wrong(err, at, "has no vector of 1 to 16384 numbers");
    if (model != NULL && strlen(model) > EMBED_MODEL_MAX)
        return wrong(err, at, "has a model name of more than 256 bytes");
    if (at == 0) {
        embedding->model = mem_dup(model != NULL ? model : "");
        embedding->parts = parts;
    } else if (parts != embedding->parts ||
               (model != NULL && strcmp(model, embedding->model) != 0)) {
        return wrong(err, at, "has another model or another length than the first");
    }
    if (shorten(numbers, parts, &embedding->vectors[at]) == -1)
        return wrong(err, at, "has a vector of zeros only");
    embedding->count++;
    return 0;
}

static int read_output(const struct str *output, size_t wanted, struct embedding *embedding,
                       struct err *err)
{
    const char *at = str_text(output);
    const char *end = at + output->len;

    while (at < end && embedding->count < wanted) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline != NULL ? newline : end;
        int rc = parse_line(embedding, at, (size_t)(stop - at), err);
        if (rc != 0)
            return rc == 1 ? 0 : -1;
        at = newline != NULL ? newline + 1 : end;
    }
    if (embedding->count < wanted)
        return err_set(err, MAS_FAILED, "it returned %zu vectors for %zu texts", embedding->count,
                       wanted);
    return 0;
}

/* Returns the last line of stderr, which is usually the most informative. */
static const char *last_line(struct str *text)
{
    while (text->len > 0 && text->data[text->len - 1] == '\n')
        text->data[--text->len] = '\0';
    const char *newline = text->len > 0 ? strrchr(text->data, '\n') : NULL;
    return newline != NULL ? newline + 1 : str_text(text);
}

/* Returns the environment with MAS_EMBED_HOST; the caller frees it. */
static char **environment(const char *host)
{
    _cleanup_free_ char *ours = mem_printf("MAS_EMBED_HOST=%s", host);
    char **ret = NULL;

    for (char **variable = environ; *variable != NULL; variable++)
        if (!str_starts(*variable, "MAS_EMBED_HOST="))
            strv_push(&ret, *variable);
    strv_push(&ret, ours);
    return ret;
}

static int run(const char *command, const char *host, const struct str *input, size_t wanted,
               struct proc_result *ret, struct err *err)
{
    _cleanup_strv_ char **words = NULL;
    const char *search = getenv("PATH");

    if (str_split_words(command, &words, err) == -1)
        return -1;
    if (words == NULL || words[0] == NULL)
        return err_set(err, MAS_FAILED, "it names no program");
    _cleanup_free_ char *places =
        mem_printf("%s:%s", search != NULL ? search : "/usr/bin:/bin", build_libexec);
    _cleanup_free_ char *file = path_find_program(words[0], places, AT_FDCWD);
    _cleanup_strv_ char **variables = environment(host);
    if (file == NULL)
        return err_set(err, MAS_FAILED, "there is no program '%s'", words[0]);
    const struct proc_spec spec = {
        .file = file,
        .argv = words,
        .envp = variables,
        .cwd = -1,
        .input = input->data,
        .input_len = input->len,
        .output_max = wanted * LINE_MAX_BYTES,
        .timeout_ms = EMBED_TIMEOUT_MS,
    };
    if (proc_capture(&spec, ret, err) == -1)
        return -1;
    if (ret->status != 0)
        return err_set(err, MAS_FAILED, "it exited with code %d%s%s", ret->status,
                       ret->err.len > 0 ? ": " : "", last_line(&ret->err));
    return 0;
}

int embed_run(const char *command, const char *host, const struct embed_text *query,
              const struct embed_text *documents, size_t count, struct embedding *ret,
              struct err *err)
{
    _cleanup_embedding_ struct embedding embedding = {.count = 0};
    _cleanup_str_ struct str input = STR_INIT;
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    size_t wanted = count + 1;

    add_request(&input, query, "query");
    for (size_t i = 0; i < count; i++)
        add_request(&input, &documents[i], "document");
    embedding.vectors = mem_alloc(wanted * sizeof *embedding.vectors);
    int rc = run(command, host, &input, wanted, &result, err);
    if (rc == 0)
        rc = read_output(&result.out, wanted, &embedding, err);
    if (rc == -1)
        return -1;
    *ret = embedding;
    embedding = (struct embedding){.count = 0};
    return 0;
}

void embedding_free(struct embedding *embedding)
{
    for (size_t i = 0; i < embedding->count; i++)
        free(embedding->vectors[i].parts);
    free(embedding->vectors);
    free(embedding->model);
    *embedding = (struct embedding){.count = 0};
}

int32_t vector_product(const int8_t *a, const int8_t *b, size_t parts)
{
    int32_t sum = 0; /* cannot overflow: EMBED_PARTS_MAX * 127 * 127 fits */

    for (size_t i = 0; i < parts; i++)
        sum += a[i] * b[i];
    return sum;
}

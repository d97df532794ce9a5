#include "cli/words.h"

#include "model/message.h"
#include "os/file.h"

char *words_join(const struct call *call)
{
    struct str text = STR_INIT;
    for (int i = 0; i < call->operand_count; i++)
        str_addf(&text, "%s%s", i > 0 ? " " : "", call->operands[i]);
    return str_steal(&text);
}

int words_read(const char *path, char **ret, size_t *ret_len, struct err *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    _cleanup_close_ int fd = is_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC);

    if (!is_stdin && fd == -1)
        return err_errno(err, "cannot read '%s'", path);
    return file_read_stream(is_stdin ? STDIN_FILENO : fd, is_stdin ? "standard input" : path,
                            MESSAGE_MAX, ret, ret_len, err);
}

int words_message(struct call *call, char **ret, size_t *ret_len, bool *ret_input, struct err *err)
{
    const char *file = call_opt(call, "file");
    bool words = call->operand_count > 0;

    if (words == (file != NULL)) {
        (void)err_set(err, MAS_USAGE, "cannot run '%s': %s", call->cmd->name,
                      words ? "it takes TEXT or --file, not both" : "it needs TEXT or --file");
        return call_usage(call, err);
    }
    if (call->operand_count == 1 && strcmp(call->operands[0], "-") == 0)
        file = "-";
    *ret_input = file != NULL && strcmp(file, "-") == 0;
    if (file != NULL)
        return words_read(file, ret, ret_len, err);
    *ret = words_join(call);
    *ret_len = strlen(*ret);
    return 0;
}

int words_text(const char *value, char **ret, size_t *ret_len, struct err *err)
{
    if (strcmp(value, "-") != 0) {
        *ret = mem_dup(value);
        *ret_len = strlen(value);
        return 0;
    }
    if (words_read(value, ret, ret_len, err) == -1)
        return -1;
    if (*ret_len > 0 && (*ret)[*ret_len - 1] == '\n')
        (*ret)[--*ret_len] = '\0';
    return 0;
}

int words_query(const char *value, char **ret, struct err *err)
{
    _cleanup_free_ char *text = NULL;
    size_t len = 0;

    if (words_text(value, &text, &len, err) == -1)
        return -1;
    if (strlen(text) != len)
        return err_set(err, MAS_USAGE, "cannot search for a text with a NUL byte");
    *ret = TAKE_PTR(text);
    return 0;
}

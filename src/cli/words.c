#include "cli/words.h"

#include "base/value.h"
#include "model/message.h"
#include "model/team/team.h"
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

/* Fails if a check has words that only a shell understands: it would run, and mean another thing.
 */
static int check_no_shell(const char *command, struct err *err)
{
    static const char *const shell[] = {"&&", "||", "|", ";", "&", ">", "<"};
    _cleanup_strv_ char **words = NULL;

    if (str_split_words(command, &words, err) == -1)
        return -1;
    for (char **word = words; word != NULL && *word != NULL; word++) {
        size_t len = strlen(*word);
        bool found = len > 1 && (*word)[len - 1] == ';';
        for (size_t i = 0; i < ARRAY_LEN(shell); i++)
            found = found || strcmp(*word, shell[i]) == 0;
        if (!found)
            continue;
        (void)err_set(err, MAS_USAGE, "cannot use '%s' in --check-with: no shell runs the command",
                      *word);
        return err_hint(err, "for one: --check-with \"sh -c 'COMMANDS'\"");
    }
    return 0;
}

int words_check(const struct call *call, const char **ret, struct err *err)
{
    const char *check = call_opt(call, "check-with");

    *ret = check;
    if (check == NULL)
        return 0;
    if (check[0] == '\0' || !value_is_command(check) || strlen(check) > TEAM_COMMAND_MAX)
        return call_bad_value(call, "check-with", "a command of at most 8192 bytes", err);
    return check_no_shell(check, err);
}

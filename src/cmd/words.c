#include "cmd/words.h"

#include "base/file.h"
#include "base/str.h"
#include "core/message.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

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

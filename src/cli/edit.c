#include "cli/edit.h"

#include "os/path.h"

bool edit_is_terminal(void)
{
    return isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0;
}

int edit_find(const char *what, char ***ret_words, char **ret_program, struct err *err)
{
    static const char *const names[] = {"VISUAL", "EDITOR"};
    const char *text = NULL;
    _cleanup_strv_ char **words = NULL;

    for (size_t i = 0; text == NULL && i < ARRAY_LEN(names); i++) {
        text = getenv(names[i]);
        if (text != NULL && text[0] == '\0')
            text = NULL;
    }
    if (text == NULL && !edit_is_terminal()) {
        (void)err_set(err, MAS_USAGE, "cannot edit %s: stdin or stderr is not a terminal", what);
        return err_hint(err, "name a program in VISUAL or EDITOR");
    }
    if (text == NULL)
        text = "vi";
    if (str_split_words(text, &words, err) == -1) {
        err->code = MAS_USAGE;
        return err_wrap(err, "cannot use the editor '%s'", text);
    }
    char *program =
        strv_len(words) > 0 ? path_find_program(words[0], getenv("PATH"), AT_FDCWD) : NULL;
    if (program == NULL) {
        (void)err_set(err, MAS_FAILED,
                      "cannot use the editor '%s': there is no such program in PATH", text);
        return err_hint(err, "name one in VISUAL or EDITOR");
    }
    *ret_program = program;
    *ret_words = TAKE_PTR(words);
    return 0;
}

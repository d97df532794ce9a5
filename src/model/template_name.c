#include "model/template_name.h"

const char *template_check_name(const char *text)
{
    if (str_is_word(text, TEMPLATE_NAME_MAX))
        return NULL;
    return text[0] == '/' && strlen(text) <= TEMPLATE_PATH_MAX && !str_has_control(text) &&
                   str_is_utf8(text, strlen(text))
               ? NULL
               : "1 to 32 " STR_WORD_CHARS ", or the absolute path of a directory";
}

#include "model/message.h"

const char *message_check(const char *text, size_t len)
{
    if (len > MESSAGE_MAX)
        return "is longer than 4 MiB";
    if (!str_is_utf8(text, len))
        return "is not UTF-8";
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        bool c1 = c == 0xc2 && i + 1 < len && (unsigned char)text[i + 1] < 0xa0;
        if ((c < 0x20 && c != '\t' && c != '\n') || c == 0x7f || c1)
            return "contains a control character other than tab and newline";
    }
    return NULL;
}

bool message_is_blank(const char *text, size_t len)
{
    size_t i = 0;

    while (i < len && strchr(" \t\r\n", text[i]) != NULL)
        i++;
    return i == len;
}

void message_request(const struct message_options *options, struct str *to)
{
    struct json_out out = {.to = to};

    json_open(&out, NULL, '{');
    json_put(&out, "do", "send");
    if (options->from != NULL)
        json_put(&out, "from", options->from);
    if (options->guest != NULL)
        json_put(&out, "guest", options->guest);
    json_put_bool(&out, "enter", !options->no_enter);
    json_put_bool(&out, "wait", options->wait);
    if (options->now)
        json_put_bool(&out, "now", true);
    if (options->note)
        json_put_bool(&out, "note", true);
    pictures_put(&options->pictures, &out);
    json_close(&out, '}');
}

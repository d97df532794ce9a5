#include "model/key_names.h"

static const struct {
    const char *name, *bytes;
} named[] = {
    {"Enter", "\r"},       {"Esc", "\033"},       {"Tab", "\t"},           {"Space", " "},
    {"Up", "\033[A"},      {"Down", "\033[B"},    {"Right", "\033[C"},     {"Left", "\033[D"},
    {"Backspace", "\177"}, {"Delete", "\033[3~"}, {"Shift-Tab", "\033[Z"},
};

static bool read_name(const char *name, size_t len, char ret[KEY_BYTES])
{
    static const char control[] = "Ctrl-";

    for (size_t i = 0; i < ARRAY_LEN(named); i++)
        if (strlen(named[i].name) == len && strncmp(named[i].name, name, len) == 0) {
            (void)snprintf(ret, KEY_BYTES, "%s", named[i].bytes);
            return true;
        }
    bool controls = len == sizeof control && strncmp(name, control, len - 1) == 0;
    unsigned char c = (unsigned char)name[len - 1];
    if (controls ? !isalpha(c) : len != 1 || !isgraph(c))
        return false;
    (void)snprintf(ret, KEY_BYTES, "%c", controls ? toupper(c) & 0x1f : c);
    return true;
}

int key_pause(const char **text)
{
    int pause = 0;

    for (;;) {
        const char *at = *text + strspn(*text, " ");
        size_t digits = strspn(at, "0123456789");
        size_t len = strcspn(at, " ");
        if (digits == 0 || digits > 4 || len != digits + 2 || strncmp(at + digits, "ms", 2) != 0)
            return pause;
        pause += (int)strtol(at, NULL, 10);
        *text = at + len;
    }
}

bool key_next(const char **text, char ret[KEY_BYTES])
{
    (void)key_pause(text);
    const char *at = *text + strspn(*text, " ");
    size_t len = strcspn(at, " ");

    *text = at + len;
    return len > 0 && read_name(at, len, ret);
}

bool keys_are_known(const char *text)
{
    char bytes[KEY_BYTES];
    int count = 0;

    for (text += strspn(text, " "); text[0] != '\0'; text += strspn(text, " "), count++)
        if (count == KEYS_MAX || !key_next(&text, bytes))
            return false;
    return true;
}

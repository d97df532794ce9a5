/* vt_feed() on any bytes: events keep their promises, and are the same wherever the bytes are cut.
 */
#include "base/vt.h"
#include "fuzz.h"

static void check_event(const struct vt_event *event)
{
    must(event->param_count <= VT_PARAMS_MAX);
    for (size_t i = 0; i < event->param_count; i++)
        must(event->params[i] >= -1);
    if (event->kind == VT_TEXT)
        must(event->len > 0);
    for (size_t i = 0; event->kind == VT_TEXT && i < event->len; i++)
        must((unsigned char)event->text[i] >= 0x20 && event->text[i] != 0x7f);
    if (event->kind == VT_OSC)
        must(event->len <= VT_STRING_MAX);
    if (event->kind == VT_CONTROL)
        must((unsigned char)event->final < 0x20 || event->final == 0x7f);
}

/* Appends what an event says; text alone has no mark, so that pieces of it join. */
static void note(const struct vt_event *event, void *arg)
{
    struct str *to = arg;

    check_event(event);
    if (event->kind == VT_TEXT) {
        str_addn(to, event->text, event->len);
        return;
    }
    str_addf(to, "\n%d %d %d %d", event->kind, event->prefix, event->intermediate, event->final);
    for (size_t i = 0; i < event->param_count; i++)
        str_addf(to, ";%d", event->params[i]);
    str_addc(to, ' ');
    str_addn(to, event->text, event->len);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    _cleanup_str_ struct str whole = STR_INIT;
    _cleanup_str_ struct str cut = STR_INIT;
    struct vt vt = {.state = 0};

    if (size == 0)
        return 0;
    size_t step = 1 + data[0] % 16;
    const char *bytes = (const char *)data + 1;
    size--;
    vt_feed(&vt, bytes, size, note, &whole);
    vt = (struct vt){.state = 0};
    for (size_t i = 0; i < size; i += step)
        vt_feed(&vt, bytes + i, size - i < step ? size - i : step, note, &cut);
    must(whole.len == cut.len && memcmp(str_text(&whole), str_text(&cut), whole.len) == 0);
    return 0;
}

/* kv_parse() on any bytes. What it takes must come out of kv_add() and back again the same. */
#include "base/kv.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct kv first = {.count = 0};
    struct kv second = {.count = 0};
    struct err err = ERR_INIT;

    if (kv_parse((const char *)data, size, &first, &err) == -1) {
        must(err.code == MAS_DAMAGED && first.count == 0);
        return 0;
    }
    for (size_t i = 0; i < first.count; i++) {
        must(!str_has_control(first.pairs[i].value));
        kv_add(&text, first.pairs[i].key, first.pairs[i].value);
    }
    must(kv_parse(str_text(&text), text.len, &second, &err) == 0 && second.count == first.count);
    for (size_t i = 0; i < first.count; i++)
        must(strcmp(first.pairs[i].value, second.pairs[i].value) == 0);
    kv_free(&first);
    kv_free(&second);
    return 0;
}

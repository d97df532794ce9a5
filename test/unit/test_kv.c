#include "unit.h"

#include "base/kv.h"

static int parse(const char *text, struct kv *kv, struct err *err)
{
    return kv_parse(text, strlen(text), kv, err);
}

TEST(reads_what_it_writes)
{
    static const char *const values[] = {
        "",   "plain-1.0/:@%+,", "two words", "it's", "$(touch x)", "a=b;c", "`id`", "\\", "'",
        "''", "#{x} #",          "\xc3\xa9",  "\xff"};
    _cleanup_str_ struct str text = STR_INIT;
    struct kv kv = {.count = 0};
    struct err err = ERR_INIT;
    char key[] = "KEY_A";

    for (size_t i = 0; i < ARRAY_LEN(values); i++, key[4]++)
        kv_add(&text, key, values[i]);
    REQUIRE(kv_parse(text.data, text.len, &kv, &err) == 0);
    CHECK_INT(kv.count, ARRAY_LEN(values));
    for (size_t i = 0; i < kv.count; i++)
        CHECK_STR(kv.pairs[i].value, values[i]);
    kv_free(&kv);
}

TEST(refuses_what_a_shell_could_run)
{
    static const char *const bad[] = {
        "A=$(touch x)\n", "A=`id`\n",   "A=b c\n",      "A=b;c\n",    "A='a\n",     "A='a'b\n",
        "A=\"b\"\n",      "A='a'\\'\n", "export A=b\n", "A =b\n",     "a=b\n",      "1A=b\n",
        "=b\n",           "# text\n",   "\n",           "A=b",        "A=b\r\n",    "A='\033[2J'\n",
        "A=~\n",          "A=b\nA=c\n", "A=a'b'\n",     "A='\x7f'\n", "A='a''b'\n", "A=*\n",
        "A=b#c\n",        "[A=b\n",     "_A=b\n",       "@A=b\n",     "A[=b\n",     "A='a'\\\n",
        "A='a'\\'",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct kv kv = {.count = 0};
        struct err err = ERR_INIT;
        CHECK(parse(bad[i], &kv, &err) == -1);
        CHECK_INT(err.code, MAS_DAMAGED);
        CHECK_INT(kv.count, 0);
        kv_free(&kv);
    }
}

TEST(names_the_line)
{
    struct kv kv = {.count = 0};
    struct err err = ERR_INIT;
    CHECK(parse("A=b\nB=c d\n", &kv, &err) == -1);
    CHECK_STR(err.text, "line 2: missing quotes around a value");
}

TEST(has_limits)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct kv kv = {.count = 0};
    struct err err = ERR_INIT;

    for (int more = 0; more < 2; more++) {
        str_clear(&text);
        for (int i = 0; i < KV_PAIRS_MAX + more; i++)
            str_addf(&text, "K%d=v\n", i);
        CHECK_INT(kv_parse(text.data, text.len, &kv, &err), -more);
        kv_free(&kv);
        str_clear(&text);
        str_add(&text, "A=");
        while (text.len + 1 < KV_FILE_MAX + (size_t)more)
            str_addc(&text, 'x');
        str_addc(&text, '\n');
        CHECK_INT(kv_parse(text.data, text.len, &kv, &err), -more);
        kv_free(&kv);
        str_clear(&text);
        for (int i = 0; i < 64 + more; i++)
            str_addc(&text, 'K');
        str_add(&text, "=v\n");
        CHECK_INT(kv_parse(text.data, text.len, &kv, &err), -more);
        kv_free(&kv);
    }
    CHECK(kv_parse("A=\0b\n", 5, &kv, &err) == -1);
}

TEST(takes_and_puts)
{
    struct kv kv = {.count = 0};

    kv_put(&kv, "A", "1");
    kv_put(&kv, "B", "2");
    kv_put(&kv, "A", "3");
    CHECK_INT(kv.count, 2);
    CHECK_STR(kv_get(&kv, "A"), "3");
    char *taken = kv_pop(&kv, "B");
    CHECK_STR(taken, "2");
    CHECK(kv_get(&kv, "B") == NULL);
    CHECK(kv_pop(&kv, "B") == NULL);
    mem_freep(&taken);
    kv_free(&kv);
}

TEST(salvages_only_what_is_certain)
{
    static const char text[] = "A=1\nB=2\nbad line\nA=3\nC=4\nA=1\nD='half";
    struct kv kv = {.count = 0};

    kv_salvage(text, strlen(text), &kv);
    CHECK_INT(kv.count, 2);
    CHECK_STR(kv_get(&kv, "A"), NULL);
    CHECK_STR(kv_get(&kv, "B"), "2");
    CHECK_STR(kv_get(&kv, "C"), "4");
    kv_free(&kv);
}

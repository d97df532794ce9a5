#include "unit.h"

#include "git/lfs.h"

#define OID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define VERSION "version https://git-lfs.github.com/spec/v1\n"

static bool parses(const char *text)
{
    struct lfs_pointer pointer;

    return lfs_parse(text, strlen(text), &pointer);
}

TEST(reads_what_it_writes)
{
    static const int64_t sizes[] = {0, 1, 1023, INT64_C(999999999999999999)};

    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        const struct lfs_pointer pointer = {.oid = OID, .size = sizes[i]};
        struct lfs_pointer read = {.size = -1};
        _cleanup_str_ struct str text = STR_INIT;
        lfs_format(&pointer, &text);
        CHECK(lfs_parse(text.data, text.len, &read));
        CHECK_STR(read.oid, OID);
        CHECK_INT(read.size, sizes[i]);
    }
}

TEST(takes_blanks_at_the_end)
{
    CHECK(parses(VERSION "oid sha256:" OID "\nsize 12"));
    CHECK(parses(VERSION "oid sha256:" OID "\nsize 12\n\n \r\n"));
}

TEST(refuses_what_is_no_pointer)
{
    static const char *const texts[] = {
        "",
        VERSION,
        "oid sha256:" OID "\nsize 12\n",
        "version https://git-lfs.github.com/spec/v2\noid sha256:" OID "\nsize 12\n",
        VERSION "oid sha256:" OID "\n",
        VERSION "oid sha256:" OID "\nsize \n",
        VERSION "oid sha256:" OID "\nsize -1\n",
        VERSION "oid sha256:" OID "\nsize +1\n",
        VERSION "oid sha256:" OID "\nsize 0x1\n",
        VERSION "oid sha256:" OID "\nsize 1000000000000000000\n",
        VERSION "oid sha256:" OID "\nsize 12\nmore\n",
        VERSION "oid sha256:" OID "0\nsize 12\n",
        VERSION "oid md5:" OID "\nsize 12\n",
        VERSION "oid sha256:../../../../../../../../../../../../../../../../../../../etc/hosts\n"
                "size 12\n",
        VERSION "oid sha256:"
                "0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF\nsize 12\n",
        VERSION "ext-0-x sha256:" OID "\noid sha256:" OID "\nsize 12\n",
        " " VERSION "oid sha256:" OID "\nsize 12\n",
    };
    static const char hidden[] = VERSION "oid sha256:" OID "\nsize 12\n\0more";
    struct lfs_pointer pointer;

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        CHECK(!parses(texts[i]));
    CHECK(!lfs_parse(hidden, sizeof hidden - 1, &pointer));
}

TEST(refuses_a_long_text)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct lfs_pointer pointer;

    str_add(&text, VERSION "oid sha256:" OID "\nsize 12\n");
    while (text.len < LFS_POINTER_MAX - 1)
        str_addc(&text, '\n');
    CHECK(lfs_parse(text.data, text.len, &pointer));
    str_addc(&text, '\n');
    CHECK(!lfs_parse(text.data, text.len, &pointer));
}

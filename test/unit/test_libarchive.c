/* What libarchive's own zstd filter does: the reasons for src/archive/zstd_writer.c and
 * zstd_reader.c. It is as fast as these, but mas-archive(5) promises one frame with a checksum and
 * nothing behind it. */
#include "unit.h"

#include <archive.h>
#include <archive_entry.h>

#define TEXT "a text that is written to an archive\n"

struct bytes {
    char data[4096];
    size_t len;
};

static struct archive *new_writer(struct bytes *to)
{
    struct archive *tar = archive_write_new();

    CHECK_INT(archive_write_add_filter_zstd(tar), ARCHIVE_OK);
    CHECK_INT(archive_write_set_format_pax(tar), ARCHIVE_OK);
    CHECK_INT(archive_write_set_bytes_per_block(tar, 0), ARCHIVE_OK);
    CHECK_INT(archive_write_open_memory(tar, to->data, sizeof to->data, &to->len), ARCHIVE_OK);
    return tar;
}

/* Writes an archive with one file, or without any. */
static struct bytes write_archive(bool with_file)
{
    struct bytes ret = {.len = 0};
    struct archive *tar = new_writer(&ret);
    struct archive_entry *entry = archive_entry_new();

    archive_entry_set_pathname(entry, "a");
    archive_entry_set_mode(entry, 0100600);
    archive_entry_set_size(entry, strlen(TEXT));
    if (with_file) {
        CHECK_INT(archive_write_header(tar, entry), ARCHIVE_OK);
        CHECK_INT(archive_write_data(tar, TEXT, strlen(TEXT)), strlen(TEXT));
    }
    CHECK_INT(archive_write_close(tar), ARCHIVE_OK);
    archive_entry_free(entry);
    (void)archive_write_free(tar);
    return ret;
}

static void append(struct bytes *to, const void *data, size_t len)
{
    if (CHECK(to->len + len <= sizeof to->data)) {
        memcpy(to->data + to->len, data, len);
        to->len += len;
    }
}

/* Returns true if an archive is read to its end without an error, with its one file. */
static bool reads(const struct bytes *bytes)
{
    struct archive *tar = archive_read_new();
    struct archive_entry *entry;
    char text[64] = "";
    bool read;

    CHECK_INT(archive_read_support_filter_zstd(tar), ARCHIVE_OK);
    CHECK_INT(archive_read_support_format_tar(tar), ARCHIVE_OK);
    read = archive_read_open_memory(tar, bytes->data, bytes->len) == ARCHIVE_OK &&
           archive_read_next_header(tar, &entry) == ARCHIVE_OK &&
           archive_read_data(tar, text, sizeof text) == (la_ssize_t)strlen(TEXT) &&
           strcmp(text, TEXT) == 0 && archive_read_next_header(tar, &entry) == ARCHIVE_EOF &&
           archive_read_close(tar) == ARCHIVE_OK;
    (void)archive_read_free(tar);
    return read;
}

TEST(writes_and_reads_an_archive)
{
    struct bytes bytes = write_archive(true);

    CHECK(reads(&bytes));
    bytes.len -= 1;
    CHECK(!reads(&bytes));
}

TEST(writes_no_checksum)
{
    struct bytes bytes = write_archive(true);
    struct archive *tar = archive_write_new();

    CHECK_INT(memcmp(bytes.data, "\x28\xb5\x2f\xfd", 4), 0);
    CHECK_INT(bytes.data[4] & 0x04, 0); /* Content_Checksum_flag, RFC 8878, 3.1.1.1.1 */
    CHECK_INT(archive_write_add_filter_zstd(tar), ARCHIVE_OK);
    CHECK_INT(archive_write_set_filter_option(tar, "zstd", "compression-level", "9"), ARCHIVE_OK);
    CHECK(archive_write_set_filter_option(tar, "zstd", "checksum", "1") != ARCHIVE_OK);
    (void)archive_write_free(tar);
}

TEST(reads_an_archive_with_another_behind_it)
{
    struct bytes bytes = write_archive(true);
    struct bytes other = write_archive(true);

    append(&bytes, other.data, other.len);
    CHECK(reads(&bytes));
}

/* Such a frame may hold anything. */
TEST(reads_past_skippable_frames)
{
    static const char skippable[] = "\x50\x2a\x4d\x18\x06\x00\x00\x00hidden";
    struct bytes archive = write_archive(true);
    struct bytes bytes = {.len = 0};

    append(&bytes, skippable, sizeof skippable - 1);
    append(&bytes, archive.data, archive.len);
    append(&bytes, skippable, sizeof skippable - 1);
    CHECK(reads(&bytes));
}

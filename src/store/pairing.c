#include "store/pairing.h"

#include "base/time.h"
#include "os/file.h"

#include <sys/random.h>

enum { FILE_MAX = 512, WORDS = 6, TYPED_MAX = 64 };

/* Without those that look or sound like others; 32 of them, so that five bits are one. */
static const char letters[] = "ABCDEFGHJKMNPQRSTVWXYZ0123456789";
_Static_assert(sizeof letters == 33, "a letter is five bits");

/* An offer as it is in the file. */
struct pairing_file {
    struct pairing pairing;
    struct token code; /* its hash, and when it expires */
    unsigned tries;
};

static int write_offer(const struct root *root, const struct pairing_file *offer, struct err *err)
{
    const struct pairing *pairing = &offer->pairing;
    _cleanup_str_ struct str text = STR_INIT;
    char until[TIME_TEXT];
    char expires[TIME_TEXT] = "-";

    time_format(offer->code.expires, until);
    if (pairing->expires != 0)
        time_format(pairing->expires, expires);
    str_addf(&text, "%s %s %s %s %s %u\n", offer->code.hash, pairing->name,
             right_name(pairing->right), until, expires, offer->tries);
    return file_replace(root->sessions, PAIRING_FILE, str_text(&text), text.len, 0600, err);
}

static bool parse_offer(char *line, struct pairing_file *ret)
{
    struct pairing_file offer = {.code = {.right = RIGHT_READ}};
    char *words[WORDS];

    line[strcspn(line, "\n")] = '\0';
    if (!str_fields(line, ' ', words, WORDS) || !sha256_is_hex(words[0]) ||
        !str_is_word(words[1], TOKEN_NAME_MAX) || !right_parse(words[2], &offer.pairing.right) ||
        !time_parse(words[3], &offer.code.expires) ||
        (strcmp(words[4], "-") != 0 && !time_parse(words[4], &offer.pairing.expires)) ||
        strlen(words[5]) != 1 || words[5][0] < '1' || words[5][0] > '0' + PAIRING_TRIES)
        return false;
    (void)snprintf(offer.code.hash, sizeof offer.code.hash, "%s", words[0]);
    (void)snprintf(offer.pairing.name, sizeof offer.pairing.name, "%s", words[1]);
    offer.tries = (unsigned)(words[5][0] - '0');
    *ret = offer;
    return true;
}

static int make_code(char ret[PAIRING_TEXT], struct err *err)
{
    unsigned char bytes[PAIRING_CODE];
    char *to = ret;

    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return err_errno(err, "cannot make a code");
    for (size_t i = 0; i < PAIRING_CODE; i++) {
        if (i == PAIRING_CODE / 2)
            *to++ = '-';
        *to++ = letters[bytes[i] % (sizeof letters - 1)];
    }
    *to = '\0';
    return 0;
}

/* Writes the sum of a code without its hyphen, in capitals, with O for 0 and I or L for 1. */
static void sum_code(const char *typed, char ret[SHA256_TEXT])
{
    char code[TYPED_MAX];
    size_t len = 0;

    for (const char *at = typed; *at != '\0' && len < sizeof code; at++) {
        char c = (char)toupper((unsigned char)*at);
        if (c == '-' || c == ' ')
            continue;
        code[len++] = c == 'O' ? '0' : c == 'I' || c == 'L' ? '1' : c;
    }
    sha256_of(code, len, ret);
}

int pairing_offer(const struct root *root, const struct pairing *pairing, char ret[PAIRING_TEXT],
                  struct err *err)
{
    struct pairing_file offer = {.pairing = *pairing, .tries = PAIRING_TRIES};
    _cleanup_close_ int lock = -1;
    char code[PAIRING_TEXT];

    if (root_lock(root, &lock, err) == -1 || token_check_new(root, pairing->name, err) == -1 ||
        make_code(code, err) == -1)
        return -1;
    offer.code.expires = time(NULL) + PAIRING_S;
    sum_code(code, offer.code.hash);
    if (write_offer(root, &offer, err) == -1)
        return err_wrap(err, "cannot offer a pairing");
    memcpy(ret, code, sizeof code);
    return 0;
}

/* Returns true if the code is right; otherwise counts the try. */
static bool try_code(const struct root *root, struct pairing_file *offer, const char *code)
{
    const struct tokens one = {.at = &offer->code, .count = 1};
    struct err ignored = ERR_INIT;
    char hash[SHA256_TEXT];

    sum_code(code, hash);
    if (tokens_find(&one, hash, time(NULL)) != NULL)
        return true;
    if (--offer->tries == 0 || !token_is_valid(&offer->code, time(NULL)) ||
        write_offer(root, offer, &ignored) == -1)
        (void)unlinkat(root->sessions, PAIRING_FILE, 0);
    return false;
}

int pairing_take(const struct root *root, const char *code, struct pairing *ret, struct err *err)
{
    struct err ignored = ERR_INIT;
    _cleanup_free_ char *text = NULL;
    _cleanup_close_ int lock = -1;
    struct pairing_file offer;
    size_t len = 0;

    if (root_lock(root, &lock, err) == -1)
        return -1;
    if (file_read(root->sessions, PAIRING_FILE, FILE_MAX, &text, &len, &ignored) == -1 ||
        !parse_offer(text, &offer) || !try_code(root, &offer, code)) {
        (void)err_set(err, MAS_NOT_FOUND, "the code is wrong, or no longer valid");
        return err_hint(err, "get another one on the machine with: mas serve pair");
    }
    if (unlinkat(root->sessions, PAIRING_FILE, 0) == -1)
        return err_errno(err, "cannot take the pairing");
    *ret = offer.pairing;
    return 0;
}

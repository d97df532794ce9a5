/*
 * The few offers are read and written together, under the metadata lock; those that are over go
 * with the next write. Of a code only the hash is kept. A wrong one costs every offer a try; if
 * that cannot be written the offers end, so that nobody guesses for nothing.
 */

#include "store/pairing.h"

#include "base/time.h"
#include "os/file.h"

#include <sys/random.h>

enum { FILE_MAX = 16 * 1024, WORDS = 6, GUEST_WORDS = WORDS + 2, TYPED_MAX = 64 };

/* Without those that look or sound like others; 32 of them, so that five bits are one. */
static const char letters[] = "ABCDEFGHJKMNPQRSTVWXYZ0123456789";
_Static_assert(sizeof letters == 33, "a letter is five bits");

/* An offer as it is in the file. */
struct invitation {
    struct pairing pairing;
    struct token code; /* its hash, and when it expires */
    unsigned tries;
};

struct offers {
    struct invitation at[PAIRING_OFFERS];
    size_t count;
};

static void put_offer(const struct invitation *offer, struct str *to)
{
    const struct pairing *pairing = &offer->pairing;
    char until[TIME_TEXT];
    char expires[TIME_TEXT] = "-";

    time_format(offer->code.expires, until);
    if (pairing->expires != 0)
        time_format(pairing->expires, expires);
    str_addf(to, "%s %s %s %s %s %u", offer->code.hash, pairing->name, right_name(pairing->right),
             until, expires, offer->tries);
    guest_put(&pairing->guest, to);
    str_addc(to, '\n');
}

/* Without an offer there is no file. */
static int write_offers(const struct root *root, const struct offers *offers, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;

    for (size_t i = 0; i < offers->count; i++)
        put_offer(&offers->at[i], &text);
    if (offers->count > 0)
        return file_replace(root->sessions, PAIRING_FILE, str_text(&text), text.len, 0600, err);
    return unlinkat(root->sessions, PAIRING_FILE, 0) == 0 || errno == ENOENT
               ? 0
               : err_errno(err, "cannot remove '" PAIRING_FILE "'");
}

static bool parse_offer(char *line, struct invitation *ret)
{
    struct invitation offer = {.code = {.right = RIGHT_READ}};
    char *words[GUEST_WORDS];
    size_t blanks = 0;

    for (const char *at = line; *at != '\0'; at++)
        blanks += *at == ' ';
    bool with_guest = blanks == GUEST_WORDS - 1;
    if (!str_fields(line, ' ', words, with_guest ? GUEST_WORDS : WORDS) ||
        !sha256_is_hex(words[0]) || !str_is_word(words[1], TOKEN_NAME_MAX) ||
        !right_parse(words[2], &offer.pairing.right) ||
        !time_parse(words[3], &offer.code.expires) ||
        (strcmp(words[4], "-") != 0 && !time_parse(words[4], &offer.pairing.expires)) ||
        strlen(words[5]) != 1 || words[5][0] < '1' || words[5][0] > '0' + PAIRING_TRIES)
        return false;
    if (with_guest && !guest_parse(words[6], words[7], &offer.pairing.guest))
        return false;
    (void)snprintf(offer.code.hash, sizeof offer.code.hash, "%s", words[0]);
    (void)snprintf(offer.pairing.name, sizeof offer.pairing.name, "%s", words[1]);
    offer.tries = (unsigned)(words[5][0] - '0');
    *ret = offer;
    return true;
}

/* Reads the offers that are valid. A line that mas would not write makes all of it count for
 * nothing. */
static int read_offers(const struct root *root, struct offers *ret, struct err *err)
{
    _cleanup_free_ char *text = NULL;
    struct offers offers = {.count = 0};
    struct invitation offer;
    size_t len = 0;

    ret->count = 0;
    if (file_read_if_there(root->sessions, PAIRING_FILE, FILE_MAX, &text, &len, err) == -1)
        return -1;
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
        if (*line == '\0')
            continue;
        if (offers.count == PAIRING_OFFERS || !parse_offer(line, &offer))
            return 0;
        if (token_is_valid(&offer.code, time(NULL)))
            offers.at[offers.count++] = offer;
    }
    *ret = offers;
    return 0;
}

static void drop(struct offers *offers, size_t i)
{
    offers->at[i] = offers->at[--offers->count];
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

int pairing_seconds(const struct pairing *pairing)
{
    return guest_is(&pairing->guest) ? PAIRING_GUEST_S : PAIRING_S;
}

/* Makes room for an offer: to a browser of the owner there is one at a time. Fails if the name is
 * offered to another one. */
static int make_room(struct offers *offers, const struct pairing *pairing, struct err *err)
{
    for (size_t i = offers->count; i-- > 0;)
        if (!guest_is(&pairing->guest) && !guest_is(&offers->at[i].pairing.guest))
            drop(offers, i);
    for (size_t i = 0; i < offers->count; i++)
        if (strcmp(offers->at[i].pairing.name, pairing->name) == 0) {
            (void)err_set(err, MAS_CONFLICT,
                          "cannot offer the token '%s': one of this name is offered already",
                          pairing->name);
            return err_hint(err, "choose another name");
        }
    if (offers->count < PAIRING_OFFERS)
        return 0;
    (void)err_set(err, MAS_CONFLICT, "cannot offer the token '%s': %d are offered already",
                  pairing->name, PAIRING_OFFERS);
    return err_hint(err, "wait until they are taken, or end those to guests: mas invite --list");
}

int pairing_offer(const struct root *root, const struct pairing *pairing, char ret[PAIRING_TEXT],
                  struct err *err)
{
    struct invitation offer = {.pairing = *pairing, .tries = PAIRING_TRIES};
    _cleanup_close_ int lock = -1;
    char code[PAIRING_TEXT];
    struct offers offers;

    if (root_lock(root, &lock, err) == -1 || token_check_new(root, pairing->name, err) == -1 ||
        make_code(code, err) == -1)
        return -1;
    if (read_offers(root, &offers, err) == -1 || make_room(&offers, pairing, err) == -1)
        return -1;
    offer.code.expires = time(NULL) + pairing_seconds(pairing);
    sum_code(code, offer.code.hash);
    offers.at[offers.count++] = offer;
    if (write_offers(root, &offers, err) == -1)
        return err_wrap(err, "cannot offer a pairing");
    memcpy(ret, code, sizeof code);
    return 0;
}

/* Returns the offer with this code, or NULL after counting the try. */
static struct invitation *try_code(const struct root *root, struct offers *offers, const char *code)
{
    struct err ignored = ERR_INIT;
    struct invitation *found = NULL;
    char hash[SHA256_TEXT];

    sum_code(code, hash);
    for (size_t i = 0; i < offers->count; i++) {
        const struct tokens one = {.at = &offers->at[i].code, .count = 1};
        if (tokens_find(&one, hash, time(NULL)) != NULL)
            found = &offers->at[i];
    }
    if (found != NULL)
        return found;
    for (size_t i = offers->count; i-- > 0;)
        if (--offers->at[i].tries == 0)
            drop(offers, i);
    if (write_offers(root, offers, &ignored) == -1)
        (void)unlinkat(root->sessions, PAIRING_FILE, 0);
    return NULL;
}

int pairing_take(const struct root *root, const char *code, struct pairing *ret, struct err *err)
{
    struct err ignored = ERR_INIT;
    _cleanup_close_ int lock = -1;
    struct offers offers;

    if (root_lock(root, &lock, err) == -1)
        return -1;
    (void)read_offers(root, &offers, &ignored);
    struct invitation *found = try_code(root, &offers, code);
    if (found == NULL) {
        (void)err_set(err, MAS_NOT_FOUND, "the code is wrong, or no longer valid");
        return err_hint(err, "get another one on the machine with: mas serve pair");
    }
    struct pairing pairing = found->pairing;
    drop(&offers, (size_t)(found - offers.at));
    if (write_offers(root, &offers, err) == -1)
        return err_wrap(err, "cannot take the pairing");
    *ret = pairing;
    return 0;
}

/* ---- guests */

size_t pairing_guests(const struct root *root, struct pairing ret[PAIRING_OFFERS])
{
    struct err ignored = ERR_INIT;
    struct offers offers;
    size_t count = 0;

    (void)read_offers(root, &offers, &ignored);
    for (size_t i = 0; i < offers.count; i++)
        if (guest_is(&offers.at[i].pairing.guest))
            ret[count++] = offers.at[i].pairing;
    return count;
}

int pairing_end_guests(const struct root *root, const char *session, const char *name,
                       size_t *count, struct err *err)
{
    struct offers offers;

    if (read_offers(root, &offers, err) == -1)
        return -1;
    size_t before = offers.count;
    for (size_t i = offers.count; i-- > 0;) {
        const struct pairing *pairing = &offers.at[i].pairing;
        if (guest_is(&pairing->guest) &&
            (session == NULL || strcmp(pairing->guest.session, session) == 0) &&
            (name == NULL || strcmp(pairing->name, name) == 0))
            drop(&offers, i);
    }
    *count += before - offers.count;
    if (offers.count < before && write_offers(root, &offers, err) == -1)
        return -1;
    return token_remove_guests(root, session, name, count, err);
}

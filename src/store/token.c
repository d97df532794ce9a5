/*
 * Each question reads the whole file, and one line that mas would not write makes all of it count
 * for nothing, like another owner or mode. A change reads the file, leaves out the tokens that have
 * expired and replaces it under the lock of the root. Of a new token only the sum is written, so
 * nothing that is read here opens anything.
 */

#include "store/token.h"

#include "base/time.h"
#include "model/team/team.h"
#include "os/file.h"

#include <sys/random.h>

enum { FILE_MAX = 256 * 1024, WORDS = 5, GUEST_WORDS = WORDS + 2 };

static const char *const right_names[RIGHT_COUNT] = {
    [RIGHT_NONE] = "none",
    [RIGHT_READ] = "read",
    [RIGHT_ANSWER] = "answer",
    [RIGHT_FULL] = "full",
};

const char *right_name(enum right right)
{
    return right_names[right];
}

bool right_parse(const char *text, enum right *ret)
{
    for (enum right right = RIGHT_READ; right < RIGHT_COUNT; right++)
        if (strcmp(text, right_names[right]) == 0) {
            *ret = right;
            return true;
        }
    return false;
}

void tokens_free(struct tokens *tokens)
{
    free(tokens->at);
    *tokens = (struct tokens)TOKENS_INIT;
}

/* ---- guests */

/* Returns true if a list with commas has a word. */
static bool list_has(const char *list, const char *word)
{
    size_t len = strlen(word);

    for (const char *at = list; *at != '\0'; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == len && strncmp(at, word, len) == 0)
            return true;
    return false;
}

bool guest_is(const struct guest *guest)
{
    return guest->session[0] != '\0';
}

bool guest_sees(const struct guest *guest, const char *session, const char *agent)
{
    if (!guest_is(guest))
        return true;
    return session != NULL && strcmp(session, guest->session) == 0 &&
           (agent == NULL || guest->agents[0] == '\0' || list_has(guest->agents, agent));
}

bool guest_parse(const char *session, const char *agents, struct guest *ret)
{
    struct guest guest = {.agents = ""};
    bool all = strcmp(agents, "-") == 0;

    if (!id_is_valid(session) || *agents == '\0' || strlen(agents) > GUEST_AGENTS_MAX)
        return false;
    for (const char *at = agents; !all && *at != '\0';) {
        _cleanup_free_ char *word = mem_dupn(at, strcspn(at, ","));
        at += strlen(word);
        if (!str_is_word(word, TEAM_WORD_MAX) || strcmp(at, ",") == 0)
            return false;
        at += *at == ',';
    }
    memcpy(guest.session, session, ID_TEXT);
    (void)snprintf(guest.agents, sizeof guest.agents, "%s", all ? "" : agents);
    *ret = guest;
    return true;
}

void guest_put(const struct guest *guest, struct str *to)
{
    if (guest_is(guest))
        str_addf(to, " %s %s", guest->session, guest->agents[0] != '\0' ? guest->agents : "-");
}

/* ---- reading */

static size_t count_blanks(const char *line)
{
    size_t count = 0;

    while ((line = strchr(line, ' ')) != NULL)
        line++, count++;
    return count;
}

static bool parse_line(char *line, struct token *ret)
{
    struct token token = {.right = RIGHT_NONE};
    char *words[GUEST_WORDS];
    bool is_guests = count_blanks(line) == GUEST_WORDS - 1;

    if (!str_fields(line, ' ', words, is_guests ? GUEST_WORDS : WORDS) ||
        !sha256_is_hex(words[0]) || (is_guests && !guest_parse(words[5], words[6], &token.guest)) ||
        !str_is_word(words[1], TOKEN_NAME_MAX) || !right_parse(words[2], &token.right) ||
        !time_parse(words[3], &token.made) ||
        (strcmp(words[4], "-") != 0 && !time_parse(words[4], &token.expires)))
        return false;
    (void)snprintf(token.hash, sizeof token.hash, "%s", words[0]);
    (void)snprintf(token.name, sizeof token.name, "%s", words[1]);
    *ret = token;
    return true;
}

int tokens_read(const struct root *root, struct tokens *ret, struct err *err)
{
    struct tokens tokens = TOKENS_INIT;
    _cleanup_free_ char *text = NULL;
    size_t number = 0;
    size_t len = 0;

    if (root_check_private(root, TOKENS_FILE,
                           "remove it and make the tokens anew with: mas serve token add",
                           err) == -1)
        return -1;
    int there = file_read_if_there(root->sessions, TOKENS_FILE, FILE_MAX, &text, &len, err);
    if (there == 0)
        *ret = tokens;
    if (there != 1)
        return there;
    if (strlen(text) < len)
        return err_set(err, MAS_DAMAGED,
                       "cannot read '" ROOT_SESSIONS "/" TOKENS_FILE "': it has a NUL byte");
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
        struct token token;
        number++;
        if (*line == '\0')
            continue;
        if (!parse_line(line, &token)) {
            tokens_free(&tokens);
            return err_set(err, MAS_DAMAGED,
                           "cannot read '" ROOT_SESSIONS "/" TOKENS_FILE "': line %zu is none of a "
                           "token",
                           number);
        }
        tokens.at = mem_room(tokens.at, tokens.count, sizeof *tokens.at);
        tokens.at[tokens.count++] = token;
    }
    *ret = tokens;
    return 0;
}

bool token_is_valid(const struct token *token, time_t now)
{
    return token->right != RIGHT_NONE && (token->expires == 0 || now < token->expires);
}

static bool same_hash(const char *a, const char *b)
{
    volatile unsigned char differs = 0;

    for (size_t i = 0; i < SHA256_HEX; i++)
        differs = (unsigned char)(differs | (a[i] ^ b[i]));
    return differs == 0;
}

const struct token *tokens_find(const struct tokens *tokens, const char hash[SHA256_TEXT],
                                time_t now)
{
    const struct token *found = NULL;

    for (size_t i = 0; i < tokens->count; i++)
        if (same_hash(tokens->at[i].hash, hash) && token_is_valid(&tokens->at[i], now))
            found = &tokens->at[i];
    return found;
}

bool guest_is_in(const struct root *root, const char *session)
{
    _cleanup_tokens_ struct tokens tokens = TOKENS_INIT;
    struct err err = ERR_INIT;
    time_t now = time(NULL);

    if (tokens_read(root, &tokens, &err) == -1)
        return err.code != MAS_DAMAGED; /* then nobody has a token */
    for (size_t i = 0; i < tokens.count; i++)
        if (strcmp(tokens.at[i].guest.session, session) == 0 && token_is_valid(&tokens.at[i], now))
            return true;
    return false;
}

/* ---- changes */

int token_make(char ret[TOKEN_TEXT], struct err *err)
{
    unsigned char bytes[TOKEN_BYTES];

    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return err_errno(err, "cannot create a token");
    for (size_t i = 0; i < sizeof bytes; i++)
        (void)snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

static void put_line(const struct token *token, struct str *to)
{
    char made[TIME_TEXT];
    char expires[TIME_TEXT] = "-";

    time_format(token->made, made);
    if (token->expires != 0)
        time_format(token->expires, expires);
    str_addf(to, "%s %s %s %s %s", token->hash, token->name, right_name(token->right), made,
             expires);
    guest_put(&token->guest, to);
    str_addc(to, '\n');
}

/* Writes the tokens that have not expired, except the one named `without`. */
static int write_tokens(const struct root *root, const struct tokens *tokens, const char *without,
                        const struct token *fresh, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    time_t now = time(NULL);

    for (size_t i = 0; i < tokens->count; i++)
        if (token_is_valid(&tokens->at[i], now) &&
            (without == NULL || strcmp(tokens->at[i].name, without) != 0))
            put_line(&tokens->at[i], &text);
    if (fresh != NULL)
        put_line(fresh, &text);
    return file_replace(root->sessions, TOKENS_FILE, str_text(&text), text.len, 0600, err);
}

static const struct token *find_name(const struct tokens *tokens, const char *name, time_t now)
{
    for (size_t i = 0; i < tokens->count; i++)
        if (strcmp(tokens->at[i].name, name) == 0 && token_is_valid(&tokens->at[i], now))
            return &tokens->at[i];
    return NULL;
}

static int check_new(const struct tokens *tokens, const char *name, time_t now, struct err *err)
{
    size_t valid = 0;

    if (strcmp(name, TOKEN_OF_FILE) == 0)
        return err_set(err, MAS_CONFLICT,
                       "cannot add the token '%s': that is the name of the one in the token file",
                       name);
    if (find_name(tokens, name, now) != NULL) {
        (void)err_set(err, MAS_CONFLICT, "cannot add the token '%s': there is one of this name",
                      name);
        return err_hint(err, "choose another name, or remove it with: mas serve token remove %s",
                        name);
    }
    for (size_t i = 0; i < tokens->count; i++)
        valid += token_is_valid(&tokens->at[i], now);
    if (valid < TOKEN_COUNT_MAX)
        return 0;
    (void)err_set(err, MAS_CONFLICT, "cannot add the token '%s': there are %d already", name,
                  TOKEN_COUNT_MAX);
    return err_hint(err, "remove one with: mas serve token remove NAME");
}

static int check_name(const char *name, struct err *err)
{
    if (str_is_word(name, TOKEN_NAME_MAX))
        return 0;
    (void)err_set(err, MAS_USAGE, "cannot add the token '%s': it is not a name", name);
    return err_hint(err, "a name is 1 to %d " STR_WORD_CHARS, TOKEN_NAME_MAX);
}

int token_check_new(const struct root *root, const char *name, struct err *err)
{
    _cleanup_tokens_ struct tokens tokens = TOKENS_INIT;

    return check_name(name, err) == -1 || tokens_read(root, &tokens, err) == -1 ||
                   check_new(&tokens, name, time(NULL), err) == -1
               ? -1
               : 0;
}

int token_add(const struct root *root, const char *name, enum right right, time_t expires,
              char ret[TOKEN_TEXT], struct err *err)
{
    struct token wanted = {.right = right, .expires = expires};

    if (check_name(name, err) == -1)
        return -1;
    (void)snprintf(wanted.name, sizeof wanted.name, "%s", name);
    return token_give(root, &wanted, ret, err);
}

int token_give(const struct root *root, const struct token *wanted, char ret[TOKEN_TEXT],
               struct err *err)
{
    _cleanup_tokens_ struct tokens tokens = TOKENS_INIT;
    const char *name = wanted->name;
    struct token fresh = *wanted;
    _cleanup_close_ int lock = -1;
    char text[TOKEN_TEXT];

    fresh.made = time(NULL);
    if (root_lock(root, &lock, err) == -1 || tokens_read(root, &tokens, err) == -1)
        return err_wrap(err, "cannot add the token '%s'", name);
    if (check_new(&tokens, name, fresh.made, err) == -1 || token_make(text, err) == -1)
        return -1;
    if (guest_is(&fresh.guest) && /* it is removed under the same lock */
        faccessat(root->sessions, fresh.guest.session, F_OK, AT_SYMLINK_NOFOLLOW) == -1)
        return err_set(err, MAS_NOT_FOUND, "cannot add the token '%s': its session is gone", name);
    sha256_of(text, strlen(text), fresh.hash);
    if (write_tokens(root, &tokens, NULL, &fresh, err) == -1)
        return err_wrap(err, "cannot add the token '%s'", name);
    memcpy(ret, text, sizeof text);
    return 0;
}

int token_remove(const struct root *root, const char *name, struct err *err)
{
    _cleanup_tokens_ struct tokens tokens = TOKENS_INIT;
    _cleanup_close_ int lock = -1;

    if (root_lock(root, &lock, err) == -1 || tokens_read(root, &tokens, err) == -1)
        return err_wrap(err, "cannot remove the token '%s'", name);
    for (size_t i = 0; i < tokens.count; i++)
        if (strcmp(tokens.at[i].name, name) == 0) {
            if (write_tokens(root, &tokens, name, NULL, err) == -1)
                return err_wrap(err, "cannot remove the token '%s'", name);
            return 0;
        }
    (void)err_set(err, MAS_NOT_FOUND, "cannot remove the token '%s': there is none of this name",
                  name);
    return err_hint(err, "see: mas serve token list");
}

int token_remove_guests(const struct root *root, const char *session, const char *name,
                        size_t *count, struct err *err)
{
    _cleanup_tokens_ struct tokens tokens = TOKENS_INIT;
    size_t kept = 0;

    if (tokens_read(root, &tokens, err) == -1)
        return -1;
    for (size_t i = 0; i < tokens.count; i++) {
        const struct token *token = &tokens.at[i];
        if (!guest_is(&token->guest) ||
            (session != NULL && strcmp(token->guest.session, session) != 0) ||
            (name != NULL && strcmp(token->name, name) != 0))
            tokens.at[kept++] = *token;
    }
    if (kept == tokens.count)
        return 0;
    *count += tokens.count - kept;
    tokens.count = kept;
    return write_tokens(root, &tokens, NULL, NULL, err);
}

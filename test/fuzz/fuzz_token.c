/*
 * The files of tokens and of an offered pairing with any bytes: nobody gets a right from what is no
 * such file, and a change keeps each token that has not expired.
 */
#include "fuzz.h"
#include "os/file.h"
#include "os/path.h"
#include "os/tree.h"
#include "store/pairing.h"

static char path[] = "/dev/shm/mas-fuzz-token-XXXXXX";
static struct root root = ROOT_INIT;

static void remove_all(void)
{
    _cleanup_close_ int shm = path_open_dir(AT_FDCWD, "/dev/shm");
    struct err err = ERR_INIT;

    root_close(&root);
    (void)tree_remove(shm, strrchr(path, '/') + 1, &err);
}

static void make_root(void)
{
    struct err err = ERR_INIT;

    must(mkdtemp(path) != NULL && atexit(remove_all) == 0);
    _cleanup_close_ int dir = path_open_dir(AT_FDCWD, path);
    must(file_create(dir, ROOT_SETTINGS, "", 0, 0600, &err) == 0);
    must(root_open(path, &root, &err) == 0);
}

static void put(const char *name, const unsigned char *data, size_t size)
{
    struct err err = ERR_INIT;

    (void)unlinkat(root.sessions, name, 0);
    must(file_create(root.sessions, name, (const char *)data, size, 0600, &err) == 0);
}

static void check_token(const struct token *token)
{
    must(strlen(token->hash) == SHA256_HEX && sha256_is_hex(token->hash));
    must(str_is_word(token->name, TOKEN_NAME_MAX));
    must(token->right > RIGHT_NONE && token->right < RIGHT_COUNT);
}

static void change(const struct tokens *before)
{
    _cleanup_tokens_ struct tokens after = TOKENS_INIT;
    struct err err = ERR_INIT;
    char text[TOKEN_TEXT];
    time_t now = time(NULL);

    if (token_add(&root, "fuzz", RIGHT_READ, 0, text, &err) == -1) {
        must(err.code == MAS_CONFLICT); /* taken, or too many */
        return;
    }
    must(tokens_read(&root, &after, &err) == 0);
    size_t at = 0;
    for (size_t i = 0; i < before->count; i++) {
        if (!token_is_valid(&before->at[i], now))
            continue;
        must(at < after.count && strcmp(after.at[at].hash, before->at[i].hash) == 0);
        must(after.at[at].right == before->at[i].right);
        at++;
    }
    must(at + 1 == after.count && strcmp(after.at[at].name, "fuzz") == 0);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    _cleanup_tokens_ struct tokens tokens = TOKENS_INIT;
    struct pairing taken;
    struct err err = ERR_INIT;

    if (root.sessions == -1)
        make_root();
    put(TOKENS_FILE, data, size);
    if (tokens_read(&root, &tokens, &err) == -1) {
        must(tokens.count == 0 && tokens.at == NULL);
    } else {
        for (size_t i = 0; i < tokens.count; i++)
            check_token(&tokens.at[i]);
        change(&tokens);
    }
    put(PAIRING_FILE, data, size);
    err = (struct err)ERR_INIT;
    must(pairing_take(&root, "AAAA-AAAA", &taken, &err) == -1 && err.code == MAS_NOT_FOUND);
    return 0;
}

/*
 * Each file begins with the sum of the request, the server that works on it and a status, 0 until
 * there is an answer. A 0 of this server means that the first request is still worked on; one of
 * another server, that nobody knows what became of it. Files are written under another name and
 * renamed, so one is there as a whole or not at all. Counting is cheap because the directory is
 * read only when it seems full, or once an hour.
 */

#include "serve/keys.h"

#include "os/file.h"
#include "os/path.h"
#include "serve/transfer.h"

#include <dirent.h>

#define KEYS_DIR ROOT_SERVE "keys"
#define UNANSWERED "-"

enum { HEAD_MAX = SHA256_TEXT + ID_TEXT + 16, SWEEP_S = 3600 };

/* What belongs into a file, and found no room on the disk. */
struct unwritten {
    char name[SHA256_TEXT];
    char *text; /* NULL: free */
    size_t len;
};

struct keys {
    const struct root *root;
    char own[ID_TEXT]; /* this server: what another one did not answer nobody will */
    int dir; /* -1: not there yet */
    size_t count; /* files, at least */
    time_t swept;
    struct unwritten unwritten[KEYS_UNWRITTEN_MAX];
};

int keys_open(const struct root *root, struct keys **ret, struct err *err)
{
    char own[ID_TEXT];

    if (id_make(own, err) == -1)
        return -1;
    *ret = mem_alloc(sizeof **ret);
    **ret = (struct keys){.root = root, .dir = -1};
    memcpy((*ret)->own, own, sizeof own);
    return 0;
}

void keys_free(struct keys *keys)
{
    if (keys == NULL)
        return;
    for (size_t i = 0; i < KEYS_UNWRITTEN_MAX; i++)
        free(keys->unwritten[i].text);
    fd_closep(&keys->dir);
    free(keys);
}

/* Finds what is kept in memory for a name; "" finds a free place. NULL: none. */
static struct unwritten *find_unwritten(struct keys *keys, const char *name)
{
    for (size_t i = 0; i < KEYS_UNWRITTEN_MAX; i++)
        if (strcmp(keys->unwritten[i].text != NULL ? keys->unwritten[i].name : "", name) == 0)
            return &keys->unwritten[i];
    return NULL;
}

static void forget(struct unwritten *unwritten)
{
    free(unwritten->text);
    *unwritten = (struct unwritten){.text = NULL};
}

static int write_key(const struct keys *keys, const char *name, const void *text, size_t len,
                     struct err *err)
{
    _cleanup_free_ char *fresh = mem_printf(".%s.new", name);

    (void)unlinkat(keys->dir, fresh, 0);
    if (file_create(keys->dir, fresh, text, len, 0600, err) == -1)
        return -1;
    return renameat(keys->dir, fresh, keys->dir, name) == 0
               ? 0
               : err_errno(err, "cannot rename '%s'", fresh);
}

/* Writes the file of a key, whole, or keeps it in memory if the disk is full. */
static int keep(struct keys *keys, const char *name, const struct str *text, struct err *err)
{
    if (write_key(keys, name, text->data, text->len, err) == 0)
        return 0;
    struct unwritten *to = find_unwritten(keys, name);
    if (to == NULL)
        to = find_unwritten(keys, "");
    if (to == NULL || text->len > KEYS_UNWRITTEN_TEXT || !err_is_full(err))
        return -1;
    forget(to);
    *to = (struct unwritten){.text = mem_dupn(text->data, text->len), .len = text->len};
    memcpy(to->name, name, sizeof to->name);
    return 0;
}

/* Writes what had found no room, as far as there is some now. */
static void catch_up(struct keys *keys)
{
    struct err ignored = ERR_INIT;

    for (size_t i = 0; i < KEYS_UNWRITTEN_MAX; i++) {
        struct unwritten *from = &keys->unwritten[i];
        if (from->text == NULL)
            continue;
        if (write_key(keys, from->name, from->text, from->len, &ignored) == -1)
            return;
        forget(from);
    }
}

/* Removes what is too old, and counts the rest. */
static void sweep(struct keys *keys, time_t now)
{
    int fd = openat(keys->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd == -1 ? NULL : fdopendir(fd);
    struct dirent *entry;
    struct stat st;

    keys->swept = now;
    keys->count = 0;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            fstatat(keys->dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == -1)
            continue;
        bool old = st.st_mtim.tv_sec > now || now - st.st_mtim.tv_sec > KEYS_KEPT_S;
        if (!old || unlinkat(keys->dir, entry->d_name, 0) == -1)
            keys->count++;
    }
    if (dir != NULL)
        (void)closedir(dir);
    else
        fd_closep(&fd);
}

/* Makes sure that there is a directory with room. */
static bool make_room(struct keys *keys, struct request *request)
{
    time_t now = time(NULL);

    if (keys->dir == -1) {
        (void)mkdirat(keys->root->sessions, KEYS_DIR, 0700);
        keys->dir = path_open_dir(keys->root->sessions, KEYS_DIR);
        if (keys->dir == -1) {
            answer_refusal(request, errno == ENOSPC ? 507 : 500, NULL,
                           "send the request without a key", "cannot keep the Idempotency-Key: %s",
                           strerror(errno));
            return false;
        }
    }
    if (keys->swept == 0 || keys->count >= KEYS_MAX || now - keys->swept > SWEEP_S ||
        now < keys->swept)
        sweep(keys, now);
    catch_up(keys);
    if (keys->count < KEYS_MAX)
        return true;
    answer_refusal(request, 503, NULL, "send the request without a key",
                   "%d keys are remembered already", KEYS_MAX);
    return false;
}

static bool is_key(const char *text)
{
    size_t len = strlen(text);

    for (size_t i = 0; i < len; i++)
        if (text[i] <= ' ' || text[i] >= 0x7f)
            return false;
    return len > 0 && len <= KEYS_TEXT_MAX;
}

static void add_text(struct sha256 *sum, const char *text)
{
    sha256_add(sum, text, strlen(text) + 1); /* with its NUL, so that texts do not run together */
}

/* Writes the name of the file, and the sum of the request. */
static void sum_up(const struct request *request, char name[SHA256_TEXT], char sum[SHA256_TEXT])
{
    struct sha256 of_key = sha256_begin();
    struct sha256 of_request = sha256_begin();

    add_text(&of_key, request->token);
    add_text(&of_key, request->idempotency_key);
    sha256_hex(&of_key, name);
    add_text(&of_request, request->verb);
    for (size_t i = 0; i < request->part_count; i++)
        add_text(&of_request, request->parts[i]);
    for (size_t i = 0; i < request->query_count; i++) {
        add_text(&of_request, request->queries[i].key);
        add_text(&of_request, request->queries[i].value);
    }
    sha256_add(&of_request, str_text(&request->body), request->body.len);
    if (request->operation->body != NULL) {
        struct sha256 of_file = request->transfer.sum;
        char file[SHA256_TEXT];
        sha256_hex(&of_file, file);
        add_text(&of_request, file);
    }
    sha256_hex(&of_request, sum);
}

static void answer_broken(struct request *request)
{
    answer_refusal(request, 409, "outcome_unknown",
                   "look whether it was done; if it was not, send it with another key",
                   "the server ended while it worked on the request with this Idempotency-Key");
}

/* Answers a request whose key is known. `text` is the file: the sum of the request, the server that
 * worked on it or UNANSWERED, a status, a newline and the body. */
static void answer_again(const struct keys *keys, const char *sum, const char *text, size_t len,
                         struct request *request)
{
    char was[SHA256_TEXT] = "";
    char server[ID_TEXT] = "";
    int status = 0;
    struct str body = STR_INIT;

    bool is_whole = sscanf(text, "%64s %36s %d", was, server, &status) == 3;
    if (is_whole && strcmp(was, sum) != 0) {
        answer_refusal(request, 422, "key_reused", "use a new key for another request",
                       "this Idempotency-Key stands for another request");
    } else if (is_whole && status != 0) {
        size_t head = strcspn(text, "\n");
        str_addn(&body, text + head + (head < len), len - head - (head < len));
        answer_json(request, status, &body);
        request->answer.replayed = true;
    } else if (is_whole && strcmp(server, keys->own) == 0) {
        answer_refusal(request, 409, "in_progress", "send it again a little later",
                       "the request with this Idempotency-Key is not answered yet");
    } else {
        answer_broken(request);
    }
}

static void put_head(const struct keys *keys, const struct request *request, int status,
                     struct str *to)
{
    str_addf(to, "%s %s %d\n", request->key_sum, keys->own, status);
}

bool keys_begin(struct keys *keys, struct request *request)
{
    char name[SHA256_TEXT];
    char sum[SHA256_TEXT];
    _cleanup_free_ char *text = NULL;
    _cleanup_str_ struct str head = STR_INIT;
    struct err err = ERR_INIT;
    size_t len = 0;

    /* nothing of what a stranger gets, such as a token, is kept */
    if (request->idempotency_key == NULL || request->method != METHOD_POST ||
        request->operation->right == RIGHT_NONE)
        return true;
    if (!is_key(request->idempotency_key)) {
        answer_refusal(request, 400, NULL, "make another key, such as a UUID",
                       "cannot use the Idempotency-Key: it is not 1 to %d printable characters "
                       "without a blank",
                       KEYS_TEXT_MAX);
        return false;
    }
    if (!make_room(keys, request))
        return false;
    sum_up(request, name, sum);
    const struct unwritten *unwritten = find_unwritten(keys, name);
    if (unwritten != NULL) {
        answer_again(keys, sum, unwritten->text, unwritten->len, request);
        return false;
    }
    if (file_read(keys->dir, name, KEYS_ANSWER_MAX + HEAD_MAX, &text, &len, &err) == 0) {
        answer_again(keys, sum, text, len, request);
        return false;
    }
    memcpy(request->key_sum, sum, sizeof sum);
    put_head(keys, request, 0, &head);
    if (err.number != ENOENT || keep(keys, name, &head, &err) == -1) {
        request->key_sum[0] = '\0';
        (void)err_wrap(&err, "cannot keep the Idempotency-Key");
        (void)err_hint(&err, "send the request without a key");
        answer_err(request, &err, 409);
        return false;
    }
    memcpy(request->key_name, name, sizeof name);
    keys->count++;
    return true;
}

/* Returns true if nothing was done for a request with this answer. */
static bool is_void(int status)
{
    return status == 400 || status == 404 || status == 503 || status == 507;
}

void keys_end(struct keys *keys, struct request *request)
{
    const struct answer *answer = &request->answer;
    _cleanup_str_ struct str text = STR_INIT;
    struct err ignored = ERR_INIT;

    if (request->key_name[0] == '\0' || answer->status == 0)
        return;
    struct unwritten *unwritten = find_unwritten(keys, request->key_name);
    put_head(keys, request, answer->status, &text);
    str_addn(&text, str_text(&answer->body), answer->body.len);
    if (is_void(answer->status) || answer->body.len > KEYS_ANSWER_MAX) {
        (void)unlinkat(keys->dir, request->key_name, 0);
        if (unwritten != NULL)
            forget(unwritten);
        keys->count--;
    } else {
        (void)keep(keys, request->key_name, &text, &ignored);
    }
    request->key_name[0] = '\0';
}

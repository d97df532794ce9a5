/*
 * First the words and names, then how .session is written, then how it is read. The reader takes
 * the keys that it knows out of the pairs one by one; what is left is the user's or strange. A file
 * that a script has written may have the first four keys alone. Reading changes nothing on disk:
 * paths of another place and strange keys are only noted in the struct.
 */

#include "store/session.h"

#include "base/file.h"
#include "base/number.h"
#include "base/time.h"
#include "store/config.h"
#include "store/placement.h"
#include "store/tmux_place.h"
#include "store/workspace.h"

static const char *const status_names[STATUS_COUNT] = {"active", "stopped", "error"};
static const char *const mode_names[MODE_COUNT] = {"isolated", "legacy"};
static const char *const migrating_names[] = {"", "stopped", "active"}; /* "": no key */

const size_t session_name_digits[NAME_LENGTHS] = {8, 13, 18, 23, 36};

time_t session_used(const struct session *session)
{
    return session->stopped > session->activity ? session->stopped : session->activity;
}

const char *status_name(enum status status)
{
    return status_names[status];
}

const char *mode_name(enum mode mode)
{
    return mode_names[mode];
}

static bool find_name(const char *const *names, size_t count, const char *text, size_t *ret)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], text) != 0)
            continue;
        *ret = i;
        return true;
    }
    return false;
}

bool status_parse(const char *text, enum status *ret)
{
    size_t i;
    if (!find_name(status_names, STATUS_COUNT, text, &i))
        return false;
    *ret = (enum status)i;
    return true;
}

bool mode_parse(const char *text, enum mode *ret)
{
    size_t i;
    if (!find_name(mode_names, MODE_COUNT, text, &i))
        return false;
    *ret = (enum mode)i;
    return true;
}

const char *session_check_name(const char *name)
{
    static const char want[] =
        "a name must be a letter and at most 63 more letters, digits, _ or -";
    if (!str_is_word(name, SESSION_NAME_MAX) || !isalpha((unsigned char)name[0]))
        return want;
    if (id_could_begin(name))
        return "a name of four or more hex digits (0-9, a-f) could be the beginning of an id";
    return NULL;
}

char *session_tmux_name(const char *id, size_t digits)
{
    return mem_printf("mas-%.*s", (int)digits, id);
}

void session_env(const struct root *root, const struct session *session, struct kv *ret)
{
    _cleanup_free_ char *dir = workspace_path(root, session->id, NULL);
    _cleanup_free_ char *unit = placement_path(root, session->id, session->mode, WORKSPACE_UNIT);
    _cleanup_free_ char *workflows =
        placement_path(root, session->id, session->mode, WORKSPACE_WORKFLOWS);

    kv_put(ret, "MAS_ROOT", root->path);
    kv_put(ret, "MAS_TMUX_SOCKET", session->tmux_socket);
    kv_put(ret, "MAS_SESSION_MODE", mode_names[session->mode]);
    kv_put(ret, "MAS_SESSION_ID", session->id);
    kv_put(ret, "MAS_SESSION_DIR", dir);
    kv_put(ret, "SESSION_NAME", session->tmux_name);
    kv_put(ret, "UNIT_DIR", unit);
    kv_put(ret, "WORKFLOWS_DIR", workflows);
}

static void add_time(struct str *to, const char *key, time_t t)
{
    char text[TIME_TEXT];
    time_format(t, text);
    kv_add(to, key, text);
}

static bool is_set(const char *text)
{
    return text != NULL && text[0] != '\0';
}

static void add_owner(struct str *to, const struct session *session)
{
    if (is_set(session->machine))
        kv_add(to, "MACHINE", session->machine);
    if (is_set(session->boot))
        kv_add(to, "BOOT", session->boot);
    if (is_set(session->store))
        kv_add(to, "STORE", session->store);
    if (is_set(session->lease))
        kv_add(to, "LEASE", session->lease);
    if (is_set(session->moved_to))
        kv_add(to, "MOVED_TO", session->moved_to);
    if (session->epoch != 0) {
        _cleanup_free_ char *epoch = mem_printf("%ju", (uintmax_t)session->epoch);
        kv_add(to, "EPOCH", epoch);
    }
}

void session_format(const struct root *root, const struct session *session, struct str *to)
{
    _cleanup_free_ char *dir = workspace_path(root, session->id, NULL);
    _cleanup_free_ char *unit = placement_path(root, session->id, session->mode, WORKSPACE_UNIT);
    _cleanup_free_ char *workflows =
        placement_path(root, session->id, session->mode, WORKSPACE_WORKFLOWS);

    kv_add(to, "SESSION_ID", session->id);
    kv_add(to, "TMUX_SESSION", session->tmux_name);
    kv_add(to, "STATUS", status_names[session->status]);
    add_time(to, "CREATED_AT", session->created);
    if (session->created_nsec != 0) {
        _cleanup_free_ char *nsec = mem_printf("%ld", session->created_nsec);
        kv_add(to, "CREATED_NSEC", nsec);
    }
    kv_add(to, "TMUX_SOCKET", session->tmux_socket);
    add_owner(to, session);
    kv_add(to, "NAME", session->name);
    kv_add(to, "MODE", mode_names[session->mode]);
    if (session->migrating != MIGRATING_NO)
        kv_add(to, "MIGRATING", migrating_names[session->migrating]);
    kv_add(to, "TEMPLATE", session->template);
    /* only PROMPTED may stand between PRIVATE and SESSION_DIR: see know_prompted() */
    kv_add(to, "PRIVATE", session->private ? "yes" : "no");
    if (session->prompted)
        kv_add(to, "PROMPTED", "yes");
    kv_add(to, "SESSION_DIR", dir);
    kv_add(to, "UNIT_DIR", unit);
    kv_add(to, "WORKFLOWS_DIR", workflows);
    add_time(to, "LAST_ACTIVITY", session->activity);
    if (session->stopped != 0)
        add_time(to, "STOPPED_AT", session->stopped);
    if (session->status == STATUS_ERROR && session->error[0] != '\0')
        kv_add(to, "ERROR", session->error);
    for (size_t i = 0; i < session->extra.count; i++)
        kv_add(to, session->extra.pairs[i].key, session->extra.pairs[i].value);
}

/* Removes KEY from the pairs; if it is `required` and missing, the file is damaged. */
static int parse_text(struct kv *kv, const char *key, bool required, char **ret, struct err *err)
{
    char *value = kv_pop(kv, key);
    if (value == NULL && required)
        return err_set(err, MAS_DAMAGED, "%s is missing", key);
    *ret = value != NULL ? value : mem_dup("");
    return 0;
}

static int parse_time(struct kv *kv, const char *key, bool required, time_t *ret, struct err *err)
{
    _cleanup_free_ char *value = NULL;
    if (parse_text(kv, key, required, &value, err) == -1)
        return -1;
    if (value[0] == '\0' && !required)
        return 0;
    if (!time_parse(value, ret))
        return err_set(err, MAS_DAMAGED, "%s is not a time", key);
    return 0;
}

/* Reads a number from 0 to `max`; 0 if the key is missing. */
static int parse_number(struct kv *kv, const char *key, uint64_t max, uint64_t *ret,
                        struct err *err)
{
    static const struct unit units[] = {{"", 1}};
    _cleanup_free_ char *value = NULL;
    uint64_t n = 0;

    if (parse_text(kv, key, false, &value, err) == -1)
        return -1;
    if (value[0] != '\0' && !number_parse(value, units, 1, max, &n))
        return err_set(err, MAS_DAMAGED, "%s is not a number from 0 to %ju", key, (uintmax_t)max);
    *ret = n;
    return 0;
}

/* Reads the nanoseconds of a second. */
static int parse_nsec(struct kv *kv, const char *key, long *ret, struct err *err)
{
    uint64_t n = 0;
    if (parse_number(kv, key, 999999999, &n, err) == -1)
        return -1;
    *ret = (long)n;
    return 0;
}

/* Reads a line for people; "" if the key is missing. */
static int parse_line(struct kv *kv, const char *key, char **ret, struct err *err)
{
    if (parse_text(kv, key, false, ret, err) == -1)
        return -1;
    size_t len = strlen(*ret);
    bool good = len <= MACHINE_TEXT_MAX;
    for (size_t i = 0; i < len; i++)
        good = good && iscntrl((unsigned char)(*ret)[i]) == 0;
    return good ? 0
                : err_set(err, MAS_DAMAGED, "%s is not one line of at most %d bytes", key,
                          MACHINE_TEXT_MAX);
}

static int parse_owner(struct kv *kv, struct session *session, struct err *err)
{
    if (parse_line(kv, "MACHINE", &session->machine, err) == -1 ||
        parse_line(kv, "BOOT", &session->boot, err) == -1 ||
        parse_line(kv, "MOVED_TO", &session->moved_to, err) == -1 ||
        parse_text(kv, "STORE", false, &session->store, err) == -1 ||
        parse_text(kv, "LEASE", false, &session->lease, err) == -1)
        return -1;
    if (session->store[0] != '\0' && session->store[0] != '/')
        return err_set(err, MAS_DAMAGED, "STORE is not an absolute path");
    if (session->lease[0] != '\0' && !id_is_valid(session->lease))
        return err_set(err, MAS_DAMAGED, "LEASE is not a version 4 UUID");
    return parse_number(kv, "EPOCH", EPOCH_MAX, &session->epoch, err);
}

/* Reads yes or no; no if the key is missing. */
static int parse_bool(struct kv *kv, const char *key, bool *ret, struct err *err)
{
    _cleanup_free_ char *value = NULL;
    if (parse_text(kv, key, false, &value, err) == -1)
        return -1;
    bool yes = strcmp(value, "yes") == 0;
    if (!yes && value[0] != '\0' && strcmp(value, "no") != 0)
        return err_set(err, MAS_DAMAGED, "%s is not yes or no", key);
    *ret = yes;
    return 0;
}

static int parse_status(struct kv *kv, struct session *session, struct err *err)
{
    _cleanup_free_ char *status = NULL;
    _cleanup_free_ char *mode = NULL;
    _cleanup_free_ char *migrating = NULL;
    size_t after;

    if (parse_text(kv, "STATUS", true, &status, err) == -1 ||
        parse_text(kv, "MODE", false, &mode, err) == -1 ||
        parse_text(kv, "MIGRATING", false, &migrating, err) == -1)
        return -1;
    if (!find_name(migrating_names, ARRAY_LEN(migrating_names), migrating, &after))
        return err_set(err, MAS_DAMAGED, "MIGRATING is not active or stopped");
    session->migrating = (enum migrating)after;
    if (!status_parse(status, &session->status))
        return err_set(err, MAS_DAMAGED, "STATUS is not active, stopped or error");
    if (mode[0] != '\0' && !mode_parse(mode, &session->mode))
        return err_set(err, MAS_DAMAGED, "MODE is not isolated or legacy");
    return parse_bool(kv, "PRIVATE", &session->private, err) == -1 ||
                   parse_bool(kv, "PROMPTED", &session->prompted, err) == -1
               ? -1
               : 0;
}

/* Removes the paths; they are only compared with the expected ones. */
static void parse_paths(const struct root *root, struct kv *kv, struct session *session)
{
    const struct {
        const char *key, *part;
    } paths[] = {{"SESSION_DIR", NULL},
                 {"UNIT_DIR", WORKSPACE_UNIT},
                 {"WORKFLOWS_DIR", WORKSPACE_WORKFLOWS}};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        _cleanup_free_ char *value = kv_pop(kv, paths[i].key);
        _cleanup_free_ char *want =
            paths[i].part != NULL ? placement_path(root, session->id, session->mode, paths[i].part)
                                  : workspace_path(root, session->id, NULL);
        if (value == NULL || strcmp(value, want) != 0)
            session->moved = true;
    }
}

/* Splits the remaining keys into the user's own and strange ones. */
static void parse_others(struct kv *kv, struct session *session)
{
    enum { NAMED_MAX = 8 };
    struct str strange = STR_INIT;
    size_t count = 0;

    for (size_t i = 0; i < kv->count; i++) {
        const struct kv_pair *pair = &kv->pairs[i];
        if (str_starts(pair->key, "X_"))
            kv_put(&session->extra, pair->key, pair->value);
        else if (count++ < NAMED_MAX)
            str_addf(&strange, "%s%s", count > 1 ? ", " : "", pair->key);
    }
    if (count > NAMED_MAX)
        str_addf(&strange, " and %zu more", count - NAMED_MAX);
    session->strange = count > 0 ? str_steal(&strange) : NULL;
}

/* A file that a script has written need not name the tmux server: it is the one that the settings
 * say. */
static int derive_socket(const struct root *root, struct session *session, struct err *err)
{
    _cleanup_config_ struct config config = CONFIG_INIT;
    char *socket = NULL;

    if (config_load(root, false, &config, NULL, err) == -1)
        return -1;
    bool own = config_number(&config, SETTING_SERVER) == SERVER_PER_SESSION;
    if (tmux_place(own ? session->tmux_name : config_text(&config, SETTING_SOCKET), &socket, err) ==
        -1)
        return -1;
    free(session->tmux_socket);
    session->tmux_socket = socket;
    return 0;
}

static int parse_all(const struct root *root, struct kv *kv, const char *id,
                     struct session *session, struct err *err)
{
    _cleanup_free_ char *own_id = NULL;
    bool has_socket = kv_get(kv, "TMUX_SOCKET") != NULL;

    if (parse_text(kv, "SESSION_ID", true, &own_id, err) == -1 ||
        parse_text(kv, "TMUX_SESSION", true, &session->tmux_name, err) == -1 ||
        parse_text(kv, "TMUX_SOCKET", false, &session->tmux_socket, err) == -1 ||
        parse_text(kv, "NAME", false, &session->name, err) == -1 ||
        parse_text(kv, "TEMPLATE", false, &session->template, err) == -1 ||
        parse_text(kv, "ERROR", false, &session->error, err) == -1 ||
        parse_time(kv, "CREATED_AT", true, &session->created, err) == -1 ||
        parse_nsec(kv, "CREATED_NSEC", &session->created_nsec, err) == -1 ||
        parse_time(kv, "LAST_ACTIVITY", false, &session->activity, err) == -1 ||
        parse_time(kv, "STOPPED_AT", false, &session->stopped, err) == -1 ||
        parse_owner(kv, session, err) == -1 || parse_status(kv, session, err) == -1)
        return -1;
    if (strcmp(own_id, id) != 0)
        return err_set(err, MAS_DAMAGED, "SESSION_ID belongs to another session");
    if (session->tmux_name[0] == '\0' || strlen(session->tmux_name) > TMUX_NAME_MAX)
        return err_set(err, MAS_DAMAGED, "TMUX_SESSION is empty or too long");
    if (!has_socket && derive_socket(root, session, err) == -1)
        return -1;
    if (session->tmux_socket[0] != '/')
        return err_set(err, MAS_DAMAGED, "TMUX_SOCKET is not an absolute path");
    if (session->name[0] != '\0' && session_check_name(session->name) != NULL)
        return err_set(err, MAS_DAMAGED, "NAME is not a session name");
    if (session->activity == 0)
        session->activity = session->created;
    parse_paths(root, kv, session);
    parse_others(kv, session);
    return 0;
}

int session_load(const struct root *root, int dir, const char *id, struct session *ret,
                 struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_free_ char *text = NULL;
    size_t len = 0;
    struct kv kv = {.count = 0};

    memcpy(session.id, id, ID_TEXT);
    if (file_read(dir, WORKSPACE_SESSION, KV_FILE_MAX, &text, &len, err) == -1) {
        if (file_is_wrong(err))
            err->code = MAS_DAMAGED;
        return -1;
    }
    int rc = kv_parse(text, len, &kv, err);
    if (rc == 0)
        rc = parse_all(root, &kv, id, &session, err);
    kv_free(&kv);
    if (rc == -1)
        return err_wrap(err, "its %s is damaged", WORKSPACE_SESSION);
    *ret = session;
    session = (struct session)SESSION_INIT;
    return 0;
}

static struct session_label read_label(const struct root *root, const char *id)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    char normal[ID_TEXT];
    _cleanup_close_ int dir = id_normalise(id, normal) ? workspace_open(root, normal) : -1;
    struct session_label label;
    struct err ignored = ERR_INIT;
    bool is_named = dir != -1 && session_load(root, dir, normal, &session, &ignored) == 0 &&
                    session.name != NULL && session.name[0] != '\0';

    (void)snprintf(label.text, sizeof label.text, "%s", is_named ? session.name : id);
    return label;
}

struct session_label session_label(const struct root *root, const char *id)
{
    int saved = errno; /* it is asked for while an error is put into words */
    const struct session_label label = read_label(root, id);

    errno = saved;
    return label;
}

int session_save(const struct root *root, int dir, const struct session *session, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    session_format(root, session, &text);
    return file_replace(dir, WORKSPACE_SESSION, text.data, text.len, 0600, err);
}

void session_free(struct session *session)
{
    free(session->tmux_name);
    free(session->tmux_socket);
    free(session->name);
    free(session->template);
    free(session->error);
    free(session->machine);
    free(session->boot);
    free(session->store);
    free(session->lease);
    free(session->moved_to);
    free(session->strange);
    kv_free(&session->extra);
    *session = (struct session)SESSION_INIT;
}

/*
 * First the words, types and keys, then how .session is written, then how it is read. The reader
 * takes the keys of members[] out of the pairs; what is left is the user's or strange. A file
 * that a script has written may have the first four keys alone. Reading changes nothing on disk:
 * paths of another place and strange keys are only noted in the struct.
 */

#include "store/session.h"

#include "model/member.h"
#include "os/file.h"
#include "store/config.h"
#include "store/placement.h"
#include "store/tmux_place.h"
#include "store/workspace.h"

static const char *const status_names[] = {"active", "stopped", "error", NULL};
static const char *const migrating_names[] = {"", "stopped", "active", NULL};

const struct value_type status_type = {VALUE_WORD, "active, stopped or error",
                                       .words = status_names};

static bool is_name(const char *text)
{
    return session_check_name(text) == NULL;
}

static const struct value_type id_type = {VALUE_CHARS, "SESSION_ID belongs to another session",
                                          .sentence = true, .min = 1, .fits = id_is_valid};
static const struct value_type tmux_type = {VALUE_TEXT, "TMUX_SESSION is empty or too long",
                                            .sentence = true, .min = 1, .max = TMUX_NAME_MAX};
static const struct value_type socket_type = {VALUE_TEXT, "an absolute path", .min = 1,
                                              .absolute = true};
static const struct value_type name_type = {VALUE_TEXT, "a session name", .fits = is_name};
static const struct value_type line_type = {VALUE_TEXT, "one line of at most 400 bytes",
                                            .max = MACHINE_TEXT_MAX, .line = true};
static const struct value_type store_type = {VALUE_TEXT, "an absolute path", .absolute = true};
static const struct value_type lease_type = {VALUE_TEXT, "a version 4 UUID", .fits = id_is_valid};
static const struct value_type epoch_type = {VALUE_NUMBER, "a number from 0 to 999999999999",
                                             .max = EPOCH_MAX};
static const struct value_type nsec_type = {VALUE_NUMBER, "a number from 0 to 999999999",
                                            .max = 999999999};
static const struct value_type migrating_type = {VALUE_WORD, "active or stopped",
                                                 .words = migrating_names};

#define KEY(key, type, member) MEMBER(key, type, struct session, member)

static const struct member members[] = {
    {KEY("SESSION_ID", id_type, id), .how = MEMBER_NEEDED},
    {KEY("TMUX_SESSION", tmux_type, tmux_name), .how = MEMBER_NEEDED},
    {KEY("STATUS", status_type, status), .how = MEMBER_NEEDED},
    {KEY("CREATED_AT", value_time, created), .how = MEMBER_NEEDED},
    {KEY("CREATED_NSEC", nsec_type, created_nsec), .how = MEMBER_SAID},
    {KEY("TMUX_SOCKET", socket_type, tmux_socket)},
    {KEY("MACHINE", line_type, machine), .how = MEMBER_SAID},
    {KEY("BOOT", line_type, boot), .how = MEMBER_SAID},
    {KEY("STORE", store_type, store), .how = MEMBER_SAID},
    {KEY("LEASE", lease_type, lease), .how = MEMBER_SAID},
    {KEY("MOVED_TO", line_type, moved_to), .how = MEMBER_SAID},
    {KEY("EPOCH", epoch_type, epoch), .how = MEMBER_SAID},
    {KEY("LOST_AFTER", value_time, lost_after), .how = MEMBER_SAID},
    {KEY("NAME", name_type, name)},
    {KEY("MODE", mode_type, mode)},
    {KEY("MIGRATING", migrating_type, migrating), .how = MEMBER_SAID},
    {KEY("TEMPLATE", value_text, template)},
    /* only PROMPTED may stand between PRIVATE and SESSION_DIR: see know_prompted() */
    {KEY("PRIVATE", value_yes, private)},
    {KEY("PROMPTED", value_yes, prompted), .how = MEMBER_SAID},
    {KEY("SESSION_DIR", value_text, paths[0])},
    {KEY("UNIT_DIR", value_text, paths[1])},
    {KEY("WORKFLOWS_DIR", value_text, paths[2])},
    {KEY("LAST_ACTIVITY", value_time, activity)},
    {KEY("STOPPED_AT", value_time, stopped), .how = MEMBER_SAID},
    {KEY("ERROR", value_text, error), .how = MEMBER_SAID},
    MEMBER_END,
};

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
    return mode_type.words[mode];
}

const char *session_check_name(const char *name)
{
    static const char want[] = "a name must be one of A-Z a-z and at most 63 more " STR_WORD_CHARS;
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
    kv_put(ret, "MAS_SESSION_MODE", mode_name(session->mode));
    kv_put(ret, "MAS_SESSION_ID", session->id);
    kv_put(ret, "MAS_SESSION_DIR", dir);
    kv_put(ret, "SESSION_NAME", session->tmux_name);
    kv_put(ret, "UNIT_DIR", unit);
    kv_put(ret, "WORKFLOWS_DIR", workflows);
}

/* Returns where a session has what its file says, in the order of `paths`. */
static char *path_of(const struct root *root, const struct session *session, size_t i)
{
    return i == 0 ? workspace_path(root, session->id, NULL)
                  : placement_path(root, session->id, session->mode,
                                   i == 1 ? WORKSPACE_UNIT : WORKSPACE_WORKFLOWS);
}

void session_format(const struct root *root, const struct session *session, struct str *to)
{
    struct session shown = *session;

    for (size_t i = 0; i < SESSION_PATHS; i++)
        shown.paths[i] = path_of(root, session, i);
    if (session->status != STATUS_ERROR)
        shown.error = NULL;
    members_format(members, &shown, to);
    for (size_t i = 0; i < SESSION_PATHS; i++)
        free(shown.paths[i]);
    for (size_t i = 0; i < session->extra.count; i++)
        kv_add(to, session->extra.pairs[i].key, session->extra.pairs[i].value);
}

void session_salvage(const struct kv *kv, struct session *session)
{
    members_salvage(members, kv, session);
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
    if (members_take(members, kv, session, err) == -1)
        return -1;
    if (strcmp(session->id, id) != 0)
        return err_set(err, MAS_DAMAGED, "SESSION_ID belongs to another session");
    if (session->tmux_socket[0] == '\0' && derive_socket(root, session, err) == -1)
        return -1;
    if (session->activity == 0)
        session->activity = session->created;
    for (size_t i = 0; i < SESSION_PATHS; i++) {
        _cleanup_free_ char *want = path_of(root, session, i);
        session->moved = session->moved || strcmp(session->paths[i], want) != 0;
    }
    parse_others(kv, session);
    return 0;
}

int session_load(const struct root *root, int dir, const char *id, struct session *ret,
                 struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_free_ char *text = NULL;
    size_t len = 0;
    _cleanup_kv_ struct kv kv = {.count = 0};

    if (file_read(dir, WORKSPACE_SESSION, KV_FILE_MAX, &text, &len, err) == -1) {
        if (file_is_wrong(err))
            err->code = MAS_DAMAGED;
        return -1;
    }
    int rc = kv_parse(text, len, &kv, err);
    if (rc == 0)
        rc = parse_all(root, &kv, id, &session, err);
    if (rc == -1)
        return err_wrap(err, "its %s is damaged", WORKSPACE_SESSION);
    *ret = session;
    session = (struct session)SESSION_INIT;
    return 0;
}

bool session_arrives(const char *moved_to)
{
    return strcmp(moved_to, MOVED_ARRIVING) == 0 || str_starts(moved_to, MOVED_ARRIVING_FROM);
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
    members_free(members, session);
    free(session->strange);
    kv_free(&session->extra);
    *session = (struct session)SESSION_INIT;
}

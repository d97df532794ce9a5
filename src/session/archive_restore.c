/*
 * The part of session/archive.h that restores sessions. An archive is a stranger's: whether there
 * is room and nothing in the way is seen by its manifest before a file is written, and the files
 * have to agree with that. What would act by itself here is dropped or made this machine's: paths,
 * lease, owner, accounts; entries are paused. A failure at any step takes the stage away again.
 */

#include "base/time.h"
#include "model/manifest.h"
#include "os/file.h"
#include "os/machine.h"
#include "os/path.h"
#include "session/archive.h"
#include "session/archive_helper.h"
#include "session/life_internal.h"
#include "store/every.h"
#include "store/index.h"
#include "store/owner.h"
#include "store/stage.h"
#include "store/team_file.h"
#include "store/usage.h"
#include "store/workspace.h"

#include <sys/statvfs.h>

struct restore {
    const struct life *life;
    const struct archive_restore *options;
    struct stage stage;
    int lock; /* the metadata lock, while it is held */
    struct session session;
    char digest[SHA256_TEXT];
};

static int open_file(const char *file, int *ret, struct err *err)
{
    bool standard = strcmp(file, ARCHIVE_STANDARD) == 0;
    struct stat st;
    int fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                      : open(file, O_RDONLY | O_NOCTTY | O_CLOEXEC);

    if (fd == -1 || fstat(fd, &st) == -1) {
        (void)err_errno(err, "cannot open it");
        fd_closep(&fd);
        return -1;
    }
    if (S_ISDIR(st.st_mode)) {
        (void)close(fd);
        return err_set(err, MAS_FAILED, "it is a directory");
    }
    *ret = fd;
    return 0;
}

/* Checks whether something is in the way of the session that the manifest names. life_settle()
 * checks again. */
static int check_free(const struct restore *r, const struct manifest *manifest, struct err *err)
{
    const struct root *root = r->life->root;
    const char *name = r->options->name != NULL ? r->options->name : manifest->name;
    struct index_facts facts;
    struct stat st;

    if (r->options->id != NULL && strcmp(r->options->id, manifest->id) != 0)
        return err_set(err, MAS_DAMAGED, "it is of session '%s'", manifest->id);
    if (!r->options->new_id &&
        fstatat(root->sessions, manifest->id, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        (void)err_set(err, MAS_CONFLICT, "session '%s' exists", manifest->id);
        return err_hint(err, "restore it under a new id with --new-id");
    }
    if (name[0] == '\0')
        return 0;
    if (session_check_name(name) != NULL)
        return err_set(err, MAS_DAMAGED, "its name '%s' is not a session name", name);
    _cleanup_close_ int lock = -1;
    if (root_lock(root, &lock, err) == -1 || index_ask(root, NULL, name, 1, &facts, err) == -1)
        return -1;
    if (!facts.name_taken)
        return 0;
    (void)err_set(err, MAS_CONFLICT, "another session is called '%s'", name);
    return r->options->id == NULL ? err_hint(err, "choose another name with -n")
                                  : err_hint(err, "rename that one: mas set %s name=NAME", name);
}

/* Checks for [limits] free, and at least for space on the file system. */
static int check_room(const struct restore *r, const struct manifest *manifest, struct err *err)
{
    struct statvfs fs;

    if (usage_check_room(r->life->root, r->life->config, manifest->bytes, err) == -1)
        return -1;
    if (fstatvfs(r->life->root->sessions, &fs) == -1)
        return err_errno(err, "cannot get the free space of its file system");
    uint64_t room = (uint64_t)fs.f_bavail * fs.f_frsize;
    if (manifest->bytes > room)
        return err_set(err, MAS_FAILED, "it needs %ju bytes, but only %ju are free",
                       (uintmax_t)manifest->bytes, (uintmax_t)room);
    if (fs.f_files > 0 && manifest->entries > fs.f_favail)
        return err_set(err, MAS_FAILED, "it needs %ju files, but only %ju more are possible",
                       (uintmax_t)manifest->entries, (uintmax_t)fs.f_favail);
    return 0;
}

/* Runs mas-archive to fill the stage; *ret is the manifest that it reports. */
static int fill_stage(struct restore *r, int file, struct manifest *ret, struct err *err)
{
    _cleanup_archive_helper_ struct archive_helper helper = ARCHIVE_HELPER_INIT;
    _cleanup_str_ struct str order = STR_INIT;
    struct frame frame = {.head = NULL};
    struct archive_work work = {.file = file,
                                .dir = r->stage.dir,
                                .parts = r->stage.dir,
                                .more = r->stage.lock,
                                .order = &order};

    str_addf(&order, "{\"do\":\"unpack\",\"links\":%s}", r->options->links ? "true" : "false");
    if (archive_helper_start(&work, &helper, err) == -1 ||
        archive_helper_await(r->life, &helper, "manifest", &frame, err) == -1)
        return -1;
    int rc = manifest_read(json_get(frame.head, "manifest"), ret, err);
    frame_free(&frame);
    if (rc == -1 || check_free(r, ret, err) == -1 || check_room(r, ret, err) == -1 ||
        archive_helper_say(&helper, "{\"do\":\"go\"}\n", err) == -1 ||
        archive_helper_await(r->life, &helper, "unpacked", &frame, err) == -1)
        return -1;
    const char *digest = json_get_text(frame.head, "digest");
    if (digest != NULL && sha256_is_hex(digest))
        memcpy(r->digest, digest, SHA256_TEXT);
    frame_free(&frame);
    return 0;
}

/* Fails if the machine that wrote the archive kept the session: then two would have it. */
static int check_owner(const struct restore *r, const struct manifest *manifest, struct err *err)
{
    _cleanup_owner_ struct owner self = OWNER_INIT;
    bool has = false;

    if (r->options->new_id || r->options->takeover || manifest->last)
        return 0;
    if (owner_has(&self, &r->session, &has, err) == -1)
        return -1;
    if (has)
        return 0;
    const char *host = machine_host(r->session.machine);
    (void)err_set(err, MAS_CONFLICT, "%s may still have session '%s'", host,
                  manifest->name[0] != '\0' ? manifest->name : manifest->id);
    return err_hint(err, "make a copy of it with --new-id; if %s has lost it for good: --takeover",
                    host);
}

/* Whoever sends an archive does not choose which login of this machine pays. */
static int drop_accounts(const struct restore *r, struct team *team, struct err *err)
{
    _cleanup_owner_ struct owner self = OWNER_INIT;
    struct str *dropped = r->options->no_accounts;
    const char *machine = r->session.machine;
    bool own = false;

    if (owner_has(&self, &r->session, &own, err) == -1)
        return -1;
    if (own && machine != NULL && machine[0] != '\0')
        return 0;
    for (size_t i = 0; i < team->agent_count; i++)
        if (team->agents[i].accounts[0] != '\0') {
            str_addf(dropped, "%s%s", dropped->len > 0 ? ", " : "", team->agents[i].id);
            team->agents[i].accounts[0] = '\0';
        }
    return dropped->len > 0 ? team_file_change(r->stage.dir, team, err) : 0;
}

/* Makes the restored files a session of this root: stopped, isolated, with its own paths. Drops
 * unknown keys of .session, because scripts source that file. */
static int adopt(struct restore *r, const struct manifest *manifest, struct err *err)
{
    struct session *session = &r->session;
    _cleanup_team_ struct team team = TEAM_INIT;

    if (session_load(r->life->root, r->stage.dir, manifest->id, session, err) == -1 ||
        team_file_load(r->stage.dir, &team, err) == -1)
        return -1;
    if (strcmp(session->name, manifest->name) != 0)
        return err_set(err, MAS_DAMAGED, "its %s and its manifest have different names",
                       WORKSPACE_SESSION);
    if (check_owner(r, manifest, err) == -1)
        return -1;
    if (r->options->no_accounts != NULL && drop_accounts(r, &team, err) == -1)
        return -1;
    if (r->options->name != NULL) {
        free(session->name);
        session->name = mem_dup(r->options->name);
    }
    kv_free(&session->extra);
    session->extra = (struct kv){.count = 0};
    session->error[0] = '\0';
    session->mode = MODE_ISOLATED;
    session->migrating = MIGRATING_NO;
    if (owner_take(session, true, err) == -1)
        return -1;
    free(session->moved_to);
    session->moved_to = mem_dup(r->options->moved_to != NULL ? r->options->moved_to : "");
    if (every_arrive(r->life->root, r->stage.dir, err) == -1)
        return -1;
    session->store[0] = session->lease[0] = '\0';
    /* a copy lacks what came later, too, but that has the original */
    if (manifest->live && !r->options->new_id &&
        !time_parse(manifest->archived, &session->lost_after))
        return err_set(err, MAS_DAMAGED, "its manifest has no time");
    session->status = STATUS_STOPPED;
    if (session->stopped == 0)
        session->stopped = session->activity;
    session->activity = time(NULL); /* otherwise the next clean would remove it again */
    return 0;
}

/* Gives the session its id and everything derived from it. Only this function knows where a
 * workspace contains the id: in .session alone; the caller changes the memory. */
static int write_id(struct restore *r, const struct manifest *manifest, struct err *err)
{
    memcpy(r->session.id, r->options->new_id ? r->stage.id : manifest->id, ID_TEXT);
    if (life_set_tmux_name(r->life, &r->session, session_name_digits[0], err) == -1 ||
        session_save(r->life->root, r->stage.dir, &r->session, err) == -1)
        return -1;
    /* now this machine has it, and may read its conversations */
    return r->options->new_id && r->options->own != NULL
               ? r->options->own(r->stage.dir, r->session.id, err)
               : 0;
}

/* Creates directories that every workspace has; an archive of a session without logs lacks
 * logs/. */
static int add_directories(int dir, struct err *err)
{
    static const char *const names[] = {WORKSPACE_RUN, WORKSPACE_LOGS};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (mkdirat(dir, names[i], 0700) == -1 ? errno != EEXIST
                                               : fchmodat(dir, names[i], 0700, 0) == -1)
            return err_errno(err, "cannot create '%s'", names[i]);
    return 0;
}

/* Moves the session from the filled stage to its place. */
static int place(struct restore *r, struct err *err)
{
    const struct root *root = r->life->root;

    if (add_directories(r->stage.dir, err) == -1)
        return -1;
    if (file_sync_all(r->stage.dir) == -1)
        return err_errno(err, "cannot sync the workspace");
    if (!r->options->new_id && workspace_stage_rename(root, &r->stage, r->session.id, err) == -1)
        return -1;
    if (r->life->tick != NULL && r->life->tick(0, 0, r->life->tick_arg))
        return err_set(err, MAS_FAILED, "interrupted");
    /* guests of a session that was removed by hand must not find the one that comes back */
    if (root_lock(root, &r->lock, err) == -1 || life_end_guests(root, r->session.id, err) == -1 ||
        life_settle(r->life, &r->session, &r->stage, err) == -1)
        return -1;
    return index_update(root, r->session.id, &r->session, err);
}

static int restore_from(struct restore *r, int file, struct err *err)
{
    _cleanup_manifest_ struct manifest manifest = {.id = ""};
    char id[ID_TEXT];

    /* the id is only known from the archive */
    if (id_make(id, err) == -1 ||
        workspace_stage_empty(r->life->root, id, "restore", &r->stage, err) == -1)
        return -1;
    if (fill_stage(r, file, &manifest, err) == 0 && adopt(r, &manifest, err) == 0 &&
        write_id(r, &manifest, err) == 0 && place(r, err) == 0)
        return 0;
    life_undo_new(r->life, &r->session, &r->stage, &r->lock);
    return -1;
}

int archive_restore(const struct life *life, const struct archive_restore *options,
                    struct session *ret, struct err *err)
{
    struct restore r = {
        .life = life, .options = options, .stage = STAGE_INIT, .lock = -1, .session = SESSION_INIT};
    const char *want = options->name != NULL ? session_check_name(options->name) : NULL;
    _cleanup_close_ int file = -1;

    if (want != NULL)
        return err_set(err, MAS_USAGE, "cannot use name '%s': %s", options->name, want);
    int rc = open_file(options->file, &file, err) == -1 ? -1 : restore_from(&r, file, err);
    fd_closep(&r.lock);
    if (rc == 0) {
        if (r.stage.others)
            (void)workspace_sweep(life->root, false, NULL, NULL);
        workspace_log(r.stage.dir, config_log_limits(life->config), "restore");
        if (options->digest != NULL)
            memcpy(options->digest, r.digest, SHA256_TEXT);
        *ret = r.session;
        r.session = (struct session)SESSION_INIT;
    } else {
        (void)err_wrap(err, "cannot restore '%s'", options->file);
    }
    session_free(&r.session);
    workspace_release(&r.stage);
    return rc;
}

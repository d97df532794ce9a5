#include "memory/backup.h"

#include "base/id.h"
#include "memory/db.h"
#include "os/file.h"
#include "os/path.h"
#include "store/workspace.h"

#define COPY_PREFIX ".copy-"

enum {
    PAGES = 1024, /* between two ticks */
    LEFT_S = 60, /* after which a copy with a name is one that a kill has left */
};

/* Removes what a process left that was killed while its copy had a name. */
static void sweep(int run)
{
    _cleanup_strv_ char **names = NULL;
    struct err ignored = ERR_INIT;
    struct stat st;

    if (path_list(run, &names, &ignored) == -1)
        return;
    for (char **name = names; *name != NULL; name++)
        if (str_starts(*name, COPY_PREFIX) && fstatat(run, *name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            time(NULL) - st.st_mtime > LEFT_S)
            (void)unlinkat(run, *name, 0);
}

/* SQLite opens files by name, so the copy has one for a moment. */
static int open_copy(int run, struct db **ret, int *ret_fd, struct err *err)
{
    char name[sizeof COPY_PREFIX + ID_TEXT];
    char id[ID_TEXT];
    struct db *db = NULL;

    sweep(run);
    if (id_make(id, err) == -1)
        return -1;
    (void)snprintf(name, sizeof name, COPY_PREFIX "%s", id);
    _cleanup_close_ int fd =
        openat(run, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd == -1)
        return err_errno(err, "cannot create a file in '%s/'", WORKSPACE_RUN);
    int rc = db_open_copy(run, name, &db, err);
    (void)unlinkat(run, name, 0);
    if (rc == -1)
        return -1;
    *ret = db;
    *ret_fd = TAKE_FD(fd);
    return 0;
}

/* Copies all pages within one transaction of the source, so that they are of one moment. */
static int copy_pages(struct db *from, struct db *to, tree_tick *tick, void *tick_arg,
                      struct err *err)
{
    int64_t page = 0;
    int rc = SQLITE_OK;

    if (db_exec(from, "BEGIN", err) == -1 ||
        db_number(from, 0, &page, err, "PRAGMA page_size", "") == -1 ||
        db_number(from, 0, &(int64_t){0}, err, "SELECT count(*) FROM sqlite_schema", "") == -1)
        return -1;
    sqlite3_backup *backup = sqlite3_backup_init(db_handle(to), "main", db_handle(from), "main");
    if (backup == NULL)
        return db_error(to, sqlite3_extended_errcode(db_handle(to)), "copy", err);
    while (rc == SQLITE_OK) {
        rc = sqlite3_backup_step(backup, PAGES);
        int64_t done = sqlite3_backup_pagecount(backup) - sqlite3_backup_remaining(backup);
        if (rc == SQLITE_OK && tick != NULL && tick(0, (uint64_t)(done * page), tick_arg))
            rc = SQLITE_INTERRUPT;
    }
    (void)sqlite3_backup_finish(backup);
    if (rc == SQLITE_INTERRUPT)
        return err_set(err, MAS_FAILED, "interrupted");
    return rc == SQLITE_DONE ? 0 : db_error(from, rc, "copy", err);
}

int memory_backup(int dir, tree_tick *tick, void *tick_arg, int *ret_fd, int64_t *ret_size,
                  struct err *err)
{
    _cleanup_db_ struct db *from = NULL;
    _cleanup_db_ struct db *to = NULL;
    _cleanup_close_ int run = path_open_dir(dir, WORKSPACE_RUN);
    struct stat st;

    if (run == -1)
        return err_errno(err, "cannot open '%s/'", WORKSPACE_RUN);
    if (open_copy(run, &to, ret_fd, err) == -1)
        return -1;
    *ret_size = 0;
    if (faccessat(dir, WORKSPACE_MEMORY, F_OK, AT_SYMLINK_NOFOLLOW) == -1 && errno == ENOENT)
        return 0;
    if (db_open(dir, WORKSPACE_MEMORY, DB_READ, &from, err) == -1 ||
        copy_pages(from, to, tick, tick_arg, err) == -1)
        return -1;
    if (fstat(*ret_fd, &st) == -1)
        return err_errno(err, "cannot copy '%s'", WORKSPACE_MEMORY);
    *ret_size = st.st_size;
    return 0;
}

/*
 * The part of wall/plan.h that the others stand on: the mounts of a plan, what it lacks, and how a
 * file gets into the agent's own home.
 */
#include "os/file.h"
#include "os/path.h"
#include "store/workspace.h"
#include "wall/plan_internal.h"

void wall_plan_mount(struct wall_plan *plan, enum wall_mount_kind kind, const char *path,
                     const char *from, int fd)
{
    size_t at = plan->count;

    while (at > 0 && strcmp(plan->mounts[at - 1].path, path) > 0)
        at--;
    plan->mounts = mem_grow(plan->mounts, plan->count + 1, sizeof *plan->mounts);
    memmove(&plan->mounts[at + 1], &plan->mounts[at], (plan->count - at) * sizeof *plan->mounts);
    plan->mounts[at] =
        (struct wall_mount){.kind = kind, .path = mem_dup(path), .from = mem_dup(from), .fd = fd};
    plan->count++;
}

bool wall_plan_has(const struct wall_plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct wall_mount *mount = &plan->mounts[i];
        size_t len = strlen(mount->path);
        if (strncmp(path, mount->path, len) == 0 && (path[len] == '/' || path[len] == '\0') &&
            mount->kind != WALL_MOUNT_EMPTY && mount->kind != WALL_MOUNT_HIDDEN)
            return true;
    }
    return false;
}

void plan_drop_mount(struct wall_plan *plan, size_t i)
{
    struct wall_mount *mount = &plan->mounts[i];

    free(mount->path);
    free(mount->from);
    fd_closep(&mount->fd);
    plan->count--;
    memmove(&plan->mounts[i], &plan->mounts[i + 1], (plan->count - i) * sizeof *plan->mounts);
}

void plan_lack_too(struct wall_plan *plan, const char *what)
{
    char *missing = plan->report.missing;
    _cleanup_free_ char *text = mem_printf("%s%s%s", missing, missing[0] != '\0' ? "; " : "", what);
    size_t len = str_fit(text, WALL_WHY_MAX - 1);

    memcpy(missing, text, len);
    missing[len] = '\0';
}

void plan_lack(struct wall_plan *plan, const struct err *why)
{
    if (plan->report.missing[0] == '\0')
        plan_lack_too(plan, why->text);
}

/* ---- the own home */

int plan_open_own(const struct wall_subject *subject, const char *path)
{
    _cleanup_free_ char *whole =
        mem_printf(WORKSPACE_HOME "/%s%s%s", subject->agent->id, path[0] != '\0' ? "/" : "", path);

    return path_make_below(subject->dir, whole, 0700);
}

int plan_copy_file(int dir, const char *name, int from)
{
    _cleanup_close_ int out =
        openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    char buf[16 * 1024];
    ssize_t n = -1;

    for (off_t at = 0; out != -1 && (n = pread(from, buf, sizeof buf, at)) > 0; at += n)
        if (file_write_all(out, buf, (size_t)n) == -1)
            return -1;
    return n == 0 ? 0 : -1;
}

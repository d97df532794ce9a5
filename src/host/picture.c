/*
 * The session keeps pictures where no agent can look. A program on a terminal reads its own from
 * run/<agent>.role/pictures/, which is behind its wall, too, and for reading only; they are gone
 * when it starts again. Its preset says how the path of one is typed.
 */
#include "host/picture.h"

#include "host/backend.h"
#include "host/expand.h"
#include "host/server.h"
#include "os/file.h"
#include "os/path.h"
#include "store/pictures.h"
#include "store/workspace.h"

int picture_refuse(struct err *err)
{
    (void)err_set(err, MAS_CONFLICT, "it takes no pictures");
    return err_hint(err, "put the file where the agent can read it, and name its path in the text");
}

int picture_request(const struct host *host, const struct frame *frame, char **ret_data,
                    struct err *err)
{
    struct pictures pictures;

    if (pictures_read(frame->head, &pictures, err) == -1)
        return -1;
    if (pictures.count > 0 && !host->backend->takes_pictures(host))
        return picture_refuse(err);
    if (pictures_find(host->dir, &pictures, err) == -1)
        return -1;
    *ret_data = pictures_data(&pictures);
    return 0;
}

/* ---- for a program on a terminal */

static int open_dir(const struct host *host, struct err *err)
{
    _cleanup_free_ char *path = NULL;
    _cleanup_close_ int role = role_open_dir(host, &path, err);
    int dir = role != -1 ? path_make_below(role, WORKSPACE_PICTURES, 0700) : -1;

    return role == -1 || dir != -1
               ? dir
               : err_errno(err, "cannot create '%s/" WORKSPACE_PICTURES "'", path);
}

int picture_open_dir(const struct host *host, struct err *err)
{
    if (host->preset->picture[0] == '\0')
        return 0;
    _cleanup_close_ int dir = open_dir(host, err);
    return dir == -1 ? -1 : 0;
}

int picture_place(const struct host *host, const struct pictures *pictures, struct err *err)
{
    _cleanup_close_ int dir = open_dir(host, err);

    if (dir == -1)
        return -1;
    for (size_t i = 0; i < pictures->count; i++) {
        _cleanup_free_ char *bytes = NULL;
        size_t len = 0;
        if (pictures_load(host->dir, &pictures->list[i], &bytes, &len, err) == -1 ||
            file_replace(dir, pictures->list[i].file, bytes, len, 0600, err) == -1)
            return -1;
    }
    return 0;
}

bool picture_type_in(const struct host *host, const struct pictures *pictures, size_t i,
                     struct str *to)
{
    _cleanup_free_ char *part =
        mem_printf(WORKSPACE_RUN "/%s" WORKSPACE_HOST_ROLE "/" WORKSPACE_PICTURES "/%s",
                   host->agent->id, pictures->list[i].file);
    _cleanup_free_ char *path = workspace_path(&host->root, host->session.id, part);
    const struct expand_value values[] = {{"path", path}};
    _cleanup_free_ char *typed =
        expand_text(values, ARRAY_LEN(values), host->preset->picture, NULL);

    str_add(to, typed);
    return strcmp(host->preset->picture, "{path}") == 0;
}

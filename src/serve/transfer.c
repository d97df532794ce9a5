#include "serve/transfer.h"

#include "os/file.h"
#include "serve/server.h"

#include <dirent.h>

void transfers_sweep(const struct root *root)
{
    int fd = openat(root->sessions, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd == -1 ? NULL : fdopendir(fd);
    struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if (str_starts(entry->d_name, ROOT_TRANSFER))
            (void)unlinkat(root->sessions, entry->d_name, 0);
    if (dir != NULL)
        (void)closedir(dir);
    else
        fd_closep(&fd);
}

bool transfer_name(struct request *request, struct err *err)
{
    char id[ID_TEXT];

    if (id_make(id, err) == -1)
        return false;
    (void)snprintf(request->transfer.name, sizeof request->transfer.name, "%s%s", ROOT_TRANSFER,
                   id);
    return true;
}

void transfer_end(struct request *request)
{
    struct transfer *transfer = &request->transfer;

    if (transfer->name[0] == '\0')
        return;
    (void)unlinkat(request->server->root.sessions, transfer->name, 0);
    transfer->name[0] = '\0';
    fd_closep(&transfer->fd);
}

bool transfer_begin(struct request *request)
{
    struct err err = ERR_INIT;

    if (!transfer_name(request, &err)) {
        answer_err(request, &err, 409);
        return false;
    }
    request->transfer.sum = sha256_begin();
    request->transfer.fd = openat(request->server->root.sessions, request->transfer.name,
                                  O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (request->transfer.fd != -1)
        return true;
    (void)err_errno(&err, "cannot take the archive");
    request->transfer.name[0] = '\0';
    answer_err(request, &err, 409);
    return false;
}

bool transfer_take(struct request *request, const char *bytes, size_t len)
{
    struct transfer *transfer = &request->transfer;
    struct err err = ERR_INIT;

    transfer->size += len;
    if (request->answer.status != 0) {
        transfer->excess += len;
        return transfer->excess < TRANSFER_EXCESS;
    }
    if (transfer->size > TRANSFER_MAX) {
        answer_refusal(request, 413, NULL, "restore it on the machine itself",
                       "the archive is larger than %zu bytes", TRANSFER_MAX);
    } else if (file_write_all(transfer->fd, bytes, len) == -1) {
        (void)err_errno(&err, "cannot take the archive");
        answer_err(request, &err, 409);
    } else if (request->idempotency_key != NULL) {
        sha256_add(&transfer->sum, bytes, len);
    }
    return true;
}

/* GET /sessions/{id}/archive and POST /restores. */
#include "serve/api.h"
#include "serve/server.h"
#include "serve/tell.h"
#include "serve/transfer.h"
#include "serve/verb.h"
#include "store/session.h"

enum { STATUS_CREATED = 201 };

static void run_restore(struct job *job)
{
    struct request *request = api_request(job);
    _cleanup_free_ char *path = mem_printf(ROOT_SESSIONS "/%s", request->transfer.name);
    const struct operation_values more = {.file = path};
    struct str said = STR_INIT;
    struct str body = STR_INIT;
    struct err err = ERR_INIT;
    char id[ID_TEXT] = "";
    int rc = verb_do(request, &more, NULL, &said, &err);

    if (said.len > 0 && said.data[said.len - 1] == '\n')
        said.data[--said.len] = '\0';
    if (rc == 0 && !id_normalise(str_text(&said), id))
        rc = err_set(&err, MAS_FAILED, "mas did not say which session it has restored");
    if (rc == -1 || tell_session(request->server, id, &body, &err) == -1) {
        _cleanup_free_ char *quoted = mem_printf("'%s'", path);
        verb_reword(&err, quoted, "the archive");
        if (err.code == MAS_DAMAGED && err.hint[0] == '\0')
            (void)err_hint(&err, "send what GET /sessions/{id}/archive answers");
        str_free(&body);
        answer_err(request, &err, 409);
    } else {
        memcpy(request->id, id, ID_TEXT); /* also for the log */
        answer_json(request, STATUS_CREATED, &body);
    }
    str_free(&said);
}

enum handled api_restore(struct request *request)
{
    const char *name = json_get_text(request->json, "name");
    const char *wrong = name != NULL ? session_check_name(name) : NULL;

    if (wrong == NULL)
        return api_later(request, run_restore);
    answer_error(request, 400, "cannot use the query name: %s", wrong);
    return HANDLED_NOW;
}

/* ---- an archive that is sent */

static void run_archive(struct job *job)
{
    struct request *request = api_request(job);
    struct transfer *transfer = &request->transfer;
    struct err err = ERR_INIT;
    struct stat st;

    if (!transfer_name(request, &err)) {
        answer_err(request, &err, 409);
        return;
    }
    _cleanup_free_ char *path = mem_printf(ROOT_SESSIONS "/%s", transfer->name);
    transfer->fd = -1;
    const struct operation_values more = {.file = path};
    int rc = verb_do(request, &more, NULL, NULL, &err);
    if (rc == 0) {
        transfer->fd = openat(request->server->root.sessions, transfer->name,
                              O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (transfer->fd == -1 || fstat(transfer->fd, &st) == -1)
            rc = err_errno(&err, "cannot read the archive");
    }
    (void)unlinkat(request->server->root.sessions, transfer->name, 0);
    if (rc != 0) {
        answer_err(request, &err, 409);
        return;
    }
    transfer->size = (size_t)st.st_size;
    transfer->sends = true;
    request->answer.type = "application/zstd";
    request->answer.status = 200;
}

enum handled api_archive(struct request *request)
{
    if (request->range != NULL && request->if_range == NULL) {
        answer_refusal(request, 416, "no_ranges", "ask for it without the header Range",
                       "an archive is made anew for each request, so there are no ranges of it");
        return HANDLED_NOW;
    }
    return api_later(request, run_archive);
}

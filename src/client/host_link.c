#include "client/host_link.h"

#include "client/hosts.h"

#include <stdlib.h>
#include <string.h>

bool host_link_connect(struct host_link *link, int run, const char *agent)
{
    link->conn.fd = hosts_connect(run, agent);
    return link->conn.fd != -1;
}

void host_link_drop(struct host_link *link)
{
    conn_close(&link->conn);
    free(link->waiting);
    *link = (struct host_link)HOST_LINK_INIT;
}

bool host_link_ask(struct host_link *link, struct host_link_asked asked, const struct str *head,
                   const char *body, size_t body_len)
{
    if (link->conn.fd == -1 || link->waiting_count == HOST_LINK_WAITING_MAX)
        return false;
    conn_add(&link->conn, head, body, body_len);
    link->waiting = mem_room(link->waiting, link->waiting_count, sizeof *link->waiting);
    link->waiting[link->waiting_count++] = asked;
    return conn_write(&link->conn);
}

bool host_link_write(struct host_link *link)
{
    return conn_write(&link->conn);
}

bool host_link_read(struct host_link *link)
{
    enum conn_read came = conn_read(&link->conn);

    return came == CONN_DATA || came == CONN_NOTHING;
}

int host_link_next(struct host_link *link, struct frame *ret, bool *ret_is_event,
                   struct host_link_asked *ret_asked)
{
    struct err ignored = ERR_INIT;
    int rc = conn_next(&link->conn, ret, &ignored);

    if (rc != 1)
        return rc;
    *ret_is_event = json_get(ret->head, "event") != NULL;
    if (*ret_is_event)
        return 1;
    if (link->waiting_count == 0) {
        frame_free(ret);
        return -1;
    }
    *ret_asked = link->waiting[0];
    link->waiting_count--;
    memmove(link->waiting, link->waiting + 1, link->waiting_count * sizeof *link->waiting);
    return 1;
}

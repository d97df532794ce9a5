#include "chat/chat.h"

bool chat_ask(struct chat *chat, enum asked what, const char *head, const char *body)
{
    if (host_connection_ask(&chat->host, (int64_t)what, head, body,
                            body != NULL ? strlen(body) : 0))
        return true;
    view_end(&chat->view);
    view_addf(&chat->view, STYLE_ERROR, "there is no connection to the agent's host");
    return false;
}

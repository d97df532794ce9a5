/* GET /sessions/{id}/agents/{agent}/screen: the host says which pane it is, tmux what the pane
 * shows. */
#include "client/screens.h"
#include "serve/agent.h"
#include "serve/api.h"
#include "serve/server.h"
#include "serve/shared.h"

enum { SCREEN_MAX = 8 << 20 /* bytes of an answer */ };

static int find_screen(const struct request *request, struct str *ret, struct err *err)
{
    int history = (int)json_int(json_get(request->json, "history"), 0);
    _cleanup_screens_ struct screens screens = SCREENS_INIT;

    if (agent_open_one(request, "peek at", &screens.roster, err) == -1 ||
        screens_look(&request->server->root, &screens, history, err) == -1 ||
        screens_failure(&screens, 0, err) == -1)
        return -1;
    screens_put(&screens, ret);
    if (ret->len <= SCREEN_MAX)
        return 0;
    str_free(ret);
    (void)err_set(err, MAS_USAGE, "the screen and the lines above it have more than %d bytes",
                  SCREEN_MAX);
    return err_hint(err, "ask for fewer lines with the query history");
}

enum handled api_screen(struct request *request)
{
    return shared_ask(request, find_screen, 410);
}

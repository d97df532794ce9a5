/* What a host tells of its agent, which nobody trusts. */
#include "base/json.h"
#include "model/agent_status.h"

#include "unit.h"

static struct agent_pane pane_of(const char *text)
{
    struct agent_pane pane = {.server = 0};
    _cleanup_json_ struct json *object = NULL;
    struct err err = ERR_INIT;

    if (CHECK_INT(json_parse(text, strlen(text), 1024, &object, &err), 0))
        agent_pane_parse(object, &pane);
    return pane;
}

TEST(a_pane_is_told_whole_or_not_at_all)
{
    static const char *const bad[] = {
        "{}",
        "[]",
        "{\"server\":0,\"session\":\"$3\",\"activityMs\":5,\"agents\":2}",
        "{\"server\":-7,\"session\":\"$3\",\"activityMs\":5,\"agents\":2}",
        "{\"server\":4294967303,\"session\":\"$3\",\"activityMs\":5,\"agents\":2}",
        "{\"server\":7,\"session\":\"3\",\"activityMs\":5,\"agents\":2}",
        "{\"server\":7,\"session\":null,\"activityMs\":5,\"agents\":2}",
        "{\"server\":7,\"session\":\"$3\",\"activityMs\":5,\"agents\":0}",
        "{\"server\":7,\"session\":\"$3\",\"activityMs\":5,\"agents\":4294967298}",
        /* one character more than there is room for */
        "{\"server\":7,\"session\":\"$23456789012345678901234\",\"activityMs\":5,\"agents\":2}",
    };
    struct agent_pane pane = pane_of("{\"server\":7,\"session\":\"$2345678901234567890123\","
                                     "\"activityMs\":5,\"agents\":2}");

    CHECK_INT(pane.server, 7);
    CHECK_STR(pane.session, "$2345678901234567890123");
    CHECK_INT(pane.activity_ms, 5);
    CHECK_INT(pane.agents, 2);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        pane = pane_of(bad[i]);
        CHECK_INT(pane.server, 0);
        CHECK_STR(pane.session, "");
    }
}

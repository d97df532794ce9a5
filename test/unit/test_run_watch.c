#include "root.h"

#include "fleet/run_watch.h"
#include "os/path.h"
#include "os/sock.h"

static const char team[] =
    "{\"team\":[{\"id\":\"first\",\"role\":\"r\",\"rank\":\"worker\",\"group\":\"g\"},"
    "{\"id\":\"second\",\"role\":\"r\",\"rank\":\"worker\",\"group\":\"g\"}],"
    "\"windows\":[{\"name\":\"w\",\"agents\":[\"first\",\"second\"],\"layout\":\"tiled\"}]}";

/* A session that starts: its hosts have still to read run/env. */
static bool put_starting(const struct root *root, int *ret_run)
{
    if (!root_put_session(root, ID(1), NULL))
        return false;
    _cleanup_close_ int dir = workspace_open(root, ID(1));
    if (!CHECK_INT(mkdirat(dir, WORKSPACE_RUN, 0700), 0))
        return false;
    *ret_run = path_open_dir(dir, WORKSPACE_RUN);
    return place_put(dir, WORKSPACE_CONFIG, team) && place_put(*ret_run, WORKSPACE_ENV, "x");
}

TEST(a_team_whose_hosts_came_after_they_were_looked_for_has_not_ended)
{
    A_ROOT;
    _cleanup_run_watch_ struct run_watch *watch = NULL;
    _cleanup_close_ int run = -1;

    REQUIRE(put_starting(&root, &run));
    MUST(run_watch_open(&root, ID(1), &watch, &err));
    CHECK(!run_watch_has_ended(watch));
    CHECK_INT(run_watch_quiet_since(watch), -1);
    /* as hosts do it: each listens, and the last one removes the file */
    _cleanup_close_ int first = sock_listen(run, "first" WORKSPACE_HOST_SOCKET, &err);
    _cleanup_close_ int second = sock_listen(run, "second" WORKSPACE_HOST_SOCKET, &err);
    CHECK(first != -1 && second != -1);
    CHECK_INT(unlinkat(run, WORKSPACE_ENV, 0), 0);
    CHECK(!run_watch_has_ended(watch));
    MUST(run_watch_wait(watch, -1, 0, &err));
    CHECK(!run_watch_has_ended(watch));
}

TEST(a_team_whose_hosts_never_came_has_ended)
{
    A_ROOT;
    _cleanup_run_watch_ struct run_watch *watch = NULL;
    _cleanup_close_ int run = -1;

    REQUIRE(put_starting(&root, &run));
    MUST(run_watch_open(&root, ID(1), &watch, &err));
    CHECK_INT(unlinkat(run, WORKSPACE_ENV, 0), 0);
    MUST(run_watch_wait(watch, -1, 0, &err)); /* the removal wakes it */
    CHECK(run_watch_has_ended(watch));
    CHECK(run_watch_quiet_since(watch) >= 0);
}

/* Taking a snapshot of a template that somebody changes meanwhile. */
#include "os/path.h"
#include "os/tree.h"
#include "store/snapshot.h"

#include "root.h"
#include "unit.h"

static bool change_it(uint64_t files, uint64_t bytes, void *arg)
{
    const struct template *tmpl = arg;

    (void)files;
    (void)bytes;
    (void)CHECK(place_put(tmpl->fd, "unit/solo/file", "changed"));
    return false;
}

/* Waits until a change would be seen by the times of the files. */
static void settle(int unit)
{
    struct tree_state state = {.unsettled = true};

    while (state.unsettled) {
        state = (struct tree_state){.unsettled = false};
        tree_state_add(unit, "solo", false, &state);
    }
}

TEST(a_template_that_changes_while_it_is_copied_is_a_snapshot_for_nobody_else)
{
    A_ROOT;
    struct agent solo = {.id = (char[]){"solo"}};
    struct template tmpl = {.path = (char[]){"t"}, .team = {.agents = &solo, .agent_count = 1}};
    const struct snapshot_way way = {.tick = change_it, .arg = &tmpl};
    _cleanup_free_ char *text = NULL;
    size_t len = 0;

    _cleanup_close_ int top = path_make_dir(place.dir, "t", 0755);
    _cleanup_close_ int unit = path_make_dir(top, "unit", 0755);
    _cleanup_close_ int own = path_make_dir(unit, "solo", 0755);
    _cleanup_close_ int stage = path_make_dir(root.sessions, ".new-" ID(0), 0700);
    tmpl.fd = top;
    REQUIRE(own != -1 && stage != -1 && place_put(own, "file", "first"));
    settle(unit);
    REQUIRE(WELL(snapshot_take(&root, &tmpl, stage, &way, &err)));
    REQUIRE(WELL(file_read(stage, WORKSPACE_SNAPSHOT, ID_TEXT, &text, &len, &err)));
    text[strcspn(text, "\n")] = '\0';
    CHECK(id_is_valid(text)); /* and not the sum of a state */
}

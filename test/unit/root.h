/*
 * What tests share that work on a root: one of their own, with sessions that are written by hand.
 */
#pragma once

#include "place.h"

#include "store/root.h"
#include "store/session.h"
#include "store/workspace.h"

/* The ids of sessions; the last digit differs. */
#define ID(digit) "550e8400-e29b-41d4-a716-44665544000" #digit

/* Makes a root in the place and opens it. */
UNIT_MAYBE static bool root_make(const struct place *place, struct root *ret)
{
    struct err err = ERR_INIT;

    return place_put(place->dir, ROOT_SETTINGS, "") && WELL(root_open(place->path, ret, &err));
}

/* A test's own root, and an error for what it does there. */
#define A_ROOT                                                                                     \
    _cleanup_place_ struct place place = place_make();                                             \
    _cleanup_root_ struct root root = ROOT_INIT;                                                   \
    UNIT_MAYBE struct err err = ERR_INIT;                                                          \
    REQUIRE(root_make(&place, &root))

/* Writes the .session of a session (NULL: none) and makes its workspace if there is none. */
UNIT_MAYBE static bool root_put_session(const struct root *root, const char *id, const char *text)
{
    (void)mkdirat(root->sessions, id, 0700);
    _cleanup_close_ int dir = workspace_open(root, id);
    return CHECK(dir != -1) && (text == NULL || place_put(dir, WORKSPACE_SESSION, text));
}

/* A stopped session of 2025-12-18, 08:00 to 09:30 UTC. */
UNIT_MAYBE static struct session root_session(const char *id, const char *tmux_name,
                                              const char *name)
{
    struct session session = {.tmux_name = mem_dup(tmux_name),
                              .tmux_socket = mem_dup("/t"),
                              .name = mem_dup(name),
                              .template = mem_dup("tp"),
                              .error = mem_dup(""),
                              .status = STATUS_STOPPED,
                              .created = 1766044800,
                              .activity = 1766050200};
    memcpy(session.id, id, ID_TEXT);
    return session;
}

/* Writes the workspace of a session, but not its row. */
UNIT_MAYBE static bool root_save(const struct root *root, const struct session *session)
{
    _cleanup_str_ struct str text = STR_INIT;

    session_format(root, session, &text);
    return root_put_session(root, session->id, str_text(&text));
}

/* Keeps everything outside the place away: the user's settings and tmux servers. */
UNIT_MAYBE static void root_clear_env(const struct place *place)
{
    static const char *const own[] = {"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "TMUX_TMPDIR"};
    static const char *const other[] = {"MAS_SESSION_MODE", "MAS_TEMPLATE",    "MAS_PRESET",
                                        "MAS_TMUX_SOCKET",  "MAS_TMUX_SERVER", "MAS_TMUX_SIZE",
                                        "MAS_SESSION_ID",   "MAS_ROOT"};

    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        CHECK(setenv(own[i], place->path, 1) == 0);
    for (size_t i = 0; i < ARRAY_LEN(other); i++)
        CHECK(unsetenv(other[i]) == 0);
}

/*
 * Where tmux puts the socket of a server. store/session.h derives it for a session whose metadata
 * does not name it; all else about sockets is in tmux/.
 */
#pragma once

/* Returns tmux's own directory for sockets. A TMUX_TMPDIR that does not exist falls back to /tmp,
 * as in tmux itself. The caller frees *ret. */
int tmux_place_dir(char **ret, struct err *err);

/* Returns the socket path of the server with this name, as `tmux -L` finds it; "" is "default". An
 * absolute path stays as it is. The caller frees *ret. */
int tmux_place(const char *name, char **ret, struct err *err);

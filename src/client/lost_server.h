/*
 * A tmux server that runs although the file of its socket is gone, as when a cleaner of /tmp has
 * removed it: nobody can connect, and its sessions seem to have crashed. The hosts in its panes are
 * its children, so it is found by them. A server that gets SIGUSR1 makes its socket again.
 */
#pragma once

/* Returns the server of the session in the workspace `dir`, if it listens on `socket` and the file
 * of that is gone; 0: it is not so. */
pid_t lost_server_find(int dir, const char *socket);

/* Makes the socket again if lost_server_find() finds the server. Returns 1 if it did, 0 if there
 * was nothing to do. */
int lost_server_mend(int dir, const char *socket, struct err *err);

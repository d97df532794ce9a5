/* The parts of a talk, made and ended together. */
#pragma once

struct host;

/* Makes the parts of host->talk, whose `ops` is set, and reads what the previous host has left. */
void parts_open(struct host *host);
/* Writes what could not be written: for unwritten_tick(). */
bool parts_keep_again(struct host *host);
/* Ends them; what waits stays on disk. */
void parts_close(struct host *host);

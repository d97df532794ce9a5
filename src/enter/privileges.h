/*
 * What root may do beside using its own files.
 */
#pragma once

/* Drops all capabilities, for good. An agent of root keeps its user, but not what root may. With
 * `nested` it keeps CAP_SETFCAP if it has that: without it, root may not map itself into a user
 * namespace. */
int privileges_drop(bool nested, struct err *err);

/*
 * The helper programs of mas. They link the libraries that mas itself does not.
 */
#pragma once

#define HELPER_ARCHIVE "mas-archive"
#define HELPER_CHAT "mas-chat" /* mas-chat SESSION_DIR AGENT: the pane of an ACP agent */
#define HELPER_TOP "mas-top" /* mas-top MAS ROOT [OPTION]... [ID]...: the screen of `mas top` */
#define HELPER_TOLD "mas-told" /* src/told/: a hook of a program that tells what it does */
#define HELPER_WALL "mas-wall" /* src/enter/: what becomes the agent inside of a wall */
#define HELPER_SERVE "mas-serve" /* mas-serve MAS ROOT SETTING=VALUE...: the HTTP API */

/* Returns the path of a helper: next to mas in a build or an installation, otherwise in the
 * configured directory. The caller frees it. Returns NULL with *err set if the helper is
 * missing. */
char *helper_find(const char *name, struct err *err);

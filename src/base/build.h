/*
 * What the build decides. Only build.c is compiled with it, so that another place compiles nothing
 * twice. The version, MAS_VERSION, is in the flags of all.
 */
#pragma once

/* "": built with DEV=1, or from a tree that is neither a clone nor a tarball. */
extern const char build_commit[];
/* Directories of an installed mas, for a program that does not find them beside itself. */
extern const char build_data[], build_libexec[];

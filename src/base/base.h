/*
 * What each file may use without naming it: the compiler reads this file before every other one
 * (-include), so that no file includes it, or what it includes. What fewer files need they include
 * themselves.
 */
#pragma once

#include <alloca.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/err.h"
#include "base/libc.h"
#include "base/str.h"

/*
 * Functions that are not used here, because each has a way to go wrong that its replacement has
 * not. The compiler reads this file before every other (-include): a call of one names a function
 * that does not exist. The headers that declare them come first, so that only our own code is
 * meant.
 *
 * The replacements: str.h for text, proc.h for programs, time.h for times, mkostemp() for temporary
 * files, strtol() and its kind (they tell a bad number from 0) for numbers.
 */
#ifndef MAS_BASE_BANNED_H
#define MAS_BASE_BANNED_H

#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BANNED(function) sorry_##function##_is_banned_here

/* Overflow, or text that is cut in silence or not terminated. */
#undef strcpy
#define strcpy(...) BANNED(strcpy)
#undef strcat
#define strcat(...) BANNED(strcat)
#undef strncpy
#define strncpy(...) BANNED(strncpy)
#undef strncat
#define strncat(...) BANNED(strncat)
#undef sprintf
#define sprintf(...) BANNED(sprintf)
#undef vsprintf
#define vsprintf(...) BANNED(vsprintf)
#undef gets
#define gets(...) BANNED(gets)
#undef alloca
#define alloca(...) BANNED(alloca)

/* Hidden state, shared by all callers. */
#undef strtok
#define strtok(...) BANNED(strtok)
#undef asctime
#define asctime(...) BANNED(asctime)
#undef ctime
#define ctime(...) BANNED(ctime)
#undef gmtime
#define gmtime(...) BANNED(gmtime)
#undef localtime
#define localtime(...) BANNED(localtime)

/* A shell reads the text. */
#undef system
#define system(...) BANNED(system)
#undef popen
#define popen(...) BANNED(popen)

/* A name that another process can take first. */
#undef mktemp
#define mktemp(...) BANNED(mktemp)
#undef tmpnam
#define tmpnam(...) BANNED(tmpnam)
#undef tempnam
#define tempnam(...) BANNED(tempnam)

/* Every bad number is 0. */
#undef atoi
#define atoi(...) BANNED(atoi)
#undef atol
#define atol(...) BANNED(atol)
#undef atoll
#define atoll(...) BANNED(atoll)

#endif

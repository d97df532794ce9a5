/*
 * Banned functions. Each has a failure mode that its replacement does not have. A call of a banned
 * function names a function that does not exist. base.h includes the headers that declare these
 * functions first, so that the ban covers the code of mas only.
 *
 * Use instead: str.h for text, proc.h for programs, time.h for times, mkostemp() for temporary
 * files, and strtol() and its relatives for numbers (they tell a bad number from 0).
 */
#pragma once

#define BANNED(function) sorry_##function##_is_banned_here

/* They overflow, truncate silently or leave text unterminated. */
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

/* They share hidden state between all callers. */
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

/* They pass the text to a shell. */
#undef system
#define system(...) BANNED(system)
#undef popen
#define popen(...) BANNED(popen)

/* Another process can take the name first. */
#undef mktemp
#define mktemp(...) BANNED(mktemp)
#undef tmpnam
#define tmpnam(...) BANNED(tmpnam)
#undef tempnam
#define tempnam(...) BANNED(tempnam)

/* They return 0 for every bad number. */
#undef atoi
#define atoi(...) BANNED(atoi)
#undef atol
#define atol(...) BANNED(atol)
#undef atoll
#define atoll(...) BANNED(atoll)

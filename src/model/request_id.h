/*
 * Short ids of permission requests, such as "r-3f9a01c2". `mas approve` and `mas deny` find a
 * request by them in all sessions of a root, so that it can be answered from a notification.
 */
#pragma once

enum { REQUEST_ID_TEXT = 11 }; /* bytes of "r-" and 8 hexadecimal digits, with the NUL */

/* Makes the short id from a request's own id, which is unique for all time, and what it asks, so
 * that nobody permits by it what came after they were told; "" of NULL and "". */
void request_id(const char *permission, const char *asks, char ret[REQUEST_ID_TEXT]);
/* Returns true if the text has the form of a short id. The id of a session never has it. */
bool request_id_is_valid(const char *text);

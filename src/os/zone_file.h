/*
 * What a file of /usr/share/zoneinfo says: RFC 8536, version 2 and later. For os/zone.c.
 */
#pragma once

/* Returns how far east of Greenwich, in seconds, the zone is at this time. Returns false if the
 * bytes are not such a file, or do not say. */
bool zone_file_offset(const char *data, size_t len, time_t when, int *ret);

/* The same by a rule as it ends such a file, "CET-1CEST,M3.5.0,M10.5.0/3". */
bool zone_rule_offset(const char *rule, time_t when, int *ret);

/* SPDX-License-Identifier: BSD-3-Clause */
/* Options in the lines of a transcript: those of its head, and as its events
 * "change" changed them since. */
#ifndef LS_FILE_CHANGES_H
#define LS_FILE_CHANGES_H

#include <jansson.h>

/* Follow a line: a head sets all options, an event "change" changes some.
 * LS_EFORMAT: that event is not as it must be; LS_ENOMEM. */
int ls__changes_follow(json_t *options, const json_t *line);

/* A new object {"from": .., "to": ..} of what differs between two objects of
 * options; a name that one lacks is not in it.  NULL: no memory. */
json_t *ls__changes_between(const json_t *before, const json_t *now);

#endif

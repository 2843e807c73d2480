/* short_name: names of kernels and functions in messages for people.
 *
 * A C++ name with its template arguments may be a thousand characters and more, among which nobody
 * finds the rest of a message. What programs read (reports in JSON) has whole names. */
#ifndef WEIR_BASE_SHORT_NAME_H
#define WEIR_BASE_SHORT_NAME_H

#include "base/base.h"

enum { SHORT_NAME_MAX = 120 }; /* characters that a name may have in a message */

/* Appends the name. One that is longer is made to fit: what stands in brackets and parentheses
 * becomes "...", from the inside out, and only as much as must be; so the function's name and the
 * first of its template arguments stay. */
void short_name(struct strbuf *out, const char *name);

/* The same as text of its own, to be freed. */
char *short_name_of(const char *name);

#endif

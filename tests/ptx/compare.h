/* compare.h: are two PTX modules equal in all that the printer keeps? (Not kept: where things
 * stood in the text, and numbers of inlined-at records, whose contents are compared instead.) */
#ifndef WEIR_TESTS_PTX_COMPARE_H
#define WEIR_TESTS_PTX_COMPARE_H

#include "ptx/ptx.h"

/* True when equal; otherwise `why` says what differs first. */
bool modules_equal(const struct ptx_module *a, const struct ptx_module *b, char *why, size_t size);

#endif

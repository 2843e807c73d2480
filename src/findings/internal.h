/* internal: what the files of this module share. */
#ifndef WEIR_FINDINGS_INTERNAL_H
#define WEIR_FINDINGS_INTERNAL_H

#include "findings/findings.h"

extern struct findings_options findings_options;

/* Whether it is a list as WEIR_CHECK_KERNELS has it, or NULL. (kernels.c) */
bool kernels_list_valid(const char *list, struct diag *d);

/* Whether a finding, by its JSON, is of kernels that are asked for, or of none. (kernels.c) */
bool kernels_wanted(const char *members);

/* Whether a suppression names a kernel of the finding, by its JSON: the text may have less of a
 * long name. (kernels.c) */
bool kernels_suppressed(const char *check, const char *members);

/* Looks for a Python in the process. (python.c) */
void python_open(void);

#endif

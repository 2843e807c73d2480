/* error: the words of error codes, for reports; and of modules that were not loaded. */
#ifndef WEIR_DRIVER_ERROR_ERROR_H
#define WEIR_DRIVER_ERROR_ERROR_H

#include <stdbool.h>

/* Name and sentence of a code of the runtime API or of the driver API; both stay as they are for a
 * code that there is not. */
void error_words(int code, bool runtime, const char **name, const char **text);

/* A module was not loaded, and why: told at the end of the process where WEIR_LIBRARIES is on. */
void refused_remember(const char *reason);

#endif

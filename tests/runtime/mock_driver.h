/* The controls of the mock driver, for the runtime's unit tests. */
#ifndef WEIR_TESTS_MOCK_DRIVER_H
#define WEIR_TESTS_MOCK_DRIVER_H

#include "../../include/cuda.h"

void mock_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* What was called since the last time, as text; empties the log. */
const char *mock_take_log(void);
/* Makes the next call of a function fail. */
void mock_fail(const char *function, CUresult result);

#endif

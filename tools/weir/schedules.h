/* schedules: weir run --schedules=N (schedules.c). */
#ifndef WEIR_TOOL_SCHEDULES_H
#define WEIR_TOOL_SCHEDULES_H

#include <stdint.h>

/* What a shell gives for a program that is not there, or cannot be run. */
enum { EXIT_NOT_FOUND = 127, EXIT_NOT_RUNNABLE = 126 };

/* Runs the program, whose words end with NULL, in the fixed order and `count` others, and tells in
 * which its output or its end differ. Returns the exit status: 1, or ENV_ERROR_EXITCODE, when any
 * does, else that of the program in the fixed order. */
int weir_run_schedules(uint64_t count, char **program);

#endif

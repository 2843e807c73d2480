/* standard_input: the input "-".
 *
 * A source file is compiled more than once, so what comes in on standard input is kept in an
 * intermediate file. Messages call it "<stdin>", and it includes files from the working directory.
 */
#ifndef WEIRCC_STANDARD_INPUT_H
#define WEIRCC_STANDARD_INPUT_H

#include "weircc/driver/driver.h"

/* How the build names such an input, and so its outputs. */
#define STANDARD_INPUT_NAME "stdin"

/* Reads standard input for the job that has it, if one has. With --dryrun its text becomes part of
 * the script. False and a message when it cannot be read. */
bool standard_input_read(struct driver *dr);

#endif

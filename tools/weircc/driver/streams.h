/* streams: inputs that can be read but once, the input "-" and FIFOs (a shell's <(command)).
 *
 * An input is read more than once, so what comes in is kept in an intermediate file. Messages call
 * standard input "<stdin>" and a FIFO by its name; files are included from the working directory or
 * from that of the FIFO. */
#ifndef WEIRCC_STREAMS_H
#define WEIRCC_STREAMS_H

#include "weircc/driver/driver.h"

/* How the build names standard input, and so its outputs. */
#define STANDARD_INPUT_NAME "stdin"

/* Reads standard input if a job has it, before there are intermediate files: until then any signal
 * may end the process. False and a message when it cannot be read. */
bool streams_read_standard_input(struct driver *dr);

/* Puts files in the place of all such inputs. With --dryrun the script does that, and the text of
 * standard input becomes a part of it. Exit status. */
int streams_keep(struct driver *dr);

/* The text of a job's input is known by this name, the same in every build; NULL: it is a file like
 * any other. */
const char *streams_name(const struct build *p, const char *input);

#endif

/* timeline: an observer (observe/observe.h) that writes what happens to a file that Perfetto and
 * Chrome open, JSON of the trace event format, and prints sums of it when the process ends.
 *
 * A hook fills a record of fixed size in a buffer of its thread, without a lock (record.c). Work
 * that begins on one thread and ends on another is kept in a table meanwhile (open.c), so that a
 * record is one slice. Every 50 ms, and at exit, a thread of ours takes the records, makes text of
 * them (json.c) and appends it to the file (file.c). What ran when a process was killed is lost,
 * and what it did in its last 50 ms.
 *
 * **Tracks.** Each device is a process of the trace: a track for each stream, and beneath it, as
 * many as run at once, tracks for nodes of graphs and grids that kernels launched, children beneath
 * their parents. The program's process has a track for each thread: calls of the API, waits, NVTX
 * ranges, and what the thread did of which work. Arrows lead from the recording of an event to who
 * waited for it. Used device memory and pools are counters.
 *
 * **The file** is an array that is never closed: "]" at its end makes it JSON, which viewers do
 * without. Several processes may append to one file. Each write is under a lock of the file and
 * has whole events, and none of them lies across the end of a page: the system writes page by page,
 * so a process that is killed leaves no half event. */
#ifndef WEIR_TIMELINE_TIMELINE_H
#define WEIR_TIMELINE_TIMELINE_H

#include "base/base.h"

/* Begins to trace, for the rest of the process; before the first device is opened. A path of NULL:
 * no file; with `statistics` they are printed to stderr at exit. `demangle` gives the name of a
 * function for people and keeps it. False and a message: the file cannot be written, or there is no
 * thread. */
bool timeline_begin(const char *path, bool statistics, const char *(*demangle)(const char *name),
                    struct diag *d);

/* Writes the first bytes of a file, if it is empty or `fresh`. False: errno says why. */
bool timeline_create(const char *path, bool fresh);

#endif

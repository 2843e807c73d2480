/* leftovers: directories of intermediate files of which nobody is left to remove them, since their
 * process was killed. Each has a file on which its process holds a lock for as long as it lives; a
 * later process removes those of the same user that are a day old and whose file has no lock. */
#ifndef WEIRCC_LEFTOVERS_H
#define WEIRCC_LEFTOVERS_H

/* How their names begin. */
#define LEFTOVERS_PREFIX "weircc-"

/* Makes the file in a directory, and locks it until the process ends. */
void leftovers_mark(const char *directory);

/* Removes the file that leftovers_mark has made. */
void leftovers_unmark(const char *directory);

/* Removes what is left in `base`, with the files in it. */
void leftovers_remove(const char *base);

#endif

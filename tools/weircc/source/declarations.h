/* declarations: functions that are declared in one place and defined in another, where the two
 * differ in what clang wants to be the same.
 *
 * - Execution space specifiers of member templates, and of functions outside of classes that are
 *   declared for the device and defined plain. nvcc warns; clang takes them for two functions. Of
 *   other functions clang says where both places are (specifiers.h). Each place gets what it lacks:
 *   both specifiers where one of the two has both, else __device__.
 * - Default arguments that only the definition of a class template's member has. nvcc takes them;
 *   clang refuses them. They go to the declaration.
 *
 * Both are found in preprocessed text, by the names of classes and the types of parameters. */
#ifndef WEIRCC_SOURCE_DECLARATIONS_H
#define WEIRCC_SOURCE_DECLARATIONS_H

#include "base/base.h"

/* Whether clang's messages (not coloured) are about that. */
bool declarations_are_why(const char *messages);

/* Writes preprocessed text in which they agree; appends the result. Returns the number of changes.
 */
int declarations_write(const char *text, struct strbuf *out);

#endif

/* Where the tool's libraries are: ../lib from its own directory, in the build tree and installed.
 */
#include "weir.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *directory;

static void find(void)
{
    char *self = realpath("/proc/self/exe", NULL);
    char *slash = self != NULL ? strrchr(self, '/') : NULL;
    if (slash == NULL)
        return;
    *slash = '\0';
    char *beside = xprintf("%s/../lib", self);
    directory = realpath(beside, NULL);
    free(beside);
    free(self);
}

const char *weir_library_directory(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
    return directory;
}

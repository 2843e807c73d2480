/* refused: why modules were not loaded. Python's packages show the code alone, though the driver
 * has written the reason into their log; so, where WEIR_LIBRARIES asks for it, the process tells
 * the reasons at its end, each once. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "driver/error/error.h"

enum { REASONS_MAX = 8 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *reasons[REASONS_MAX];
static int count;

/* At the end of the process. */
static void tell(void)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < count; i++)
        fprintf(stderr, "weir: a module was not loaded: %s\n", reasons[i]);
    pthread_mutex_unlock(&lock);
}

void refused_remember(const char *reason)
{
    if (!env_lists(ENV_LIBRARIES, "on"))
        return;
    pthread_mutex_lock(&lock);
    bool known = count == REASONS_MAX;
    for (int i = 0; i < count && !known; i++)
        known = strcmp(reasons[i], reason) == 0;
    char *text = known ? NULL : strdup(reason);
    if (text != NULL) {
        reasons[count++] = text;
        if (count == 1)
            atexit(tell);
    }
    pthread_mutex_unlock(&lock);
}

/* Things the user should know that are no error of any call (jit_set_notice); most are said once.
 */
#include "loader/cache.h"
#include "loader/loader.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static jit_notice_fn receiver;
static void *receiver_self;
static bool said[NOTICE_COUNT];

void jit_set_notice(jit_notice_fn fn, void *self)
{
    pthread_mutex_lock(&lock);
    receiver = fn;
    receiver_self = self;
    pthread_mutex_unlock(&lock);
}

static _Atomic(jit_name_fn) plain_name;

void jit_set_names(jit_name_fn fn) { atomic_store(&plain_name, fn); }

const char *notice_name(const char *name)
{
    jit_name_fn fn = atomic_load(&plain_name);
    return fn != NULL ? fn(name) : name;
}

static void say(const char *fmt, va_list ap)
{
    pthread_mutex_lock(&lock);
    jit_notice_fn fn = receiver;
    void *self = receiver_self;
    pthread_mutex_unlock(&lock);
    char text[1024];
    vsnprintf(text, sizeof text, fmt, ap);
    if (fn != NULL)
        fn(self, text);
    else
        fprintf(stderr, "weir: %s\n", text);
}

void notice_once(enum notice_kind kind, const char *fmt, ...)
{
    pthread_mutex_lock(&lock);
    bool again = said[kind];
    said[kind] = true;
    pthread_mutex_unlock(&lock);
    if (again)
        return;
    va_list ap;
    va_start(ap, fmt);
    say(fmt, ap);
    va_end(ap);
}

void notice_say(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say(fmt, ap);
    va_end(ap);
}

/* checks: what the programs of this directory share. A program is a set of cases; it runs the one
 * that its argument names. Comments `// EXPECT text` say what is to be found (findings.py). */
#pragma once
#include <cstdio>
#include <cstring>

#include <cuda_runtime.h>

using Body = void (*)();
struct Case {
    const char *name;
    Body body;
    Case *next;
};
static Case *cases;
struct Registered {
    Case self;
    Registered(const char *name, Body body) : self{name, body, cases} { cases = &self; }
};
#define CASE(name)                                                                                 \
    static void name##_case();                                                                     \
    static Registered name##_registered(#name, name##_case);                                       \
    static void name##_case()

/* A call that must succeed. */
#define DO(call)                                                                                   \
    do {                                                                                           \
        auto code = (call);                                                                        \
        if (code != 0)                                                                             \
            printf("%s:%d: %d\n", __FILE__, __LINE__, (int)code);                                  \
    } while (0)

int main(int argc, char **argv)
{
    for (Case *c = cases; c != nullptr; c = c->next)
        if (argc == 2 && strcmp(c->name, argv[1]) == 0) {
            c->body();
            return 0;
        }
    fprintf(stderr, "usage: %s CASE\n", argv[0]);
    return 2;
}

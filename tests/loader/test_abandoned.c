/* Module loader: calls of the compiler that were abandoned when memory ran out inside LLVM. Their
 * stacks are used by nobody else, later calls succeed, and one that comes to a lock that LLVM
 * held is given up, with a message, instead of waiting for ever. */
#include "check.h"
#include "loader/compiler_library.h"
#include "loader/loader.h"
#include "module.h"

#include <string.h>

static struct fake fake;

static bool compiles(const char *name, struct diag *d)
{
    static const struct jit_options options = {.ntid = {32, 1, 1}};
    *d = (struct diag){0};
    struct jit_code *code = jit_get(fake_kernel(&fake, name), &options, &fake.resolver, d);
    jit_release(code);
    return code != NULL;
}

int main(void)
{
    char *directory = make_directory();
    struct diag d;
    char name[32];
    fake_environment(directory);
    fake_init(&fake, 4242);
    plugin_patience_ms = 300;
    CHECK(compiles("basic@before", &d));
    CHECK(!plugin_abandoned_once());
    for (int i = 0; i < 4; i++) {
        CHECK(!compiles("abandoned", &d) && d.out_of_memory);
        CHECK(plugin_abandoned_once());
        snprintf(name, sizeof name, "basic@after%d", i);
        CHECK(compiles(name, &d));
        CHECK_STR(d.text, "");
    }
    CHECK(!compiles("stuck", &d) && d.out_of_memory);
    CHECK(strstr(d.text, "cannot be used any more in this process") != NULL);
    CHECK(!compiles("basic@late", &d) && d.out_of_memory);
    CHECK(strstr(d.text, "cannot be used any more in this process") != NULL);
    CHECK(compiles("basic@before", &d)); /* what is in the cache still runs */
    remove_directory(directory);
    return check_done();
}

/* roundtrip: every file named on the command line must parse, print, and parse again to an equal
 * module whose text is the same. With -t the time of parsing is told, with -p the text printed. */
#include "check.h"
#include "compare.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void one(const char *path, bool tell, bool print)
{
    struct diag d = {0};
    size_t size = 0;
    char *text = file_read(path, &size, &d);
    double start = now();
    struct ptx_module *m = text != NULL ? ptx_parse(text, size, &d) : NULL;
    if (tell)
        printf("%8.2f ms %9zu bytes %s\n", now() - start, size, path);
    if (m == NULL)
        printf("%s: %s\n", path, d.text);
    CHECK(m != NULL);
    if (m != NULL) {
        struct strbuf once = {0}, twice = {0};
        char why[256] = "";
        ptx_print(m, &once);
        if (print)
            fputs(once.items, stdout);
        struct ptx_module *again = ptx_parse(once.items, once.count, &d);
        if (again == NULL)
            printf("%s, printed: %s\n", path, d.text);
        CHECK(again != NULL);
        if (again != NULL) {
            bool equal = modules_equal(m, again, why, sizeof why);
            if (!equal)
                printf("%s: differs after printing: %s\n", path, why);
            CHECK(equal);
            ptx_print(again, &twice);
            CHECK(once.count == twice.count && memcmp(once.items, twice.items, once.count) == 0);
        }
        ptx_free(again);
        sb_free(&once);
        sb_free(&twice);
    }
    ptx_free(m);
    free(text);
}

int main(int argc, char **argv)
{
    bool tell = false, print = false;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "-t") == 0)
            tell = true;
        else if (strcmp(argv[i], "-p") == 0)
            print = true;
        else
            one(argv[i], tell, print);
    return check_done();
}

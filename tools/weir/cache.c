/* weir cache: shows and empties the directory of compiled kernels. */
#include "loader/cache.h"
#include "weir.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: weir cache [--clear]\n"
    "\n"
    "Kernels are compiled when they are first launched and kept in a directory, so that the next "
    "run\n"
    "of any program starts at once. The directory is WEIR_CACHE_DIR, else $XDG_CACHE_HOME/weir, "
    "else\n"
    "~/.cache/weir. What was unused for longest is removed when it grows beyond its limit.\n"
    "\n"
    "  --clear   remove all compiled kernels\n";

static void print_usage(const char *before, const struct cache_usage *use)
{
    printf("%s%llu file%s, %.1f MiB", before, (unsigned long long)use->files,
           use->files == 1 ? "" : "s", (double)use->bytes / (1 << 20));
}

int weir_cache(int argc, char **argv)
{
    bool clear = false;
    if (weir_help(argc, argv, help))
        return EXIT_OK;
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--clear") != 0)
            return weir_misused("cache", "unknown argument '%s'", argv[i]);
        clear = true;
    }
    const char *directory = cache_dir();
    if (directory == NULL) {
        printf("no cache directory is in use\n");
        return clear ? EXIT_FAILED : EXIT_OK;
    }
    struct diag d = {0};
    struct cache_usage use;
    if (!(clear ? cache_trim(0, &use, &d) : cache_usage(&use, &d)))
        return weir_failed("cache", "%s", d.text);
    printf("%s: ", directory);
    print_usage(clear ? "removed " : "", &use);
    if (clear)
        printf("\n");
    else
        printf(" (limit %llu MiB)\n", (unsigned long long)(CACHE_LIMIT_BYTES >> 20));
    return EXIT_OK;
}

/* weir cache: shows, fills and empties the directory of compiled kernels. */
#include "loader/cache.h"
#include "weir.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: weir cache [--clear]\n"
    "       weir cache --fill FILE [--block X[,Y[,Z]]] ...\n"
    "\n"
    "Kernels are compiled when they are first launched and kept in a directory, so that the next "
    "run\n"
    "of any program starts at once. The directory is WEIR_CACHE_DIR, else $XDG_CACHE_HOME/weir, "
    "else\n"
    "~/.cache/weir. What was unused for longest is removed when it grows beyond its limit.\n"
    "\n"
    "  --clear        remove all compiled kernels\n"
    "  --fill FILE    compile all kernels of a program, library, fat binary or PTX file, so that\n"
    "                 its launches wait for nothing: for the shapes of blocks with which each was\n"
    "                 launched before; else for the one that it requires; else for 256, 128, 512\n"
    "                 and 1024 threads, 16,16 and 32,32\n"
    "  --block X,Y,Z  with --fill: for this shape of block, and others so given, instead\n";

enum { NO_MORE = -1 };

/* The command line: NO_MORE, or the status of a wrong one. */
static int parse(int argc, char **argv, bool *clear, struct fill_request *fill)
{
    for (int i = 0; i < argc;) {
        char *value;
        if (strcmp(argv[i], "--clear") == 0) {
            *clear = true;
            i++;
        } else if (weir_option(argc, argv, &i, "--fill", &value)) {
            if (value == NULL || fill->file != NULL)
                return weir_misused("cache", "--fill needs one file");
            fill->file = value;
        } else if (weir_option(argc, argv, &i, "--block", &value)) {
            if (fill->nblocks == WEIR_COUNT(fill->blocks))
                return weir_misused("cache", "more than %d shapes of blocks", fill->nblocks);
            if (value == NULL || !weir_block(value, fill->blocks[fill->nblocks++]))
                return weir_misused("cache", "--block needs a shape such as 256 or 16,16,1, of at "
                                             "most 1024 threads");
        } else {
            return weir_misused("cache", "unknown argument '%s'", argv[i]);
        }
    }
    if (*clear && fill->file != NULL)
        return weir_misused("cache", "--clear and --fill do not go together");
    if (fill->nblocks > 0 && fill->file == NULL)
        return weir_misused("cache", "--block needs --fill");
    return NO_MORE;
}

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
    struct fill_request fill = {0};
    int status = parse(argc, argv, &clear, &fill);
    if (status != NO_MORE)
        return status;
    const char *directory = cache_dir();
    if (directory == NULL) {
        printf("no cache directory is in use\n");
        return clear || fill.file != NULL ? EXIT_FAILED : EXIT_OK;
    }
    if (fill.file != NULL)
        return weir_fill(&fill);
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

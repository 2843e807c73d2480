/* --help and --version. */
#include "weircc/driver/driver.h"

#include <stdio.h>
#include <string.h>

/* Prints text in lines of at most 100 columns, each after eight blanks. */
static void print_wrapped(const char *text)
{
    enum { WIDTH = 92 };
    while (*text != '\0') {
        size_t n = strlen(text);
        if (n > WIDTH) {
            n = WIDTH;
            while (n > 0 && text[n] != ' ')
                n--;
        }
        printf("        %.*s\n", (int)n, text);
        text += n;
        text += *text == ' ';
    }
}

static void print_section(const char *title)
{
    printf("\n%s\n", title);
    for (size_t i = 0; i < strlen(title); i++)
        putchar('=');
    putchar('\n');
}

static void print_option(const struct option *o)
{
    char left[80];
    snprintf(left, sizeof left, "--%s%s%s", o->lname, o->arg != NULL ? " " : "",
             o->arg != NULL ? o->arg : "");
    if (o->sname != NULL)
        printf("\n%-60s (-%s)\n", left, o->sname);
    else
        printf("\n%s\n", left);
    static const char *const prefixes[] = {[USE_ACT] = "",
                                           [USE_IGNORE] = "Accepted; nothing to do: ",
                                           [USE_REFUSE] = "Not supported: "};
    char *text = xprintf("%s%s%s", prefixes[o->use], o->text, o->use == USE_ACT ? "" : ".");
    print_wrapped(text);
}

void print_help(void)
{
    printf("\nUsage  : weircc [options] <inputfile>\n\n");
    print_wrapped("Compiles CUDA programs for this machine's CPU. Takes the command line of "
                  "nvcc, so that a build that calls nvcc can call weircc instead.");
#define SECTION(title) print_section(title);
#define OPTION(id, lname, sname, form, use, arg, values, text)                                     \
    print_option(&option_table[OPT_##id]);
#include "weircc/options/options.def"
    putchar('\n');
}

/* Scripts look for "release 13.0" and "V13.0.n" in nvcc's text. CMake takes a compiler for nvcc,
 * and its toolkit for the one to use, when the text holds nvcc's own name for itself; otherwise it
 * takes what another nvcc in the PATH says of its toolkit. */
void print_version(void)
{
    printf("weircc: Weir's CUDA compiler driver, with nvcc's command line\n"
           "Compatible with nvcc: NVIDIA (R) Cuda compiler driver\n"
           "Copyright (c) 2026 The Weir authors\n"
           "Cuda compilation tools, release %d.%d, V%d.%d.0\n"
           "Build weir_%s\n",
           WEIRCC_CUDA_MAJOR, WEIRCC_CUDA_MINOR, WEIRCC_CUDA_MAJOR, WEIRCC_CUDA_MINOR,
           WEIR_VERSION);
}

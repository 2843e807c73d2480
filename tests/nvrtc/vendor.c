/* A library in NVIDIA's place, for tests of libnvrtc: a program is PTX already, "compiling" it
 * keeps the options, and the log gives them back. */
#include <stdlib.h>
#include <string.h>

struct program {
    char *source;
    char log[512];
};

#define EXPORT __attribute__((visibility("default")))

EXPORT int nvrtcCreateProgram(struct program **out, const char *source)
{
    *out = calloc(1, sizeof **out);
    (*out)->source = strdup(source);
    return 0;
}

EXPORT int nvrtcDestroyProgram(struct program **program)
{
    free((*program)->source);
    free(*program);
    *program = NULL;
    return 0;
}

EXPORT int nvrtcCompileProgram(struct program *program, int count, const char *const *options)
{
    program->log[0] = '\0';
    for (int n = 0; n < count; n++) {
        strcat(program->log, options[n]);
        strcat(program->log, " ");
    }
    return strstr(program->log, "--wrong") != NULL ? 6 : 0;
}

EXPORT int nvrtcGetPTXSize(struct program *program, size_t *size)
{
    *size = strlen(program->source) + 1;
    return 0;
}

EXPORT int nvrtcGetPTX(struct program *program, char *out)
{
    strcpy(out, program->source);
    return 0;
}

EXPORT int nvrtcGetProgramLog(struct program *program, char *out)
{
    strcpy(out, program->log);
    return 0;
}

/* As for a virtual target: there is no machine code. */
EXPORT int nvrtcGetCUBINSize(struct program *program, size_t *size)
{
    (void)program;
    *size = 0;
    return 0;
}

EXPORT const char *nvrtcGetErrorString(int result) { return result == 0 ? "fine" : "wrong"; }

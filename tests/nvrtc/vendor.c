/* A library in NVIDIA's place, for tests of libnvrtc: a program is PTX already, "compiling" it
 * keeps the options, and the log gives them back. */
#include <stdlib.h>
#include <string.h>

#include "nvrtc/nvrtc.h"

struct _nvrtcProgram {
    char *source;
    char log[512];
};

nvrtcResult nvrtcCreateProgram(nvrtcProgram *out, const char *source, const char *name, int count,
                               const char *const *headers, const char *const *names)
{
    (void)name, (void)count, (void)headers, (void)names;
    *out = calloc(1, sizeof **out);
    (*out)->source = strdup(source);
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program)
{
    free((*program)->source);
    free(*program);
    *program = NULL;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char *const *options)
{
    program->log[0] = '\0';
    for (int n = 0; n < count; n++) {
        strcat(program->log, options[n]);
        strcat(program->log, " ");
    }
    return strstr(program->log, "--wrong") != NULL ? NVRTC_ERROR_COMPILATION : NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *size)
{
    *size = strlen(program->source) + 1;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *out)
{
    strcpy(out, program->source);
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *out)
{
    strcpy(out, program->log);
    return NVRTC_SUCCESS;
}

/* As for a virtual target: there is no machine code. */
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *size)
{
    (void)program;
    *size = 0;
    return NVRTC_SUCCESS;
}

const char *nvrtcGetErrorString(nvrtcResult result)
{
    return result == NVRTC_SUCCESS ? "fine" : "wrong";
}

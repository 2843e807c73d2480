/* M4.1: the checking macro of examples/check.h reports a failing call as file, line, call, code and
 * text, and ends the program; one that succeeds passes without a word. */
#include "../../../examples/check.h"

#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

static int bad;

static void expect(bool right, const char *what)
{
    if (!right) {
        fprintf(stderr, "failed: %s\n", what);
        bad = 1;
    }
}

enum { FAILING_LINE = __LINE__ + 4 };
static void fail()
{
    CHECK(cudaSuccess);
    CHECK(cudaSetDevice(4000));
}

/* Runs fail in a child: its standard error in `text`. Returns its status. */
static int run(char *text, size_t size)
{
    int ends[2], status = -1;
    if (pipe(ends) != 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        fail();
        _exit(0);
    }
    close(ends[1]);
    size_t used = 0;
    for (ssize_t n; used + 1 < size && (n = read(ends[0], text + used, size - 1 - used)) > 0;)
        used += (size_t)n;
    text[used] = 0;
    waitpid(pid, &status, 0);
    return status;
}

int main()
{
    char text[1000], expected[1000];
    int status = run(text, sizeof text);

    expect(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILURE, "the program ends");
    CHECK(cudaSetDevice(0)); /* a call that succeeds */
    CHECK_LAUNCH();
    snprintf(expected, sizeof expected, ": cudaSetDevice(4000): %s (%s)\n",
             cudaGetErrorName(cudaErrorInvalidDevice), cudaGetErrorString(cudaErrorInvalidDevice));
    expect(strstr(text, expected) != nullptr, "call, code and text");
    snprintf(expected, sizeof expected, "%s:", __FILE__);
    expect(strncmp(text, expected, strlen(expected)) == 0, "the file");
    expect(atoi(text + strlen(expected)) == FAILING_LINE, "the line");
    return bad;
}

/* weir info --pools: the memory pools of a process that runs, or that has ended and left its report
 * in WEIR_POOLS_FILE. */
#include "weir.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Prints all that comes; whether any did. */
static bool print_all(int fd)
{
    char text[4096];
    bool any = false;
    for (ssize_t n; (n = read(fd, text, sizeof text)) > 0; any = true)
        fwrite(text, 1, (size_t)n, stdout);
    return any;
}

static int of_process(long pid)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "weir-pools-%ld", pid);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    bool ok = fd >= 0 && connect(fd, (struct sockaddr *)&name, size) == 0;
    bool refused = ok && !print_all(fd);
    if (fd >= 0)
        close(fd);
    if (!ok)
        return weir_failed("info", "process %ld has no memory pools of Weir, or there is none",
                           pid);
    return refused ? weir_failed("info", "process %ld belongs to another user", pid) : EXIT_OK;
}

static int of_file(const char *path)
{
    size_t size;
    struct diag d = {0};
    char *text = file_read(path, &size, &d);
    if (text == NULL)
        return weir_failed("info", "%s", d.text);
    bool ours = strncmp(text, "memory pools of process ", 24) == 0;
    if (ours)
        fwrite(text, 1, size, stdout);
    free(text);
    return ours ? EXIT_OK : weir_failed("info", "%s is no report of memory pools", path);
}

int weir_pools(const char *what)
{
    char *end;
    errno = 0;
    long pid = strtol(what, &end, 10);
    return errno == 0 && end != what && *end == '\0' && pid > 0 ? of_process(pid) : of_file(what);
}

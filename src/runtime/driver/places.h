/* places: where distributions, containers and WSL put the driver of a GPU. The command line tool
 * looks there, too. */
#ifndef WEIR_RUNTIME_DRIVER_PLACES_H
#define WEIR_RUNTIME_DRIVER_PLACES_H

static const char *const gpu_driver_places[] = {"/usr/lib/x86_64-linux-gnu",
                                                "/usr/lib64",
                                                "/usr/lib",
                                                "/usr/lib/wsl/lib",
                                                "/usr/local/nvidia/lib64",
                                                "/usr/lib/aarch64-linux-gnu",
                                                "/run/opengl-driver/lib"};

#endif

#include "CoffretOnDemand.h"

#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

void *coffret_function(const char *library, const char *name) {
    /* The system counts how often a library was opened, and gives the same one each time. */
    void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    void *function = handle ? dlsym(handle, name) : NULL;
    if (function)
        return function;
    const char *reason = dlerror();
    dprintf(STDERR_FILENO, "error while loading shared libraries: %s\n", reason ? reason : library);
    _exit(127);
}

#ifndef COFFRET_ON_DEMAND_H
#define COFFRET_ON_DEMAND_H

/* Libraries that a program loads when it first calls a function of theirs. A dynamic library costs every start of
   the program up to a millisecond, whether it is used or not. See Docs/decisions/0105-libraries-on-demand.md. */

/* The function of that name in the shared library of that file name. Ends the process with status 127 and a sentence
   if the library or the function is missing, as the system's own loader does. Any thread may call this. */
void *coffret_function(const char *library, const char *name);

/* Defines a function that stands in a header, with the result and parameters that it has there: its first call asks
   `find` for the name, later ones cost a load and a jump. It is hidden, so that other libraries keep calling their
   own. */
#define COFFRET_ON_DEMAND(find, result, name, parameters, arguments)                                               \
    __attribute__((visibility("hidden"))) result name parameters {                                                    \
        static __typeof__(&name) found;                                                                               \
        __typeof__(&name) function = __atomic_load_n(&found, __ATOMIC_RELAXED);                                       \
        if (__builtin_expect(!function, 0)) {                                                                         \
            function = (__typeof__(&name))find(#name);                                                                \
            __atomic_store_n(&found, function, __ATOMIC_RELAXED);                                                     \
        }                                                                                                             \
        return function arguments;                                                                                    \
    }

#endif

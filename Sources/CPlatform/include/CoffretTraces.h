/* What handling a secret leaves behind outside of any object. */
#ifndef COFFRET_TRACES_H
#define COFFRET_TRACES_H

/* Overwrites the dead part of the stack, as far below the caller as COFFRET_DEAD_STACK_BYTES, and the vector registers. */
void coffret_clear_traces(void);

#define COFFRET_DEAD_STACK_BYTES 65536

#endif

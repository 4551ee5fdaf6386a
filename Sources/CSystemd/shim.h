/* sd-bus, for signals of logind. */
#include <systemd/sd-bus.h>

#include <glib-unix.h>
#include <gtk/gtk.h>

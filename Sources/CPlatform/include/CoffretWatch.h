/* Hearing of changed files and of a changed network: inotify and netlink are not part of Swift's view of the C
   library. */
#ifndef COFFRET_WATCH_H
#define COFFRET_WATCH_H

/* An inotify descriptor, close-on-exec and non-blocking; -1 and errno on failure. */
int coffret_watch_create(void);
/* Watches a folder for files that are written, made, renamed into it or removed. Returns a number for the folder, the
   same again for the same folder; -1 and errno on failure. */
int coffret_watch_folder(int watch, const char *path);
/* Watches a file for the end of a program that had it open for writing. Returns as coffret_watch_folder does. */
int coffret_watch_closing(int watch, const char *path);
/* Takes what happened, without waiting: fills the numbers of folders, each once for each event; -1 stands for events
   that were lost. Returns how many were filled in, 0 if nothing waits. */
int coffret_watch_take(int watch, int *folders, int capacity);

/* A descriptor that becomes readable when addresses of this machine change; close-on-exec and non-blocking. -1 and
   errno on failure. */
int coffret_network_watch(void);
/* Throws away what waits there. Returns whether there was anything. */
int coffret_network_take(int watch);

#endif

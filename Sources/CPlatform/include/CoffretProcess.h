/* Process control that Swift's importer cannot see: prctl is variadic, signalfd and statfs are not
   part of its view of the C library. */
#ifndef COFFRET_PROCESS_H
#define COFFRET_PROCESS_H

/* Refuses core dumps and reading of this process's memory by others of the same user. */
int coffret_disable_dumping(void);

/* A descriptor that becomes readable when one of the (blocked) signals arrives; close-on-exec. */
int coffret_signal_descriptor(const int *signals, int count);

/* Takes the next signal from such a descriptor: its number, 0 if none waits, -1 and errno on failure. */
int coffret_next_signal(int descriptor);

/* The same, and whether the kernel sent it, as it does for Ctrl-C at a terminal, and not another process. */
int coffret_take_signal(int descriptor, int *is_from_kernel);

/* 1 if the open file or folder lies in memory only (tmpfs or ramfs), 0 if not, -1 and errno on failure. */
int coffret_is_in_memory(int descriptor);

/* 1 if the signal does what it does without anybody's doing, 0 if it is ignored or handled. */
int coffret_is_default_signal(int signal);

/* fork(2), which Swift's importer hides. Only for a process of one thread, and once: a child of a child crashes in
   Swift's Mutex, which hands the kernel the number of the thread that the first fork left behind. */
int coffret_fork(void);

/* From now on the first SIGINT, and the first SIGTERM, is only remembered, where it would end the process; the next one
   ends it. */
void coffret_heed_interrupts(void);

/* Signals that come later end the process again. */
void coffret_stop_heeding_interrupts(void);

/* The signal that was remembered; 0 if none was. */
int coffret_was_interrupted(void);

/* Closes every descriptor from `first` on. */
int coffret_close_from(unsigned int first);

/* Lets the kernel end this process by `signal` when its parent's thread ends. */
int coffret_die_with_parent(int signal);

/* CLOCK_BOOTTIME in nanoseconds, straight from the kernel, so that no library in between tells another time. */
unsigned long long coffret_boot_nanoseconds(void);

/* A file in memory without a name, close-on-exec; -1 and errno on failure. */
int coffret_memory_file(void);

/* A timer on CLOCK_BOOTTIME, close-on-exec; and its next moment, 0 for none. Return -1 and errno on failure. */
int coffret_boot_timer(void);
int coffret_set_boot_timer(int timer, unsigned long long nanoseconds);

/* Gives memory that was freed back to the kernel, as far as the C library can. */
void coffret_return_free_memory(void);

/* POLLRDHUP needs _GNU_SOURCE. */
#define COFFRET_POLLRDHUP 0x2000

/* The arguments that this program was started with, as the kernel put them. Swift's own CommandLine finds them by going
   back from the environment, and finds none once anything has set a variable before: a preloaded library, for one. */
int coffret_argument_count(void);
const char *coffret_argument(int index);

#endif

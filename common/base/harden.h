/*
 * Rights that a process drops at its start because it never needs them. An attacker with access to the
 * process or to its leftovers then finds less.
 *
 *   descriptors 0 to 2               one that is closed is opened on /dev/null, so that no file, socket or
 *                                    queue of events gets its number. Writes to it still fail.
 *   no core file, and not dumpable   secrets and orders are in memory; a dump would put them on disk, and
 *                                    ptrace or /proc/PID/mem of the same user would show them. (So no page
 *                                    needs to be marked MADV_DONTDUMP.) Builds with sanitizers stay
 *                                    dumpable: LeakSanitizer inspects its own process by ptrace.
 *   no new privileges                no program that it executes gets more rights than it has
 *   no files                         Landlock: the process cannot write, create, remove or execute any
 *                                    file, except through open descriptors (its log). Skipped where the
 *                                    kernel has no Landlock.
 */
#ifndef MG_BASE_HARDEN_H
#define MG_BASE_HARDEN_H

#define MG_HARDENING_SIZE 160

/* Call it first in main, before any other thread exists: Landlock binds the calling thread and later ones. No
 * failure here should stop the process; `ret_what` lists the measures in force, for the log. */
void mg_harden(char ret_what[MG_HARDENING_SIZE]);
/* The same without Landlock, for a program that runs other programs: Landlock would bind those, too. */
void mg_harden_but_files(char ret_what[MG_HARDENING_SIZE]);

#endif

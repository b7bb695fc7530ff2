/*
 * What a process of ours gives up when it starts, because it never needs it: so that whoever gets hold of it,
 * or of what it leaves behind, finds less.
 *
 *   no core file, and not dumpable   secrets and orders are in memory; a dump would put them on disk, and
 *                                    ptrace or /proc/PID/mem of the same user would show them. (So no page
 *                                    needs to be marked MADV_DONTDUMP.) Builds with sanitizers stay
 *                                    dumpable: LeakSanitizer looks at its own process by ptrace.
 *   no new privileges                nothing it could execute gets more rights than it has
 *   no files                         Landlock: it can neither write, create, remove nor execute any file,
 *                                    but for what it holds open already (its log). Where the kernel has no
 *                                    Landlock this is left out.
 */
#ifndef MG_BASE_HARDEN_H
#define MG_BASE_HARDEN_H

#define MG_HARDENING_SIZE 128

/* First thing in main, before there is another thread: Landlock binds the thread that asks for it and those
 * made later. Nothing here can fail in a way that should keep a process from running; `ret_what` names what
 * is in force, for the log. */
void mg_harden(char ret_what[MG_HARDENING_SIZE]);
/* The same without the last, for what is there to run a program: Landlock would bind that, too. */
void mg_harden_but_files(char ret_what[MG_HARDENING_SIZE]);

#endif

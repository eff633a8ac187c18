// Package sandbox confines the processes of plugins. A [Sandbox] belongs to a
// driver; it opens a [Cell] for each instance: the instance's private folder and the
// restrictions of its program:
//
//	cell, err := box.Open(spec)          // folder, user, Landlock ruleset
//	cmd, err := cell.Command(args, env, nil) // the host's own program, as the launcher
//	err = cell.Start(cmd)                // from a thread that is the goroutine's own
//	err = cell.Confine(cmd.Process.Pid)  // filter, limits; then the plugin runs
//	cell.Close()                         // once the process has ended
//
// What is enforced on Linux (amd64 and arm64), and by what:
//
//	its own user        if the host is root, and the plugin's files are open to
//	                    others: one of [Users] from [FirstUser] per instance, no
//	                    groups; no capabilities in any case
//	no_new_privs        always
//	Landlock            files: its own folder read-only, its private folder,
//	                    the loader's folders if it is dynamically linked, what
//	                    was granted (to be read and run); no TCP (Linux 6.7), no signals and no
//	                    abstract sockets beyond itself (6.12)
//	seccomp             no sockets but unix streams, no connect, no fork unless it
//	                    may be several processes, no change of any file's mode,
//	                    owner, times or attributes, no larger buffers, nothing in
//	                    [the table of reasons], nothing newer than the table
//	resource limits     data, stack, files, file size, no core dump; tasks if
//	                    it has its own user, or a user namespace
//	user namespace      if the host isn't root: the kernel counts its tasks
//	                    apart from the user's (Linux 5.14)
//	network namespace   no device but an unused loopback, and no abstract sockets of
//	                    other programs; granted endpoints are reached through the
//	                    host. If the host is root, or with the user namespace
//	PID namespace       if it may be several processes: all of them end with
//	                    the first, and that with the host
//	cgroup              memory in every form, and tasks, of all its processes
//
// Each of these is used if the kernel has it. [Probe] reports which ones it has, and
// [Cell.Status] which ones apply to an instance. Mode [Require] refuses to run without
// the essential ones.
//
// A program of the machine that a plugin has run gets a [Room] instead: mount, PID, network and IPC
// namespaces, and in them a file system in memory, of bounded size, in which the system's folders can
// be read. There it may do what toolchains do: fork, connect, change modes and times. The launcher
// stays as the room's first process:
//
//	cmd, err := cell.Enter(args, env)
//	err = cell.Start(cmd)
//	err = cell.Furnish(cmd.Process.Pid) // then the host fills the folders that cell.Reach names
//	err = cell.Confine(cmd.Process.Pid) // the program runs
//	status, known := cell.Ended()       // once the first process has ended, and with it all others
//
// [Off] turns none of a room's bounds off: it lets a program run where some can't be had.
//
// What isn't enforced: an instance's processes, its private folder and the files that it
// removed but still holds are counted only from time to time ([Cell.Check]), so it can
// fill a disk in between. Without a PID namespace, several processes outlive a host that
// is killed, until the next host starts. A plugin without a user of its own sees in the
// process table what the host's user sees, unless Landlock hides it. Without a control
// group, only the filter limits how much of the kernel's own memory a plugin can use: the
// notes of [Status] say how much.
//
// [the table of reasons]: refusals in filter_linux.go
//
// It is internal to Reflectory: its API may change in any release.
package sandbox

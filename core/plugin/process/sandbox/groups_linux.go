//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// groups are the control groups of one instance. Only they count all of its memory:
// resource limits count private data, separately for each process, and neither sockets
// and pipes nor files in memory.
//
// Moving another process into a group takes the kernel 5 to 15 ms, because it waits for
// all processors. A thread that moves itself, which only v1 supports, takes 0.1 ms, and
// the processes that it starts are in its groups (both measured on Linux 6.18).
type groups struct {
	version string   // "v1", "v2" or ""
	paths   []string // one, or one for each controller of v1
	home    []string // v1: the host's own, to return to
	memory  bool     // memory is limited
}

// hierarchies are the places where groups can be made: the host's own group or, in v1, one
// for each controller.
type hierarchies struct {
	version      string
	memory, pids string
}

// cgroupRoot is where control groups are mounted by convention.
const cgroupRoot = "/sys/fs/cgroup"

// findGroups finds out where the host may make groups: in v1 below its own group, in v2 also
// next to it or next to its parent, because there a group with processes can't have child
// groups with controllers. systemd gives users such groups.
func findGroups() hierarchies {
	own := ownGroups()
	if path, ok := own[""]; ok {
		for dir := filepath.Join(cgroupRoot, path); len(dir) >= len(cgroupRoot) && writable(filepath.Join(dir, "cgroup.procs")); dir = filepath.Dir(dir) {
			controllers, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
			names := strings.Fields(string(controllers))
			if err == nil && slices.Contains(names, "memory") && slices.Contains(names, "pids") && writable(dir) {
				return hierarchies{version: "v2", memory: dir, pids: dir}
			}
		}
	}
	memory, pids := filepath.Join(cgroupRoot, "memory", own["memory"]), filepath.Join(cgroupRoot, "pids", own["pids"])
	if own["memory"] != "" && own["pids"] != "" && writable(memory) && writable(pids) {
		return hierarchies{version: "v1", memory: memory, pids: pids}
	}
	return hierarchies{}
}

func writable(dir string) bool { return unix.Access(dir, unix.W_OK) == nil }

// ownGroups reads the host's group under each controller; "" is v2. Each line is
// hierarchy, controllers and path, separated by colons.
func ownGroups() map[string]string {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	own := map[string]string{}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) == 3 {
			for name := range strings.SplitSeq(parts[1], ",") {
				own[name] = parts[2]
			}
		}
	}
	return own
}

// newGroups makes the groups of an instance, as far as the system allows.
func newGroups(name string, memory int64, tasks int) groups {
	h := findGroups()
	files := map[string]int64{} // limits by file
	switch h.version {
	case "v1":
		files[filepath.Join(h.memory, name, "memory.limit_in_bytes")] = max(memory, MinMemory)
		files[filepath.Join(h.pids, name, "pids.max")] = int64(tasks)
	case "v2":
		files[filepath.Join(h.memory, name, "memory.max")] = max(memory, MinMemory)
		files[filepath.Join(h.pids, name, "pids.max")] = int64(tasks)
	}
	g := groups{version: h.version, memory: true}
	for file, limit := range files {
		dir := filepath.Dir(file)
		if !slices.Contains(g.paths, dir) {
			g.paths = append(g.paths, dir)
		}
		err := os.Mkdir(dir, 0o755) //nolint:gosec // the kernel fills this folder
		if err == nil || errors.Is(err, os.ErrExist) {
			err = os.WriteFile(file, []byte(strconv.FormatInt(limit, 10)), 0)
		}
		if err != nil {
			g.remove()
			return groups{}
		}
	}
	if h.version == "" {
		return groups{}
	}
	if h.version == "v1" {
		g.home = []string{h.memory, h.pids}
	}
	slices.Sort(g.paths)
	noSwap(g.paths)
	return g
}

// noSwap limits memory and swap together, if the kernel counts swap, so that the instance
// can't swap past its memory limit.
func noSwap(paths []string) {
	for _, dir := range paths {
		if limit, err := os.ReadFile(filepath.Join(dir, "memory.limit_in_bytes")); err == nil {
			_ = os.WriteFile(filepath.Join(dir, "memory.memsw.limit_in_bytes"), limit, 0) //nolint:gosec // the path is the host's own
		}
		_ = os.WriteFile(filepath.Join(dir, "memory.swap.max"), []byte("0"), 0)
	}
}

// enter moves the calling thread into the groups, and reports whether it is there. If so,
// the thread must [groups.leave] them.
func (g groups) enter() bool {
	if len(g.home) == 0 || slices.ContainsFunc(g.home, func(dir string) bool { return !writable(threads(dir)) }) {
		return false
	}
	if moveThread(g.paths) == nil {
		return true
	}
	_ = g.leave() // leaves the groups that it did enter
	return false
}

// leave moves the calling thread back to the host's own groups.
func (g groups) leave() error { return moveThread(g.home) }

func moveThread(dirs []string) error {
	for _, dir := range dirs {
		if err := os.WriteFile(threads(dir), []byte("0"), 0); err != nil { // 0 is the writing thread
			return err
		}
	}
	return nil
}

// threads is the file that moves a thread into a group of v1.
func threads(dir string) string { return filepath.Join(dir, "tasks") }

// add moves a process into the groups, and with it the processes that it forks later.
func (g groups) add(pid int) error {
	for _, dir := range g.paths {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
			return err
		}
	}
	return nil
}

// outOfMemory reports whether the kernel killed a process of the instance because of its
// memory limit.
func (g groups) outOfMemory() bool {
	for _, dir := range g.paths {
		for _, name := range []string{"memory.events", "memory.oom_control"} { // of v2, of v1
			text, _ := os.ReadFile(filepath.Join(dir, name))
			for line := range strings.Lines(string(text)) {
				if field, count, _ := strings.Cut(strings.TrimSpace(line), " "); field == "oom_kill" && count != "0" {
					return true
				}
			}
		}
	}
	return false
}

// outOfTasks reports whether the kernel refused a process or thread because of the limit.
func (g groups) outOfTasks() bool {
	for _, dir := range g.paths {
		text, _ := os.ReadFile(filepath.Join(dir, "pids.events")) // "max 3"
		if count, found := strings.CutPrefix(strings.TrimSpace(string(text)), "max "); found && count != "0" {
			return true
		}
	}
	return false
}

// members lists the instance's processes.
func (g groups) members() []int {
	var pids []int
	if len(g.paths) > 0 {
		text, _ := os.ReadFile(filepath.Join(g.paths[0], "cgroup.procs"))
		for field := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// removeTime is how long a killed process may take to leave its group.
const removeTime = 2 * time.Second

// remove kills the processes that are left in the groups, and removes the groups.
func (g groups) remove() {
	for _, dir := range g.paths {
		for deadline := time.Now().Add(removeTime); ; time.Sleep(time.Millisecond) { //nolint:forbidigo // the kernel reports no event
			err := os.Remove(dir)
			if err == nil || !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
				break
			}
			killMembers(dir)
		}
	}
}

// killMembers kills each process of a group. It is only called for groups that this host,
// or one that has ended, made.
func killMembers(dir string) {
	if os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0) == nil { // v2, Linux 5.14
		return
	}
	for _, pid := range (groups{paths: []string{dir}}).members() {
		if pid > 1 && pid != os.Getpid() {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// removeGroups removes the groups of an abandoned folder, which have its name.
func removeGroups(name string) {
	h := findGroups()
	if h.version == "" {
		return
	}
	var paths []string
	for _, dir := range []string{h.memory, h.pids} {
		if path := filepath.Join(dir, name); !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	groups{paths: paths}.remove()
}

// sweepGroups removes groups that killed hosts left behind, and whose folders are gone.
func sweepGroups() {
	h := findGroups()
	for _, dir := range []string{h.memory, h.pids} {
		removeEmpty(dir, time.Now())
	}
}

// freshTime is how long a new group may have no process: starting one takes milliseconds.
const freshTime = time.Minute

// removeEmpty removes the groups below a folder that have our name prefix, have no
// process, and aren't new. The kernel refuses to remove one that has processes.
func removeEmpty(dir string, now time.Time) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // there are no groups
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && info.IsDir() && folderName.MatchString(e.Name()) && now.Sub(info.ModTime()) > freshTime {
			_ = unix.Rmdir(filepath.Join(dir, e.Name()))
		}
	}
}

package sandbox

// Room describes what a program of the machine gets in a [Cell]: a file system of its own in memory,
// with folders of the machine that it can read, and the [Workspace], [Home] and [Temp], which it can
// write. It has mount, PID, network and IPC namespaces too.
type Room struct {
	// Bytes and Files bound the file system: 1 GiB and 120,000 files and folders, for example.
	Bytes, Files int64
	// Tasks bounds processes and threads together.
	Tasks int
	// Read are paths of the machine that the program can read and run, in addition to the system's.
	Read []string
}

// Bound is something that a room has a limited amount of.
type Bound string

// The bounds.
const (
	BoundMemory Bound = "memory"
	BoundTasks  Bound = "processes"
	BoundDisk   Bound = "disk"
)

// The folders of a room.
const (
	// Workspace is where the program starts.
	Workspace = "/workspace"
	// Home is the value of HOME.
	Home = "/home"
	// Temp is the folder for temporary files.
	Temp = "/tmp"
)

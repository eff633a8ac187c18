package sandbox

import (
	"sync"
	"time"

	"github.com/reflectory/reflectory/sdk"
)

// Options set up a [Sandbox].
type Options struct {
	// Mode determines what to do if the system can't confine a plugin completely. "" is
	// [Prefer].
	Mode Mode
	// TempDir is where private folders are made.
	TempDir string
}

// If the host is root, instances run as their own users: FirstUser plus a number below
// Users. The usual registries of user ids leave this range unused (systemd's UIDS-GIDS:
// 0x70000000 to 0x7FFDFFFF).
const (
	FirstUser = 0x7EC70000
	Users     = 1 << 16
)

// TasksPerProcess is how many threads each of an instance's processes may have on
// average. The kernel counts processes and threads together; a Go program has
// about ten, and one for each call of the system that blocks.
const TasksPerProcess = 64

// Spec describes what a plugin's processes may do.
type Spec struct {
	// Plugin is its name, or a program's, for messages.
	Plugin string
	// Path is its program; Dir is the folder that it may read.
	Path, Dir string
	// FS are granted paths, and the word "system".
	FS []string
	// Network is whether it was granted endpoints, and so may read the certificates of
	// authorities.
	Network bool
	// MemoryBytes limits its data; see [MinMemory].
	MemoryBytes int64
	// Processes is how many processes it may have.
	Processes int
	// StartTimeout is how long the launcher may take.
	StartTimeout time.Duration
	// Room is what a program of the machine gets, instead of a plugin's folders; nil for a plugin.
	Room *Room
}

// subject names what is confined, for messages.
func (s Spec) subject() string {
	if s.Room != nil {
		return "program " + s.Plugin
	}
	return "plugin " + s.Plugin
}

// namespaces are the kinds of namespaces that instances can have.
type namespaces struct{ pids, network bool }

// Sandbox opens cells. It is safe for concurrent use.
type Sandbox struct {
	options    Options
	probe      func() Status
	namespaces func() namespaces
	sweep      sync.Once

	mu    sync.Mutex
	users map[uint32]bool // taken by this host's instances
}

// New returns a sandbox. It examines the system when it is first needed.
func New(o Options) *Sandbox {
	if o.Mode == "" {
		o.Mode = Prefer
	}
	return &Sandbox{
		options: o, probe: sync.OnceValue(probe), namespaces: sync.OnceValue(tryNamespaces), users: map[uint32]bool{},
	}
}

// status is what every instance gets on this system.
func (s *Sandbox) status() Status {
	if s.options.Mode == Off {
		return off()
	}
	return s.probe()
}

// KeepFD is the descriptor of the file that [Cell.Command] passes on to the program.
const KeepFD = 4

// Cell is the confinement of one instance. Its methods are called in the order
// of the package's example, by one goroutine at a time.
type Cell struct {
	box    *Sandbox
	spec   Spec
	status Status
	folder *folder
	user   uint32 // 0 if it runs as the host's user
	confinement
}

// Open makes a private folder and prepares the confinement of one instance. On the first
// call it removes what killed hosts left behind.
func (s *Sandbox) Open(spec Spec) (*Cell, error) {
	status := s.status().of(spec)
	if spec.Room != nil {
		status = s.probe() // a room has what the system has, whatever the mode: see Cell.Unbounded
	} else if err := s.admit(spec, status); err != nil {
		return nil, err
	}
	s.sweep.Do(func() { sweep(s.options.TempDir) })
	c := &Cell{box: s, spec: spec, status: status}
	if err := c.settle(); err != nil {
		return nil, err
	}
	if err := c.prepare(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// admit refuses a plugin that this system can't confine as the mode requires.
func (s *Sandbox) admit(spec Spec, status Status) error {
	if err := status.check(s.options.Mode, spec.Plugin); err != nil {
		return err
	}
	if status.User && !Enterable(s.options.TempDir) {
		return sdk.Errorf(sdk.Invalid, "temp_dir_closed", "the folder for temporary files, %s, is closed to the users of plugins", s.options.TempDir).
			WithHint("let others enter it and the folders above it (chmod o+x), or set TMPDIR to one that they may enter")
	}
	return nil
}

// settle takes a folder and, if instances have their own users, the user that belongs
// to the folder's number.
func (c *Cell) settle() error {
	for {
		f, err := newFolder(c.box.options.TempDir)
		if err != nil {
			return err
		}
		c.folder = f
		if !c.status.User {
			return nil
		}
		if user := FirstUser + uint32(f.number%Users); c.box.claimUser(user) {
			c.user = user
			if err = f.chown(user); err != nil {
				c.Close()
			}
			return err
		}
		f.remove()
	}
}

func (s *Sandbox) claimUser(user uint32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	free := !s.users[user]
	s.users[user] = true
	return free
}

// Dir is the private folder: mode 0700, the instance's own.
func (c *Cell) Dir() string { return c.folder.path }

// Status is what confines this instance.
func (c *Cell) Status() Status { return c.status }

// Close removes the folder and everything else of the instance, whose processes must be
// gone.
func (c *Cell) Close() {
	c.release()
	c.folder.remove()
	if c.user != 0 {
		c.box.mu.Lock()
		delete(c.box.users, c.user)
		c.box.mu.Unlock()
	}
}

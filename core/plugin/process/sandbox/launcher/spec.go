package launcher

// Variable makes a program that links this package a launcher, if it is in the environment.
// Its value is always the same: the control socket's descriptor.
const (
	Variable = "REFLECTORY_SANDBOX_LAUNCHER"
	Value    = "3"
)

// Spec describes how to confine the process, and what it becomes.
type Spec struct {
	// User is the user and group to become, without supplementary groups. 0
	// leaves the user as it is.
	User uint32
	// Ruleset is the descriptor of a Landlock ruleset, 0 for none.
	Ruleset uint32
	// Keep is the descriptor, in addition to the standard ones, that the program
	// inherits. 0 is none.
	Keep uint32
	// Limits are resources and their limits, hard and soft, in this order.
	Limits []uint64
	// Filter is a seccomp program in the kernel's encoding. Empty is none.
	Filter string
	// Access are paths that the user must be able to read; otherwise the launcher fails.
	Access []string
	// Path is the program.
	Path string
	// Args are its arguments, from its name on, and Env its whole environment.
	Args, Env []string
	// Dir is the folder in which it starts; "" is the one that it is in.
	Dir string
	// Room is what a process that has mount, PID and network namespaces sees of the machine. If it
	// has a Root, the launcher stays as the first process, and starts a second one that reads a spec
	// of its own.
	Room Room
}

// Room is a file system of its own, in memory, with folders of the machine in it.
type Room struct {
	// Root is the folder on which the file system is mounted, and Options bound it.
	Root, Options string
	// Binds are paths of the machine that can be read at the same place, and Devices such paths that
	// are devices.
	Binds, Devices []string
	// Links are symbolic links, Files are files, each as a name and its content. Dirs belong to User.
	Links, Files, Dirs []string
}

// maxSpec limits an encoded spec, in bytes. A plugin needs less for its arguments and
// environment.
const maxSpec = 1 << 20

// Encode returns the bytes to send; false if they are too many.
func (s *Spec) Encode() ([]byte, bool) {
	e := encoder{buf: make([]byte, 4)}
	e.number(uint64(s.User))
	e.number(uint64(s.Ruleset))
	e.number(uint64(s.Keep))
	e.number(uint64(len(s.Limits)))
	for _, n := range s.Limits {
		e.number(n)
	}
	e.text(s.Filter)
	e.texts(s.Access)
	e.text(s.Path)
	e.texts(s.Args)
	e.texts(s.Env)
	e.text(s.Dir)
	e.text(s.Room.Root)
	e.text(s.Room.Options)
	for _, list := range s.Room.lists() {
		e.texts(*list)
	}
	size := uint64(len(e.buf) - 4)
	for i := range 4 {
		e.buf[i] = byte(size >> (8 * i))
	}
	return e.buf, size <= maxSpec
}

// decode reads what Encode wrote, without the size. It reports whether that is
// a whole spec and nothing more.
func (s *Spec) decode(b []byte) bool {
	d := decoder{buf: b, ok: true}
	s.User = d.small()
	s.Ruleset = d.small()
	s.Keep = d.small()
	for range d.count(8) {
		s.Limits = append(s.Limits, d.number())
	}
	s.Filter = d.text()
	s.Access = d.texts()
	s.Path = d.text()
	s.Args = d.texts()
	s.Env = d.texts()
	s.Dir = d.text()
	s.Room.Root = d.text()
	s.Room.Options = d.text()
	for _, list := range s.Room.lists() {
		*list = d.texts()
	}
	return d.ok && len(d.buf) == 0
}

func (r *Room) lists() [5]*[]string {
	return [...]*[]string{&r.Binds, &r.Devices, &r.Links, &r.Files, &r.Dirs}
}

// encoder and decoder are written out because encoding/binary and
// encoding/json would come with imports that this package must not have.
type encoder struct{ buf []byte }

func (e *encoder) number(n uint64) {
	for range 8 {
		e.buf = append(e.buf, byte(n))
		n >>= 8
	}
}

func (e *encoder) text(s string) {
	e.number(uint64(len(s)))
	e.buf = append(e.buf, s...)
}

func (e *encoder) texts(list []string) {
	e.number(uint64(len(list)))
	for _, s := range list {
		e.text(s)
	}
}

type decoder struct {
	buf []byte
	ok  bool
}

func (d *decoder) number() uint64 {
	if len(d.buf) < 8 {
		d.ok = false
		return 0
	}
	var n uint64
	for i := range 8 {
		n |= uint64(d.buf[i]) << (8 * i)
	}
	d.buf = d.buf[8:]
	return n
}

// small reads a number of 32 bits.
func (d *decoder) small() uint32 {
	n := d.number()
	if uint64(uint32(n)) != n {
		d.ok = false
	}
	return uint32(n)
}

// count reads how many items of at least some bytes follow.
func (d *decoder) count(size int) int {
	n := d.number()
	if n > uint64(len(d.buf)/size) {
		d.ok = false
		return 0
	}
	return int(n)
}

func (d *decoder) text() string {
	n := d.count(1)
	s := string(d.buf[:n])
	d.buf = d.buf[n:]
	return s
}

func (d *decoder) texts() []string {
	var list []string
	for range d.count(8) {
		list = append(list, d.text())
	}
	return list
}

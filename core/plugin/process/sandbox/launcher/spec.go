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
	return d.ok && len(d.buf) == 0
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

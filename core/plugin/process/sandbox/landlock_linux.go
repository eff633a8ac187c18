//go:build amd64 || arm64

package sandbox

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reflectory/reflectory/sdk"
)

// The versions of Landlock that added something.
const (
	referABI    = 2
	truncateABI = 3
	networkABI  = 4
	ioctlABI    = 5
	scopeABI    = 6 // signals and abstract unix sockets
)

// Rights to files.
const (
	readFile = unix.LANDLOCK_ACCESS_FS_READ_FILE
	read     = readFile | unix.LANDLOCK_ACCESS_FS_READ_DIR
	execute  = unix.LANDLOCK_ACCESS_FS_EXECUTE
	// scratch are the rights in a private folder: to make and remove files, folders and
	// sockets, but no links that could lead the host elsewhere, and no programs.
	scratch = read | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REFER
	// ofFiles are the rights that a file can have, rather than a folder.
	ofFiles = readFile | execute | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// libraries are the files that a dynamically linked program needs before it begins.
func libraries() []grant {
	var list []grant
	for _, dir := range []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"} {
		list = append(list, grant{path: dir, rights: read | execute, optional: true})
	}
	return append(list, grant{path: "/etc/ld.so.cache", rights: readFile, optional: true})
}

// certificates are the paths of the authorities' certificates, by which endpoints are
// verified.
func certificates() []grant {
	var list []grant
	for _, path := range []string{
		"/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/usr/share/ca-certificates", "/usr/local/share/ca-certificates",
	} {
		list = append(list, grant{path: path, rights: read, optional: true})
	}
	return list
}

// system is the meaning of the granted path "system": programs, libraries and the settings
// that programs commonly read.
func system() []grant {
	list := append(libraries(), certificates()...)
	for _, dir := range []string{"/usr", "/bin", "/sbin"} {
		list = append(list, grant{path: dir, rights: read | execute, optional: true})
	}
	for _, path := range []string{"/etc/alternatives", "/etc/localtime", "/etc/mime.types"} {
		list = append(list, grant{path: path, rights: read, optional: true})
	}
	return list
}

// devices are harmless and expected everywhere.
func devices() []grant {
	list := []grant{{path: os.DevNull, rights: readFile | unix.LANDLOCK_ACCESS_FS_WRITE_FILE, optional: true}}
	for _, path := range []string{"/dev/urandom", "/dev/random"} {
		list = append(list, grant{path: path, rights: readFile, optional: true})
	}
	return list
}

// grant is a path and the rights below it.
type grant struct {
	path     string
	rights   uint64
	optional bool // it may not exist
}

// grants are all paths of an instance.
func (c *Cell) grants() []grant {
	list := append(devices(),
		grant{path: c.spec.Dir, rights: read | execute},
		grant{path: c.spec.Path, rights: readFile | execute},
		grant{path: c.Dir(), rights: scratch})
	if isDynamic(c.spec.Path) {
		list = append(list, libraries()...)
	}
	if c.spec.Network {
		list = append(list, certificates()...)
	}
	for _, path := range c.spec.FS {
		if path == "system" {
			list = append(list, system()...)
			continue
		}
		// A process that can read a program can also load it.
		list = append(list, grant{path: path, rights: read | execute})
		c.access = append(c.access, path)
	}
	return list
}

func landlockABI() int {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// handled are the rights to files that a version knows.
func handled(abi int) uint64 {
	rights := uint64(unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1)
	for since, right := range map[int]uint64{
		referABI: unix.LANDLOCK_ACCESS_FS_REFER, truncateABI: unix.LANDLOCK_ACCESS_FS_TRUNCATE,
		ioctlABI: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV,
	} {
		if abi >= since {
			rights |= right
		}
	}
	return rights
}

// newRuleset makes the ruleset that the launcher applies. The host makes it because it
// may open paths that the plugin's user can't reach.
func (c *Cell) newRuleset() (*os.File, error) {
	abi := c.status.Landlock
	attr, size := unix.LandlockRulesetAttr{Access_fs: handled(abi)}, unsafe.Sizeof(uint64(0))
	if abi >= networkABI { // no rule follows: no port is allowed
		attr.Access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		size = unsafe.Offsetof(attr.Scoped)
	}
	if abi >= scopeABI {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
		size = unsafe.Sizeof(attr)
	}
	ruleset, err := createRuleset(&attr, size)
	if err != nil {
		return nil, err
	}
	for _, g := range c.grants() {
		if err := g.add(ruleset, attr.Access_fs); err != nil {
			_ = ruleset.Close()
			return nil, c.badGrant(g.path, err)
		}
	}
	return ruleset, nil
}

// createRuleset makes a ruleset from as much of its description as the kernel knows.
func createRuleset(attr *unix.LandlockRulesetAttr, size uintptr) (*os.File, error) {
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(attr)), size, 0)
	if errno != 0 {
		return nil, os.NewSyscallError("landlock_create_ruleset", errno)
	}
	return os.NewFile(fd, "landlock"), nil
}

func (c *Cell) badGrant(path string, err error) error {
	if path == c.spec.Path {
		return err // it can't be started, which the driver explains
	}
	return sdk.Errorf(sdk.Invalid, "grant_missing", "plugin %s can't be given %s: %w", c.spec.Plugin, path, err).
		WithHint("make the path, or take it out of the plugin's granted fs paths")
}

// add gives the rights that the kernel handles, and that fit the kind of file.
func (g grant) add(ruleset *os.File, handled uint64) error {
	if !filepath.IsAbs(g.path) {
		return errors.New("it is not an absolute path")
	}
	fd, err := unix.Open(g.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if g.optional && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: g.path, Err: err}
	}
	defer func() { _ = unix.Close(fd) }()
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return &os.PathError{Op: "stat", Path: g.path, Err: err}
	}
	rights := g.rights & handled
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= ofFiles
	}
	// The kernel's structure is packed: 12 bytes.
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, ruleset.Fd(), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return os.NewSyscallError("landlock_add_rule", errno)
	}
	return nil
}

// isDynamic is whether a file is an ELF program that needs a loader. It reads the two
// headers itself, because debug/elf isn't made for hostile files.
func isDynamic(path string) bool {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return false
	}
	defer f.Close()
	const (
		headerSize, entrySize = 64, 56 // of 64-bit ELF
		loader                = 3      // PT_INTERP
		maxEntries            = 64
	)
	var header [headerSize]byte
	if _, err := f.ReadAt(header[:], 0); err != nil || string(header[:5]) != "\x7fELF\x02" {
		return false
	}
	table := binary.LittleEndian.Uint64(header[32:])
	count := min(int(binary.LittleEndian.Uint16(header[56:])), maxEntries)
	entries := make([]byte, count*entrySize)
	if table > 1<<32 {
		return false
	}
	if _, err := f.ReadAt(entries, int64(table)); err != nil {
		return false
	}
	for ; len(entries) > 0; entries = entries[entrySize:] {
		if binary.LittleEndian.Uint32(entries) == loader {
			return true
		}
	}
	return false
}

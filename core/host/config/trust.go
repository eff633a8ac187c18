package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plainfile"
	"github.com/reflectory/reflectory/sdk"
)

// What decides which programs run, and what they may do, must be the caller's or root's, and
// nobody else's to write: reflectory.yaml is looked for in the folders above, where another user
// of the machine may have put one that turns the sandbox off and names a plugin of that user's.
// The same holds for every file and folder that a setting names: the lock, the trust file, the
// policies, the folders of plugins, the data folder, and the authorities of certificates, by which
// somebody else could read prompts and keys.
//
// A file counts if it and each folder above it, up to the first folder that nobody else may write,
// belong to the caller or root. A folder that others may write counts only if it is sticky, like
// /tmp, since they can't replace what is in it. The rule is like OpenSSH's for its keys. The
// exception is like git's safe.directory: the caller's environment may name folders whose contents
// count, regardless of their owner. A file can't, or it would vouch for itself.

// maxTrusted is how many files of a folder of policies or of a plugin are looked at: no such
// folder has more.
const maxTrusted = 10_000

// trust is whom a caller trusts with files.
type trust struct {
	// users are the caller and root, and with sudo also the user who called it.
	users []uint32
	// safe are folders that the caller vouches for.
	safe []string
	// accounts names the files of groups and users, by which a group of one user is known.
	groupFile, userFile string
}

// newTrust is whom the process's user trusts.
func newTrust(getenv func(string) string) trust {
	t := trust{users: []uint32{0, uint32(os.Geteuid())}, safe: filepath.SplitList(getenv(safeDirsVariable)), groupFile: "/etc/group", userFile: "/etc/passwd"}
	var sudo uint32
	if _, err := fmt.Sscanf(getenv("SUDO_UID"), "%d", &sudo); err == nil && os.Geteuid() == 0 {
		t.users = append(t.users, sudo) // who could have run the program as root with any file
	}
	return t
}

// safeDirsVariable names the folders that the caller vouches for.
const safeDirsVariable = "REFLECTORY_SAFE_DIRS"

// check refuses a path that somebody else may change. One that doesn't exist yet is refused if
// somebody else may replace the folder in which it would be made.
func (t trust) check(what, path string) error {
	if t.users == nil { // of settings that weren't loaded
		t = newTrust(func(string) string { return "" })
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return sdk.Wrap("find "+what, err)
	}
	if t.vouched(path) {
		return nil
	}
	real, err := filepath.EvalSymlinks(path)
	there := err == nil
	for missing := path; errors.Is(err, fs.ErrNotExist) && missing != filepath.Dir(missing); {
		if info, failed := os.Lstat(missing); failed == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil // a link to nothing, which isn't used
		}
		missing = filepath.Dir(missing)
		real, err = filepath.EvalSymlinks(missing)
	}
	if err != nil {
		return nil // it can't be used either, which is reported where it is tried
	}
	wrong := t.chain(real, there)
	if info, err := os.Lstat(path); wrong == "" && err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if wrong = t.owner(path, info); wrong == "" { // who owns a link chooses what it leads to
			if parent, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
				wrong = t.chain(parent, false)
			}
		}
	}
	if wrong == "" {
		return nil
	}
	return untrusted(what, path, wrong)
}

// checkAll is check for a folder and everything in it.
func (t trust) checkAll(what, path string) error {
	if err := t.check(what, path); err != nil || t.vouched(path) {
		return err
	}
	left := maxTrusted
	var found error
	_ = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if left--; err != nil || left < 0 {
			return filepath.SkipAll // it is read, or refused as too large, elsewhere
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		if wrong := t.alone(name, info); wrong != "" {
			found = untrusted(what, path, wrong)
			return filepath.SkipAll
		}
		return nil
	})
	return found
}

// vouched reports whether a path is in a folder that the caller vouches for.
func (t trust) vouched(path string) bool {
	return slices.ContainsFunc(t.safe, func(dir string) bool {
		if dir == "" || !filepath.IsAbs(dir) {
			return false
		}
		rel, err := filepath.Rel(filepath.Clean(dir), path)
		return err == nil && filepath.IsLocal(rel)
	})
}

// chain says what is wrong with a path or a folder above it; "" if nothing is. itself is whether
// the path is what counts, and not a folder above it.
func (t trust) chain(path string, itself bool) string {
	for ; ; itself = false {
		info, err := os.Lstat(path)
		if err != nil {
			return "it can't be looked at: " + err.Error()
		}
		open := t.open(info)
		sticky := info.IsDir() && info.Mode()&fs.ModeSticky != 0
		switch wrong := t.owner(path, info); {
		case wrong != "":
			return wrong
		case open != "" && (itself || !sticky):
			return path + " " + open
		case !itself && open == "", path == filepath.Dir(path):
			return ""
		}
		path = filepath.Dir(path)
	}
}

// alone says why a file isn't the caller's or root's alone; "" if it is.
func (t trust) alone(path string, info fs.FileInfo) string {
	if wrong := t.owner(path, info); wrong != "" || info.Mode()&fs.ModeSymlink != 0 {
		return wrong
	}
	if open := t.open(info); open != "" {
		return path + " " + open
	}
	return ""
}

// owner says that a file belongs to somebody else.
func (t trust) owner(path string, info fs.FileInfo) string {
	user, _, known := ownerOf(info)
	if !known || slices.Contains(t.users, user) {
		return ""
	}
	return fmt.Sprintf("%s belongs to user %d, who is neither you nor root", path, user)
}

// open says that others may write a file. A group in which there is nobody else doesn't count:
// many systems give each user such a group, and let it write the user's files.
func (t trust) open(info fs.FileInfo) string {
	mode := info.Mode()
	_, group, known := ownerOf(info)
	switch {
	case !known || mode&fs.ModeSymlink != 0:
		return ""
	case mode.Perm()&0o002 != 0:
		return fmt.Sprintf("can be written by everybody (its mode is %#o)", mode.Perm())
	case mode.Perm()&0o020 != 0 && !t.ownGroup(group):
		return fmt.Sprintf("can be written by the group %d (its mode is %#o)", group, mode.Perm())
	}
	return ""
}

// ownGroup reports whether nobody but trusted users is in a group.
func (t trust) ownGroup(group uint32) bool {
	number := fmt.Sprint(group)
	names, named := []string{}, false
	for user := range fieldsOf(t.userFile) {
		if len(user) < 4 {
			continue
		}
		if slices.ContainsFunc(t.users, func(id uint32) bool { return user[2] == fmt.Sprint(id) }) {
			names = append(names, user[0])
		} else if user[3] == number {
			return false
		}
	}
	for g := range fieldsOf(t.groupFile) {
		if len(g) < 4 || g[2] != number {
			continue
		}
		named = true
		for member := range strings.SplitSeq(g[3], ",") {
			if member != "" && !slices.Contains(names, member) {
				return false
			}
		}
	}
	return named || slices.Contains(t.users, group) // a group without a name is its user's, by its number
}

// fieldsOf are the lines of a file of accounts; none if it can't be read.
func fieldsOf(file string) func(func([]string) bool) {
	text, _ := plainfile.Read(file, 8<<20)
	return func(yield func([]string) bool) {
		for line := range strings.Lines(string(text)) {
			if !yield(strings.Split(strings.TrimSpace(line), ":")) {
				return
			}
		}
	}
}

func untrusted(what, path, wrong string) error {
	dir := path
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		dir = filepath.Dir(path)
	}
	return sdk.Errorf(sdk.Denied, "path_untrusted", "%s %s isn't used, since somebody else may change it: %s", what, path, wrong).
		WithHint("make it yours alone (chown, chmod go-w), choose another, or, if you trust everybody who may write there, set %s=%s", safeDirsVariable, dir).
		WithDetail("path", path)
}

// Trusted refuses a file that no setting names, if somebody else may change it, like the files that
// settings name. what is what it is called, such as a flag.
func (c *Config) Trusted(what, path string) error { return c.typed.trust.check(what, path) }

// checkTrust refuses the files and folders of settings that somebody else may change: everything
// at once. The configuration file is checked before it is read. The data folder, which most others
// are in, is checked first.
func (c *Config) checkTrust(settings table) error {
	t := c.typed.trust
	problems := []error{t.check("data_dir", c.DataDir.Value)}
	for _, d := range settings {
		check := t.check
		if d.contents {
			check = t.checkAll
		}
		for _, path := range d.paths(c) {
			rel, err := filepath.Rel(c.DataDir.Value, path)
			if path != "" && (problems[0] == nil || err != nil || !filepath.IsLocal(rel)) { // else it is the data folder's fault
				problems = append(problems, check(d.Name, path))
			}
		}
	}
	return core.JoinErrors(problems...)
}

// paths are the files and folders that a setting names.
func (d Definition) paths(c *Config) []string {
	switch value := d.field(c).Value; {
	case !d.folder || d.foreign:
		return nil
	case d.kind == folders:
		return c.typed.dev
	case d.several:
		return filepath.SplitList(value)
	default:
		return []string{value}
	}
}

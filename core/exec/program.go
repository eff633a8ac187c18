package exec

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Path is where programs are looked up, on the machine and in a sandbox. The folders of programs that
// are granted by a path come after it.
const Path = "/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin"

// versionTime is how long a program may take to print its version.
const versionTime = 10 * time.Second

// program is a granted program.
type program struct {
	sdk.ExecProgram
	args []string
}

// known is what is known about a program as long as its file is the same.
type known struct {
	info os.FileInfo
	sdk.ExecProgram
}

// simple is a line of words, joined by &&, in which a shell finds nothing but programs and their
// arguments: no program has a = in its name.
var simple = core.Pattern(`^ *[\w./:,@%+-]+( +[\w./:,@%+=-]+)*( +&& +[\w./:,@%+-]+( +[\w./:,@%+=-]+)*)* *$`)

// programs are the programs that a line for a shell runs: sh itself, which can run any, unless the line
// is simple.
func programs(line string) (names []string) {
	if !simple().MatchString(line) {
		return []string{"sh"}
	}
	for part := range strings.SplitSeq(line, "&&") {
		names = append(names, strings.Fields(part)[0])
	}
	return names
}

// find finds a program, or the shell for a line, and looks at it.
func (r *Runner) find(ctx context.Context, grants Grants, args []string, line string) (*program, error) {
	names := []string{"sh"}
	switch {
	case line == "":
		names = args[:1]
	case !slices.Contains(grants.Allow, "sh"): // which may run anything
		names = programs(line)
	}
	var path string
	for _, name := range names {
		var err error
		if path, err = grants.find(name); err != nil {
			return nil, err
		}
	}
	if line != "" {
		args, path = []string{"sh", "-c", line}, "/bin/sh"
	}
	p := &program{args: args}
	var err error
	p.ExecProgram, err = r.look(ctx, grants, path)
	return p, err
}

// find is the path of a granted program.
func (g Grants) find(name string) (string, error) {
	i := slices.IndexFunc(g.Allow, func(a string) bool { return a == name || filepath.IsAbs(a) && filepath.Base(a) == name })
	if i < 0 {
		return "", sdk.Errorf(sdk.Denied, "program_not_granted", "the program %.256q isn't granted", name).
			WithHint("if plugins may run it, write in reflectory.yaml: commands: {allow: [%.256q]}", name).WithDetail("program", core.Cut(name))
	}
	dirs := []string{""}
	if !filepath.IsAbs(g.Allow[i]) {
		dirs = strings.Split(Path, ":")
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, g.Allow[i])
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", sdk.Errorf(sdk.Unavailable, "program_missing", "the program %.256q isn't on this machine", g.Allow[i]).
		WithHint("install it in one of %s, or grant it by its absolute path", Path)
}

// path is the value of PATH.
func (g Grants) path() string {
	dirs := strings.Split(Path, ":")
	for _, a := range g.Allow {
		if dir := filepath.Dir(a); filepath.IsAbs(a) && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return strings.Join(dirs, ":")
}

// shown are the paths that every program can read: the granted folders, and the granted programs that
// are elsewhere.
func (g Grants) shown() []string {
	paths := slices.Clone(g.Read)
	for _, a := range g.Allow {
		if _, err := os.Stat(a); filepath.IsAbs(a) && err == nil {
			paths = append(paths, a)
		}
	}
	return paths
}

// look reads a program's digest and asks it for its version, unless its file is still the same.
func (r *Runner) look(ctx context.Context, grants Grants, path string) (sdk.ExecProgram, error) {
	info, err := os.Stat(path)
	if err != nil {
		return sdk.ExecProgram{}, unreadable(path, err)
	}
	r.mu.Lock()
	k, found := r.known[path]
	r.mu.Unlock()
	if found && os.SameFile(k.info, info) && k.info.Size() == info.Size() && k.info.ModTime().Equal(info.ModTime()) {
		return k.ExecProgram, nil
	}
	k = known{info, sdk.ExecProgram{Path: path}}
	if k.SHA256, err = digest(path); err != nil {
		return sdk.ExecProgram{}, unreadable(path, err)
	}
	for _, question := range []string{"--version", "version"} { // the latter is what go answers
		j := &job{grants: grants, program: &program{k.ExecProgram, []string{filepath.Base(path), question}}, request: &sdk.ExecRequest{TimeoutMS: versionTime.Milliseconds()}}
		answer, err := r.run(ctx, j)
		if err != nil {
			return sdk.ExecProgram{}, err
		}
		if answer.Exit == 0 && answer.Stopped == "" {
			k.Version = firstLine(cmp.Or(answer.Stdout, answer.Stderr))
			break
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known[path] = k
	return k.ExecProgram, nil
}

// maxVersion is how much of a version line is kept, in bytes.
const maxVersion = 256

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.ToValidUTF8(line[:min(len(line), maxVersion)], "")
}

func unreadable(path string, err error) error {
	return sdk.Errorf(sdk.Unavailable, "program_unreadable", "the program %s can't be read: %w", path, err).
		WithHint("make it readable for the host's user")
}

func digest(path string) (string, error) {
	f, err := os.Open(path) //nolint:gosec // the operator's program
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

package install

import (
	"maps"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// Bounds of entries.
const (
	maxPlatforms = 32
	maxArguments = 32
	maxArgument  = 4096
)

// Entry is how a package starts on a platform: a program and its arguments. The
// program is a file of the package, or, if there is none of that name, a system
// program such as python3. An argument that names a file of the package is given
// as that file's path.
type Entry []string

// entries reads the entry: a file, a list of a program and its arguments, or a
// mapping of OS/arch to either.
func (r *reader) entries(n *document.Node, runtime plugin.Runtime) map[string]Entry {
	if n == nil {
		return nil
	}
	if n.Kind != document.Mapping {
		return map[string]Entry{"": r.entry(n, runtime)}
	}
	if len(n.Entries) > maxPlatforms {
		r.Add(n.At, "", "entry has more than %d platforms", maxPlatforms)
		return nil
	}
	entries := map[string]Entry{}
	for _, e := range n.Entries {
		if !platformForm().MatchString(e.Key) {
			r.Add(e.At, "write OS/arch as Go does, such as linux/amd64", "%q is no platform", core.Cut(e.Key))
		}
		entries[e.Key] = r.entry(e.Value, runtime)
	}
	switch {
	case len(entries) == 0:
		r.Add(n.At, "", "entry is empty")
	case runtime == plugin.RuntimeWASM:
		r.Add(n.At, "name the one module", "a module is the same on every platform")
	}
	return entries
}

func (r *reader) entry(n *document.Node, runtime plugin.Runtime) Entry {
	if n.Kind == document.Mapping {
		r.Add(n.At, "", "an entry is a file, or a list of a program and its arguments")
		return nil
	}
	if isScalar(n) {
		file := r.text(n, "entry")
		if file != "" && !isFileName(file) {
			r.Add(n.At, "name a file of the package, with / between folders", "%q can't be the entry", core.Cut(file))
		}
		return Entry{file}
	}
	if runtime == plugin.RuntimeWASM {
		r.Add(n.At, "name the module", "a module takes no arguments")
	}
	var e Entry
	for _, item := range r.list(n, "entry", maxArguments) {
		word := r.text(item, "entry")
		if len(word) > maxArgument || strings.ContainsRune(word, 0) {
			r.Add(item.At, "", "an argument is text of at most %d bytes", maxArgument)
		}
		e = append(e, word)
	}
	switch {
	case len(e) == 0:
		r.Add(n.At, "", "entry is empty")
	case e[0] != "" && !isFileName(e[0]):
		r.Add(n.Items[0].At, "name a file of the package, or a system program without a path, such as python3", "%q can't be the program", core.Cut(e[0]))
	}
	return e
}

// here is the entry for this platform.
func (p *Package) here() (Entry, error) {
	platform := runtime.GOOS + "/" + runtime.GOARCH
	if e, ok := p.Entries[platform]; ok {
		return e, nil
	}
	if e, ok := p.Entries[""]; ok {
		return e, nil
	}
	return nil, sdk.Errorf(sdk.Incompatible, "platform_unsupported", "plugin %s has no entry for %s; it has %s",
		p.Name, platform, strings.Join(slices.Sorted(maps.Keys(p.Entries)), ", ")).
		WithHint("ask its publisher for one")
}

// Module is the file of a WASM module; "" for a package of another runtime.
func (p *Package) Module() string {
	if e := p.Entries[""]; p.Runtime == plugin.RuntimeWASM && len(e) == 1 {
		return e[0]
	}
	return ""
}

// elsewhere reports whether a file is the program of other platforms only.
func (p *Package) elsewhere(file string) bool {
	here, err := p.here()
	if err != nil || slices.Contains(here, file) {
		return false
	}
	for _, e := range p.Entries {
		if e[0] == file {
			return true
		}
	}
	return false
}

// checkEntries refuses a package without the files that its entries name.
func (p *Package) checkEntries(files map[string]string) error {
	for _, platform := range slices.Sorted(maps.Keys(p.Entries)) {
		e := p.Entries[platform]
		if _, ok := files[e[0]]; ok {
			continue
		}
		if len(e) == 1 || strings.Contains(e[0], "/") {
			return sdk.Errorf(sdk.Invalid, "package_invalid", "plugin %s: its entry %q is no file of the package", p.Name, e[0]).
				WithHint("build it, or correct entry in %s", PackageFile)
		}
		if !slices.Contains(p.Capabilities.FS, FSSystem) {
			return sdk.Errorf(sdk.Invalid, "package_invalid", "plugin %s: its entry %q is no file of the package, and a system program needs the system's folders", p.Name, e[0]).
				WithHint("add capabilities: {fs: [%s]} to %s, or build the file", FSSystem, PackageFile)
		}
	}
	return nil
}

// systemFolders are the folders in which system programs are searched: the PATH that plugins
// are started with.
func systemFolders() []string { return []string{"/usr/local/bin", "/usr/bin", "/bin"} }

// command is the program and the arguments of the entry, for a folder that has the
// package's files.
func (p *Package) command(folder string, files map[string]string) (program string, args []string, err error) {
	e, err := p.here()
	if err != nil {
		return "", nil, err
	}
	words := slices.Clone(e)
	for i, word := range words {
		if _, ok := files[word]; ok {
			words[i] = filepath.Join(folder, filepath.FromSlash(word))
		}
	}
	if _, ok := files[e[0]]; ok {
		return words[0], words[1:], nil
	}
	for _, dir := range systemFolders() {
		if found := filepath.Join(dir, e[0]); isExecutable(found) {
			return found, words[1:], nil
		}
	}
	return "", nil, sdk.Errorf(sdk.NotFound, "program_not_found", "plugin %s is run by %q, which isn't in %s",
		p.Name, e[0], strings.Join(systemFolders(), ", ")).
		WithHint("install %s", e[0])
}

// isFileName reports whether a name can name a file within a package: clean,
// relative, with / between folders, and safe on every platform.
func isFileName(name string) bool {
	return len(name) <= maxFileName && path.Clean(name) == name && filepath.IsLocal(filepath.FromSlash(name)) &&
		name != "." && !strings.ContainsFunc(name, func(r rune) bool { return steers(r) || r == '\\' || r == ':' })
}

// steers reports whether a character ends a line, controls a terminal or changes the direction
// of text. The names of a stranger's package are shown to the operator who decides about it.
func steers(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
}

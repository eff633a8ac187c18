package install

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/plainfile"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// PackageFile is the file that makes a folder a package.
const PackageFile = "plugin.yaml"

// Bounds of the texts in a plugin.yaml, in bytes.
const (
	maxVersion     = 64
	maxDescription = 300
	maxExample     = 300
)

// maxExamples is how many examples it may have: each is looked at in a discovery.
const maxExamples = 20

var (
	nameForm = core.Pattern(`^[a-z][a-z0-9-]{0,63}/[a-z][a-z0-9-]{0,63}$`)
	// versionForm is a semantic version, which is also a safe name of a folder.
	versionForm  = core.Pattern(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)
	platformForm = core.Pattern(`^[a-z0-9]{1,32}/[a-z0-9]{1,32}$`)
)

// Package is the content of a plugin.yaml.
type Package struct {
	// Name is publisher/name, each [a-z][a-z0-9-]* and up to 64 bytes.
	Name string `json:"name"`
	// Version is a semantic version without "v".
	Version string `json:"version"`
	// Kinds are what it can do, sorted.
	Kinds []sdk.Kind `json:"kinds"`
	// Description is one line for listings.
	Description string `json:"description,omitempty"`
	// Examples describe in other words what it is for, so that a discovery finds it.
	Examples []string `json:"examples,omitempty"`
	// Runtime is what runs it. Default process.
	Runtime plugin.Runtime `json:"runtime"`
	// Entries are how it starts, by OS/arch; the key "" is every platform.
	Entries map[string]Entry `json:"entries"`
	// Capabilities are what it asks for.
	Capabilities plugin.Capabilities `json:"capabilities"`
	// Limits bound each instance; what the file leaves out is the default.
	Limits plugin.Limits `json:"-"`
	// PlainText is tls: false, for a subprocess that can't speak it.
	PlainText bool `json:"plain_text,omitempty"`
	// Extism (abi: extism) means that a module is an Extism plug-in, though it
	// imports nothing of Extism.
	Extism bool `json:"extism,omitempty"`
	// Stateful lets a module keep its memory between calls; Isolated
	// (isolation: call) gives each call pristine memory.
	Stateful bool `json:"stateful,omitempty"`
	Isolated bool `json:"isolated,omitempty"`
}

// ReadPackage reads the plugin.yaml of a folder. Errors are the errors of
// [ParsePackage], and sdk.NotFound, reason "package_not_found".
func ReadPackage(folder string) (*Package, error) {
	path := filepath.Join(folder, PackageFile)
	text, err := plainfile.Read(path, maxYAMLBytes)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, sdk.Errorf(sdk.NotFound, "package_not_found", "there is no %s: a plugin is a folder with one", path).
			WithHint("name the plugin's folder; sdk/AUTHORING.md says what the file holds")
	}
	if err != nil {
		return nil, err
	}
	return ParsePackage(path, text)
}

// ParsePackage reads the text of a plugin.yaml; file names it in messages. The
// error, sdk.Invalid with reason "package_invalid", lists every problem with
// its place, as []document.Problem in the detail "problems".
func ParsePackage(file string, text []byte) (*Package, error) {
	r := newReader(file)
	p := &Package{}
	if root := r.parse(text); root != nil {
		r.readPackage(root, p)
	}
	if err := r.Err("package_invalid"); err != nil {
		return nil, err
	}
	return p, nil
}

func (r *reader) readPackage(n *document.Node, p *Package) {
	keys := PackageKeys()
	r.Known(n, PackageFile, names(keys)...)
	for _, key := range keys {
		if key.Required && n.Get(key.Name) == nil {
			r.Add(n.At, "", "plugin.yaml needs the key %q", key.Name)
		}
	}
	p.Name = r.form(n.Get("name"), "name", nameForm, "write publisher/name, each of a-z, 0-9 and -, such as acme/word-count")
	p.Version = r.form(n.Get("version"), "version", versionForm, "write a semantic version, such as 1.4.0")
	if v := n.Get("version"); v != nil && len(v.Text) > maxVersion {
		r.Add(v.At, "", "version has more than %d bytes", maxVersion)
	}
	p.Description = r.line(n.Get("description"), "description", maxDescription)
	for _, example := range r.list(n.Get("examples"), "examples", maxExamples) {
		p.Examples = append(p.Examples, r.line(example, "an example", maxExample))
	}
	p.Kinds = r.kinds(n.Get("kinds"))
	p.Runtime = plugin.Runtime(r.oneOf(n.Get("runtime"), "runtime", string(plugin.RuntimeProcess), string(plugin.RuntimeWASM)))
	p.Entries = r.entries(n.Get("entry"), p.Runtime)
	p.Capabilities = r.capabilities(n.Get("capabilities"))
	p.Limits = r.limits(n.Get("limits"), p.Runtime)
	p.PlainText = n.Get("tls") != nil && !r.flag(n.Get("tls"), "tls")
	p.Extism = r.oneOf(n.Get("abi"), "abi", "detected", "extism") == "extism"
	p.Stateful = r.flag(n.Get("stateful"), "stateful")
	p.Isolated = r.oneOf(n.Get("isolation"), "isolation", "none", "call") == "call"
	if p.Stateful && p.Isolated {
		r.Add(n.Get("stateful").At, "leave one of them out", "stateful and isolation: call contradict each other")
	}
	r.only(n, p.Runtime, keys)
}

// only refuses keys that have no meaning for the package's runtime.
func (r *reader) only(n *document.Node, has plugin.Runtime, keys []Key) {
	for _, key := range keys {
		if v := n.Get(key.Name); v != nil && key.Runtime != "" && has != key.Runtime {
			r.Add(v.At, "remove it", "%s is for runtime: %s only", key.Name, key.Runtime)
		}
	}
}

// line reads one line with a limited number of bytes.
func (r *reader) line(n *document.Node, what string, most int) string {
	text := r.text(n, what)
	if len(text) > most || strings.ContainsFunc(text, unicode.IsControl) {
		r.Add(n.At, "", "%s must be one line of at most %d bytes", what, most)
	}
	return text
}

func (r *reader) kinds(n *document.Node) []sdk.Kind {
	var kinds []sdk.Kind
	for _, item := range r.list(n, "kinds", 3) {
		k := sdk.Kind(r.oneOf(item, "a kind", string(sdk.KindEvaluator), string(sdk.KindGenerator), string(sdk.KindCorrector)))
		if slices.Contains(kinds, k) {
			r.Add(item.At, "remove one of them", "%s is there twice", k)
		}
		kinds = append(kinds, k)
	}
	if n != nil && len(kinds) == 0 {
		r.Add(n.At, "", "kinds is empty: a plugin evaluates, generates or corrects")
	}
	slices.Sort(kinds)
	return kinds
}

package install

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// PackageFile is the file that makes a folder a package.
const PackageFile = "plugin.yaml"

const maxDescription = 300

var (
	nameForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}/[a-z][a-z0-9-]{0,63}$`)
	// versionForm is a semantic version, which is also a safe name of a folder.
	versionForm  = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)
	platformForm = regexp.MustCompile(`^[a-z0-9]{1,32}/[a-z0-9]{1,32}$`)
)

// Package is what a plugin.yaml says.
type Package struct {
	// Name is publisher/name, each [a-z][a-z0-9-]* of at most 64 bytes.
	Name string `json:"name"`
	// Version is a semantic version without "v".
	Version string `json:"version"`
	// Kinds are what it can do, sorted.
	Kinds []sdk.Kind `json:"kinds"`
	// Description is one line for listings.
	Description string `json:"description,omitempty"`
	// Runtime is what runs it. Default process.
	Runtime plugin.Runtime `json:"runtime"`
	// Entries say how it starts, by OS/arch; the key "" is every platform.
	Entries map[string]Entry `json:"entries"`
	// Capabilities are what it asks for.
	Capabilities plugin.Capabilities `json:"capabilities"`
	// Limits bound each instance; what the file leaves out is the default.
	Limits plugin.Limits `json:"-"`
	// PlainText is tls: false, for a subprocess that can't speak it.
	PlainText bool `json:"plain_text,omitempty"`
	// Stateful lets a module keep its memory between calls; Isolated
	// (isolation: call) gives each call pristine memory.
	Stateful bool `json:"stateful,omitempty"`
	Isolated bool `json:"isolated,omitempty"`
}

// ReadPackage reads the plugin.yaml of a folder. Errors are those of
// [ParsePackage], and sdk.NotFound, reason "package_not_found".
func ReadPackage(folder string) (*Package, error) {
	path := filepath.Join(folder, PackageFile)
	text, err := readBounded(path, maxYAMLBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, sdk.Errorf(sdk.NotFound, "package_not_found", "there is no %s: a plugin is a folder with one", path).
			WithHint("name the plugin's folder; sdk/AUTHORING.md says what the file holds")
	}
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "package_unreadable", "can't read %s: %w", path, err)
	}
	return ParsePackage(path, text)
}

// readBounded reads a file of at most limit bytes, and one byte of a larger one
// beyond that, so that the reader can say so.
func readBounded(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(errors.New("it is no file"), err)
	}
	return io.ReadAll(io.LimitReader(f, limit+1))
}

// ParsePackage reads the text of a plugin.yaml; file names it in messages. The
// error, sdk.Invalid with reason "package_invalid", lists every problem with
// its place, as []Problem in the detail "problems".
func ParsePackage(file string, text []byte) (*Package, error) {
	d := &document{file: file}
	p := &Package{}
	if root := d.parse(text); root != nil {
		d.readPackage(root, p)
	}
	if err := d.err("package_invalid"); err != nil {
		return nil, err
	}
	return p, nil
}

func (d *document) readPackage(n *node, p *Package) {
	d.known(n, "plugin.yaml", "name", "version", "kinds", "description", "runtime", "entry",
		"capabilities", "limits", "tls", "stateful", "isolation")
	for _, key := range []string{"name", "version", "kinds", "entry"} {
		if n.get(key) == nil {
			d.add(n, "", "plugin.yaml needs the key %q", key)
		}
	}
	p.Name = d.form(n.get("name"), "name", nameForm, "write publisher/name, each of a-z, 0-9 and -, such as acme/word-count")
	p.Version = d.form(n.get("version"), "version", versionForm, "write a semantic version, such as 1.4.0")
	if v := n.get("version"); v != nil && len(v.text) > 64 {
		d.add(v, "", "version has more than 64 bytes")
	}
	p.Description = d.description(n.get("description"))
	p.Kinds = d.kinds(n.get("kinds"))
	p.Runtime = plugin.Runtime(d.oneOf(n.get("runtime"), "runtime", string(plugin.RuntimeProcess), string(plugin.RuntimeWASM)))
	p.Entries = d.entries(n.get("entry"), p.Runtime)
	p.Capabilities = d.capabilities(n.get("capabilities"))
	p.Limits = d.limits(n.get("limits"), p.Runtime)
	p.PlainText = n.get("tls") != nil && !d.flag(n.get("tls"), "tls")
	p.Stateful = d.flag(n.get("stateful"), "stateful")
	p.Isolated = d.oneOf(n.get("isolation"), "isolation", "none", "call") == "call"
	if p.Stateful && p.Isolated {
		d.add(n.get("stateful"), "leave one of them out", "stateful and isolation: call contradict each other")
	}
	d.only(n, p.Runtime, plugin.RuntimeProcess, "tls")
	d.only(n, p.Runtime, plugin.RuntimeWASM, "stateful", "isolation")
}

// only refuses keys that mean nothing to the package's runtime.
func (d *document) only(n *node, has, needs plugin.Runtime, keys ...string) {
	for _, key := range keys {
		if v := n.get(key); v != nil && has != needs {
			d.add(v, "remove it", "%s is for runtime: %s only", key, needs)
		}
	}
}

func (d *document) description(n *node) string {
	text := d.text(n, "description")
	if len(text) > maxDescription || strings.ContainsAny(text, "\n\r\t") {
		d.add(n, "", "description must be one line of at most %d bytes", maxDescription)
	}
	return text
}

func (d *document) kinds(n *node) []sdk.Kind {
	var kinds []sdk.Kind
	for _, item := range d.list(n, "kinds", 3) {
		k := sdk.Kind(d.oneOf(item, "a kind", string(sdk.KindEvaluator), string(sdk.KindGenerator), string(sdk.KindCorrector)))
		if slices.Contains(kinds, k) {
			d.add(item, "remove one of them", "%s is there twice", k)
		}
		kinds = append(kinds, k)
	}
	if n != nil && len(kinds) == 0 {
		d.add(n, "", "kinds is empty: a plugin evaluates, generates or corrects")
	}
	slices.Sort(kinds)
	return kinds
}

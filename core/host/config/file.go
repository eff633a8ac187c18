package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/plainfile"
	"github.com/reflectory/reflectory/sdk"
)

// FileName is the name of the configuration file: the nearest one, in the folder or
// above, is read.
const FileName = "reflectory.yaml"

// limits bound the configuration file: nobody writes more by hand.
func limits() document.Limits {
	return document.Limits{Bytes: 64 << 10, Depth: 20, MayBeEmpty: true}
}

// findFile reads the nearest configuration file in a folder ("" is the working one) or
// above it. If there is none, the path is "".
func findFile(folder string, t trust) (path string, data []byte, err error) {
	dir, err := filepath.Abs(folder)
	if err != nil {
		return "", nil, sdk.Wrap("find "+FileName, err)
	}
	for {
		path = filepath.Join(dir, FileName)
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) { // else an error would look for similar names
			if err := t.check("the configuration", path); err != nil {
				return "", nil, err
			}
			data, err := plainfile.Read(path, int64(limits().Bytes))
			if err == nil {
				return path, data, nil
			}
			if !errors.Is(err, fs.ErrNotExist) {
				return "", nil, err
			}
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", nil, nil
		}
		dir = parent
	}
}

// kind is how a setting is written in the file.
type kind int

const (
	text      kind = iota // a text
	number                // a number
	flag                  // true or false
	span                  // a text with a unit, or the number 0
	texts                 // a list of texts
	endpoints             // a list of texts and of {host, key_env}
	folders               // a list of {path, dev: true, replace}
	counts                // a mapping of names to whole numbers
)

// String describes a value of a kind, for "must be …".
func (k kind) String() string {
	return map[kind]string{text: string(document.Text), number: string(document.Number), flag: string(document.Bool), span: "a time"}[k]
}

// written are the kinds of nodes that a value may be.
func (k kind) written() []document.Kind {
	return map[kind][]document.Kind{
		text: {document.Text}, number: {document.Number}, flag: {document.Bool}, span: {document.Text, document.Number},
	}[k]
}

// fileValue is a setting in the file.
type fileValue struct {
	text string   // the items of a list are separated by commas
	list []string // of folders
	// replacing are the folders that may take the place of a shipped plugin.
	replacing map[string]bool
	at        document.Pos
	wrong     bool
}

// fileReader reads reflectory.yaml with the table of settings.
type fileReader struct {
	*document.Problems
	settings table
	folder   string
	values   map[string]fileValue
}

// readFile reads the file. Paths in it are relative to its folder.
func readFile(data []byte, settings table, problems *document.Problems) map[string]fileValue {
	r := fileReader{problems, settings, filepath.Dir(problems.File), map[string]fileValue{}}
	r.group(document.Read(string(data), limits(), problems), "")
	return r.values
}

// group reads the mapping at a key, and everything below it; "" is the file's own
// mapping.
func (r fileReader) group(n *document.Node, key string) {
	what := key
	if key == "" {
		what = FileName
	}
	m := r.Mapping(n, what)
	m.NullIsAbsent = true
	for _, name := range r.settings.below(key) {
		path := strings.TrimPrefix(key+"."+name, ".")
		if d, is := r.settings.at(path); is {
			r.setting(m, name, d)
		} else {
			r.group(m.Get(name), path)
		}
	}
	m.Done()
}

// below are the keys that a mapping of the file may have, in the table's order.
func (t table) below(key string) (names []string) {
	for _, d := range t {
		rest, inside := strings.CutPrefix(d.Key, key+".")
		if key == "" {
			rest, inside = d.Key, d.Key != ""
		}
		name, _, _ := strings.Cut(rest, ".")
		if inside && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// at is the setting with a key.
func (t table) at(key string) (Definition, bool) {
	i := slices.IndexFunc(t, func(d Definition) bool { return d.Key == key })
	if i < 0 {
		return Definition{}, false
	}
	return t[i], true
}

// setting reads one setting, if it is there.
func (r fileReader) setting(m *document.Reader, key string, d Definition) {
	n := m.Get(key)
	if n == nil {
		return
	}
	before := r.Len()
	v := fileValue{at: n.At}
	switch d.kind {
	case texts, folders, endpoints:
		v.replacing = map[string]bool{}
		v.list = r.items(m, key, d, v.replacing)
		v.text = strings.Join(v.list, ",")
	case counts:
		v.text = r.counts(m, key, d)
	default:
		v.text = r.value(n, key, d)
	}
	v.wrong = r.Len() > before
	if v.text != "" || v.wrong {
		r.values[d.Name] = v
	}
}

// counts reads a mapping of names to numbers, as NAME=NUMBER, separated by commas.
func (r fileReader) counts(m *document.Reader, key string, d Definition) string {
	n := m.Typed(key, document.Mapping)
	if n == nil {
		return ""
	}
	var items []string
	for _, e := range n.Entries {
		item := e.Key + "=" + e.Value.Text
		if f := d.check(item); f != nil || e.Value.Kind != document.Number {
			r.Add(e.At, d.hint(), "%s: %q must be a name and a whole number", key, core.Cut(item))
		}
		items = append(items, item)
	}
	return strings.Join(items, ",")
}

// value reads a setting that isn't a list.
func (r fileReader) value(n *document.Node, key string, d Definition) string {
	written := n.Text
	switch {
	case d.kind == span && n.Kind == document.Number && isZero(n.Text):
		written = "0"
	case !slices.Contains(d.kind.written(), n.Kind):
		r.Add(n.At, d.hint(), "%s must be %s, not %s", key, d.kind, n.Kind)
		return ""
	case d.kind == flag:
		return strings.ToLower(n.Text)
	case n.Text == "":
		r.Add(n.At, "leave the key out to have the default", "%s is empty", key)
		return ""
	}
	if f := d.fault(written); f != nil {
		r.Add(n.At, f.hint, "%s", f.text(d, written, ""))
	}
	if d.folder {
		return r.path(written)
	}
	return written
}

func isZero(number string) bool {
	x, err := strconv.ParseFloat(number, 64)
	return err == nil && x == 0
}

// path resolves a path in the file, relative to the file's folder.
func (r fileReader) path(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(r.folder, path)
}

// items reads a list.
func (r fileReader) items(m *document.Reader, key string, d Definition, replacing map[string]bool) (items []string) {
	for _, n := range m.List(key) {
		switch {
		case d.kind == folders:
			items = append(items, r.plugin(n, replacing))
		case d.kind == endpoints && n.Kind == document.Mapping:
			items = append(items, r.endpoint(n, d))
		case n.Kind != document.Text:
			r.Add(n.At, d.hint(), "an item of %s must be text, not %s", key, n.Kind)
		default:
			if d.check != nil {
				if f := d.check(n.Text); f != nil {
					r.Add(n.At, f.hint, "%s", f.text(d, n.Text, ""))
				}
			}
			items = append(items, n.Text)
		}
	}
	return items
}

// endpoint reads an endpoint with the variable that may be sent there.
func (r fileReader) endpoint(n *document.Node, d Definition) string {
	m := r.Mapping(n, "an entry of endpoints")
	m.NullIsAbsent = true
	host, key := m.Text("host"), m.Text("key_env")
	m.Done()
	if host == "" || key == "" {
		m.Lacks("write {host: api.example.org:443, key_env: EXAMPLE_KEY}", "an entry needs host, and key_env")
		return ""
	}
	if f := d.check(host + "=" + key); f != nil {
		r.Add(n.At, f.hint, "%s", f.text(d, host, ""))
	}
	return host + "=" + key
}

// plugin reads the folder of a plugin that runs unlocked. dev: true confirms that this is
// intended, and replace: true that it may take the place of a plugin that comes with the program.
func (r fileReader) plugin(n *document.Node, replacing map[string]bool) string {
	m := r.Mapping(n, "an entry of plugins")
	m.NullIsAbsent = true
	path, dev, replace := m.Text("path"), m.Flag("dev"), m.Flag("replace")
	m.Done()
	if path == "" || !dev {
		m.Lacks("write {path: ./my-plugin, dev: true} to run it unlocked, or add it, which locks it, and leave the entry out",
			"an entry needs path, and dev: true")
	}
	path = r.path(path)
	replacing[path] = replace
	return path
}

// keys lists the keys of the file, nested as in the file.
func (t table) keys() string { return t.keysBelow("") }

func (t table) keysBelow(key string) string {
	var names []string
	for _, name := range t.below(key) {
		path := strings.TrimPrefix(key+"."+name, ".")
		d, is := t.at(path)
		switch {
		case !is:
			name += ": {" + t.keysBelow(path) + "}"
		case d.kind == folders:
			name += ": [{path, dev, replace}]"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

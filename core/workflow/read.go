package workflow

import (
	"cmp"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/plainfile"
	"github.com/reflectory/reflectory/sdk"
)

// Limits of files.
const (
	// MaxFile bounds the workflow file: 1 MiB.
	MaxFile = 1 << 20
	// MaxNamedFile bounds a file that it names: 4 MiB.
	MaxNamedFile = 4 << 20
	// MaxNamedFiles bounds their number.
	MaxNamedFiles = 100
	// MaxMessageFiles bounds the files of messages, in bytes: one file, and all files of a request and of a
	// workflow together, 20 MiB. As base64 they are 27 MiB, which the strictest of the providers takes with
	// the rest of a request (Anthropic: 32 MB a request, as documented in November 2026).
	MaxMessageFiles = 20 << 20
	// maxDepth bounds the nesting of mappings and lists.
	maxDepth = 100
)

// limits bound a file of that many bytes.
func limits(size int) document.Limits {
	return document.Limits{
		Bytes: size, Depth: maxDepth,
		Hint: "put large data into a file of its own: --state-file or --input take JSON",
	}
}

// Read reads a workflow file, or a file of a single step, and every file that its schemas
// and prompts name, so that [Load] and a resumed run need none. Files outside the
// workflow's folder are refused, even through symbolic links. Problems inside the files,
// and named files that don't exist, are left to Load, which reports them with everything
// else.
func Read(file string) (core.Source, error) {
	source := core.Source{File: file}
	var err error
	if source.Text, err = readNamed(file); err != nil {
		return source, err
	}
	root, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return source, sdk.Errorf(sdk.NotFound, "workflow_not_found", "can't open the folder of %s: %w", file, err)
	}
	defer func() { _ = root.Close() }() // only reads
	tree := document.Read(source.Text, limits(MaxFile), &document.Problems{})
	if tree == nil {
		return source, nil
	}
	f := &fetcher{source: &source, open: func(name string, limit int64) ([]byte, error) { return plainfile.ReadIn(root, name, limit) }}
	err = f.fetchAll(tree)
	return source, err
}

// FromText is [Read] for a file that was sent as text, together with the files that it
// names, by their slash-separated path relative to its folder. Other files are ignored.
// The file's name is for messages.
func FromText(file, text string, files map[string]string) (core.Source, error) {
	source := core.Source{File: file, Text: text}
	tree := document.Read(text, limits(MaxFile), &document.Problems{})
	if tree == nil {
		return source, nil
	}
	f := &fetcher{source: &source, given: files, open: func(name string, limit int64) ([]byte, error) {
		text, has := files[name]
		if !has {
			return nil, fs.ErrNotExist
		}
		return plainfile.ReadAll(name, strings.NewReader(text), limit)
	}}
	err := f.fetchAll(tree)
	return source, err
}

// readNamed reads the file that the user named: it may be a link to anywhere, or a pipe
// from the shell.
func readNamed(name string) (string, error) {
	text, err := plainfile.ReadInput(name, MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", sdk.Errorf(sdk.NotFound, "workflow_not_found", "there is no file %s", cmp.Or(name, `""`)).WithHint("%s", sdk.AsError(err).Hint)
	}
	return string(text), err
}

// fetcher reads the files that schema evaluators and prompts name.
type fetcher struct {
	open   func(name string, limit int64) ([]byte, error)
	source *core.Source
	// given are the files that a caller sent; nil if files are read from a folder.
	given map[string]string
	// messageBytes is how many bytes the files of messages have, before they become base64.
	messageBytes int
}

// fetchAll adds the files to the source that its document names.
func (f *fetcher) fetchAll(tree *document.Node) error {
	f.source.Files = map[string]string{}
	return sdk.Wrap("read the files of "+f.source.File, f.walk(tree))
}

// walk looks for schema evaluators anywhere in the file, except inside schemas.
func (f *fetcher) walk(n *document.Node) error {
	for _, item := range n.Items {
		if err := f.walk(item); err != nil {
			return err
		}
	}
	if t := n.Get("type"); t != nil && t.Text == "schema" {
		return f.schema(n)
	}
	if asksModel(n) {
		for _, keys := range []*document.Node{n, n.Get("with")} {
			if err := cmp.Or(f.prompt(keys.Get("prompt_file")), f.messageFiles(keys.Get("messages"))); err != nil {
				return err
			}
		}
	}
	for _, e := range n.Entries {
		if e.Key == "tools" {
			for _, tool := range e.Value.Items {
				if err := f.workflow(tool.Get("workflow")); err != nil {
					return err
				}
			}
		}
		if e.Key == "llm" {
			if err := f.authorities(e.Value.Get("ca")); err != nil {
				return err
			}
		}
		if err := f.walk(e.Value); err != nil {
			return err
		}
	}
	return nil
}

// workflow fetches the workflow of a tool, and the files that it names.
func (f *fetcher) workflow(file *document.Node) error {
	if file == nil || file.Kind != document.Text || !isPlain(file.Text) {
		return nil
	}
	if _, known := f.source.Files[file.Text]; known {
		return nil
	}
	text, err := f.read(file.Text)
	if tree := document.Read(text, limits(MaxFile), &document.Problems{}); err == nil && tree != nil {
		return f.walk(tree)
	}
	return err
}

// authorities fetches the certificates of the file that a connection to a model names.
func (f *fetcher) authorities(file *document.Node) error {
	if file == nil || file.Kind != document.Text {
		return nil
	}
	name, ok := relativeToWorkflow(f.source.File, file.Text)
	if !ok {
		return nil
	}
	text, err := f.read(name)
	if _, has := f.source.Files[name]; has {
		f.source.Files[name] = onlyCertificates(text)
	}
	return err
}

// asksModel reports whether a mapping is a node or step that calls a model.
func asksModel(n *document.Node) bool {
	action, kind := n.Get("action"), n.Get("type")
	return action != nil && action.Text == actionLLM || kind != nil && kind.Text == "llm"
}

// prompt fetches the file of a prompt.
func (f *fetcher) prompt(file *document.Node) error {
	if file == nil || file.Kind != document.Text {
		return nil
	}
	name, ok := inFolder(file.Text)
	if !ok {
		return nil
	}
	_, err := f.read(name)
	return err
}

// schema fetches the files that a schema evaluator names, and the files to which these
// files refer.
func (f *fetcher) schema(n *document.Node) error {
	refs := newReferences()
	if inline := n.Get("schema"); inline != nil {
		refs.scan(inline.JSON(nil), fileURI(filepath.Base(f.source.File)))
	}
	if file := n.Get("schema_file"); file != nil {
		if err := f.named(file, "", refs); err != nil {
			return err
		}
	}
	if documents := n.Get("documents"); documents != nil {
		for _, e := range documents.Entries {
			refs.known[e.Key] = true
		}
		for _, e := range documents.Entries {
			if err := f.named(e.Value, e.Key, refs); err != nil {
				return err
			}
		}
	}
	for name, uri := refs.next(); name != ""; name, uri = refs.next() {
		base, err := url.Parse(uri)
		if err != nil {
			continue
		}
		if err := f.fetch(name, base, refs); err != nil {
			return err
		}
	}
	return nil
}

// named fetches a file that the workflow names, with its own URI or "". Load reports what
// is wrong with the file or the URI.
func (f *fetcher) named(file *document.Node, uri string, refs *references) error {
	name, ok := inFolder(file.Text)
	if !ok || file.Kind != document.Text {
		return nil
	}
	base := fileURI(name)
	if u, err := url.Parse(uri); err == nil && uri != "" {
		base = u
	}
	return f.fetch(name, base, refs)
}

// fetch reads one file, if it exists, and notes what it refers to.
func (f *fetcher) fetch(name string, base *url.URL, refs *references) error {
	text, err := f.read(name)
	if err != nil || text == "" {
		return err
	}
	if data, found := decodeFile(name, text); len(found) == 0 {
		refs.scan(data, base)
	}
	return nil
}

// read reads each file once; a missing file is "".
func (f *fetcher) read(name string) (string, error) {
	if text, has := f.source.Files[name]; has {
		return text, nil
	}
	data, err := f.first(name, MaxNamedFile)
	if err != nil || data == nil {
		return "", err
	}
	f.source.Files[name] = string(data)
	return f.source.Files[name], nil
}

// first reads a file of up to limit bytes that the source doesn't have yet; a missing file is nil.
func (f *fetcher) first(name string, limit int64) ([]byte, error) {
	if err := f.room(); err != nil {
		return nil, err
	}
	data, err := f.open(name, limit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && data == nil {
		data = []byte{}
	}
	return data, err
}

// room refuses one file more than a workflow may name.
func (f *fetcher) room() error {
	if len(f.source.Files) >= MaxNamedFiles {
		return sdk.Errorf(sdk.Exhausted, "too_many_files", "the workflow names more than %d files", MaxNamedFiles)
	}
	return nil
}

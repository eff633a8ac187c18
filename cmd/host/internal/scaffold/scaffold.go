// Package scaffold begins new plugins: it writes a working plugin from templates, for
// each language that has them.
package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"text/template"

	"github.com/reflectory/reflectory/sdk"
)

//go:generate protoc -I ../../../../sdk/wire/wirepb --python_out=../../../../examples/python-evaluator/package plugin.proto

// templates are the files of each language, and the files that all languages share. A
// file NAME.tmpl is executed with [[ and ]] around its actions; "gitignore" is written as
// .gitignore, which go:embed leaves out.
//
//go:embed templates
var templates embed.FS

const (
	templateSuffix = ".tmpl"
	firstVersion   = "0.1.0"
	// defaultPublisher is the publisher of a plugin whose name has none.
	defaultPublisher = "local"
	// sdkVersion is the version of the module sdk that a plugin in Go requires, and the one that
	// this module's go.mod requires.
	sdkVersion = "v0.1.0"
	// sdkPublished is whether that version can be downloaded: with its release, this becomes true.
	sdkPublished = false
)

var nameForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([a-z][a-z0-9-]{0,63}/)?[a-z][a-z0-9-]{0,63}$`) })

// Options determine what is begun.
type Options struct {
	// Name is publisher/name, or a name alone, which becomes local/name.
	Name string
	// Language is one of [Languages]; Runtime is one of its runtimes, "" the default one.
	Language, Runtime string
	// Dir is the folder to write, which must be empty if it exists. "" is a folder with
	// the plugin's name in the working folder.
	Dir string
	// SDK is the folder of a checkout of Reflectory, whose sdk a plugin in Go is built with instead
	// of the published one. It is needed until that is published: see [Options.Lacks].
	SDK string
}

// Lacks is a line on what a plugin needs, in addition to its compiler, before it can be built; "" is
// nothing.
func (o Options) Lacks() string {
	if o.Language != "go" || o.SDK != "" || sdkPublished {
		return ""
	}
	return "Reflectory's sdk " + sdkVersion + " isn't published yet: to build the plugin, write it with --sdk and a checkout of Reflectory."
}

// project is the data of the templates.
type project struct {
	Name, FullName, Version string
	Runtime, Entry          string
	Capabilities, Limits    string
	Grant                   string
	Title, Needs, Note      string
	Build                   string
	Files                   []file
	Host                    string
	SDK, SDKVersion         string
}

// Write writes a new plugin, and returns its folder and the files in it, sorted.
func Write(o Options) (dir string, files []string, err error) {
	if !nameForm().MatchString(o.Name) {
		return "", nil, sdk.Errorf(sdk.Invalid, "name_invalid", "%q can't be a plugin's name", o.Name).
			WithHint("write publisher/name, each [a-z][a-z0-9-]* and at most 64 bytes, such as acme/word-limit")
	}
	l, runtime, err := find(o.Language, o.Runtime)
	if err != nil {
		return "", nil, err
	}
	p, err := newProject(o, l, runtime)
	if err != nil {
		return "", nil, err
	}
	content, err := render(l, p)
	if err != nil {
		return "", nil, err
	}
	if dir = o.Dir; dir == "" {
		dir = p.Name
	}
	if err := refuseFull(dir); err != nil {
		return "", nil, err
	}
	files, err = writeAll(dir, content)
	return dir, files, err
}

func newProject(o Options, l Language, runtime string) (project, error) {
	publisher, name, found := strings.Cut(o.Name, "/")
	if !found {
		publisher, name = defaultPublisher, o.Name
	}
	p := project{
		Name: name, FullName: publisher + "/" + name, Version: firstVersion,
		Runtime: runtime, Entry: l.entry(name, runtime),
		Capabilities: l.capabilities, Limits: l.limits, Grant: l.grant,
		Title: l.title, Needs: l.needs, Note: l.note, Build: l.build, Files: l.files, Host: l.host, SDKVersion: sdkVersion,
	}
	if lacks := o.Lacks(); lacks != "" {
		p.Note = lacks
	}
	if o.SDK == "" {
		return p, nil
	}
	sdkDir, err := filepath.Abs(o.SDK)
	if err != nil {
		return p, sdk.Errorf(sdk.Invalid, "sdk_invalid", "--sdk: %w", err)
	}
	sdkDir = filepath.Join(sdkDir, "sdk")
	if _, err := os.Stat(filepath.Join(sdkDir, "go.mod")); err != nil {
		return p, sdk.Errorf(sdk.Invalid, "sdk_invalid", "%s isn't a checkout of Reflectory: %w", filepath.Dir(sdkDir), err).
			WithHint("give the folder that contains Reflectory's go.work")
	}
	p.SDK = filepath.ToSlash(sdkDir)
	return p, nil
}

// refuseFull refuses a folder that isn't empty.
func refuseFull(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return sdk.Errorf(sdk.Invalid, "project_unwritable", "can't write the new plugin: %w", err).
			WithHint("choose another folder with --dir")
	case len(entries) > 0:
		return sdk.Errorf(sdk.Conflict, "folder_not_empty", "the folder %s already exists and isn't empty", dir).
			WithHint("choose another with --dir")
	}
	return nil
}

// folder is a folder of templates.
type folder struct {
	files embed.FS
	root  string
}

// render makes every file of a new plugin, by its path with slashes.
func render(l Language, p project) (map[string][]byte, error) {
	folders := []folder{{templates, "templates/common"}, {templates, "templates/" + l.Name}}
	if p.Host != "" {
		folders = append(folders, folder{templates, "templates/kinds"})
	}
	if l.example.root != "" {
		folders = append(folders, l.example)
	}
	content := map[string][]byte{}
	for _, f := range folders {
		if err := f.render(content, p); err != nil {
			return nil, sdk.Errorf(sdk.Internal, "template_invalid", "template for %s: %w", l.Name, err)
		}
	}
	return content, nil
}

// render adds the files of the folder's templates.
func (f folder) render(content map[string][]byte, p project) error {
	return fs.WalkDir(f.files, f.root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := f.files.ReadFile(name)
		if err != nil {
			return err
		}
		out := strings.TrimPrefix(name, f.root+"/")
		if plain, ok := strings.CutSuffix(out, templateSuffix); ok {
			out = plain
			data, err = execute(name, data, p)
		}
		content[hidden(out)] = data
		return err
	})
}

// hidden is the path under which a file is written: go:embed leaves out files whose names
// begin with a dot.
func hidden(name string) string {
	if path.Base(name) == "gitignore" {
		return path.Join(path.Dir(name), ".gitignore")
	}
	return name
}

func execute(name string, text []byte, p project) ([]byte, error) {
	t, err := template.New(name).Delims("[[", "]]").Parse(string(text))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, p)
	return out.Bytes(), err
}

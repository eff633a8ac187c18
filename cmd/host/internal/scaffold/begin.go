package scaffold

import (
	"crypto/ed25519"
	"crypto/x509"
	"embed"
	"encoding/pem"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/reflectory/reflectory/examples"
	"github.com/reflectory/reflectory/sdk"
)

// A project is a folder with a workflow and settings, and nothing that a newcomer has to
// understand first. A project with samples is a folder in which the examples of the help work
// unchanged: what they name exists there, unless it needs more than a folder.

// projectFiles are the files of every project.
//
//go:embed project
var projectFiles embed.FS

// sampleFiles are the files of a project with samples, in addition.
//
//go:embed samples
var sampleFiles embed.FS

// wordsModule is the C template, built as acme/words.
//
//go:embed testdata/c.wasm
var wordsModule []byte

// Begin writes a new project into a folder ("" is the working one), and returns the files
// in it, sorted. If one of them already exists, the error is sdk.Conflict, and nothing is
// written.
func Begin(dir string) ([]string, error) { return begin(dir, nil, addProject) }

// BeginWithSamples is [Begin] for a project in which the examples of the help work. later are
// the files that the caller adds to it, which mustn't exist either.
func BeginWithSamples(dir string, later []string) ([]string, error) {
	return begin(dir, later, addProject, addSamples, addWords, addKey)
}

func begin(dir string, later []string, parts ...func(content map[string][]byte) error) ([]string, error) {
	content := map[string][]byte{}
	for _, add := range parts {
		if err := add(content); err != nil {
			return nil, sdk.Errorf(sdk.Internal, "template_invalid", "files of a new project: %w", err)
		}
	}
	for _, name := range slices.AppendSeq(later, maps.Keys(content)) {
		if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name))); err == nil {
			return nil, sdk.Errorf(sdk.Conflict, "file_there", "%s is there already", filepath.Join(dir, filepath.FromSlash(name))).
				WithHint("begin the project in a new folder: reflectory init NAME")
		}
	}
	return writeAll(dir, content)
}

func addProject(content map[string][]byte) error {
	return addAll(content, projectFiles, "project", "")
}

func addSamples(content map[string][]byte) error {
	return errors.Join(addAll(content, sampleFiles, "samples", ""), addAll(content, examples.Files, ".", "examples"))
}

// addAll adds the files of an embedded folder, below another folder.
func addAll(content map[string][]byte, files embed.FS, from, to string) error {
	root, err := fs.Sub(files, from)
	if err != nil {
		return err
	}
	return fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content[hidden(path.Join(to, name))], err = fs.ReadFile(root, name)
		return err
	})
}

// addWords adds the package of a plugin.
func addWords(content map[string][]byte) error {
	l, runtime, err := find("c", wasm)
	if err != nil {
		return err
	}
	p, err := newProject(Options{Name: "acme/words"}, l, runtime)
	if err != nil {
		return err
	}
	files, err := render(l, p)
	for name, data := range files {
		if in, below := cutFolder(name, "package"); below {
			content[path.Join("words", in)] = data
		}
	}
	content["words/plugin.wasm"] = wordsModule
	return err
}

// cutFolder is a path within a folder.
func cutFolder(name, folder string) (string, bool) {
	in, err := filepath.Rel(folder, name)
	return filepath.ToSlash(in), err == nil && filepath.IsLocal(in)
}

// keyFile is the project's private key, which nobody else may read.
const keyFile = "key.pem"

// addKey adds a new key for signing plugins.
func addKey(content map[string][]byte) error {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	content[keyFile] = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	return err
}

// writeAll writes files into a folder, and returns their names, sorted.
func writeAll(dir string, content map[string][]byte) (files []string, err error) {
	for name, data := range content {
		file, mode := filepath.Join(dir, filepath.FromSlash(name)), fs.FileMode(0o644)
		if name == keyFile {
			mode = 0o600
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, data, mode)); err != nil { //nolint:gosec // a project is as open as its folder
			return nil, sdk.Errorf(sdk.Invalid, "project_unwritable", "can't write %s: %w", file, err).
				WithHint("choose another folder")
		}
		files = append(files, name)
	}
	slices.Sort(files)
	return files, nil
}

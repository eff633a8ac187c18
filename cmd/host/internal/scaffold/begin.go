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

// A project is a folder in which the examples of the help work unchanged: what they name
// exists there, unless it needs more than a folder. So a newcomer's first command, copied
// from the help, works.

// projectFiles are the project's own files.
//
//go:embed project
var projectFiles embed.FS

// wordsModule is the C template, built as acme/words.
//
//go:embed testdata/c.wasm
var wordsModule []byte

// Begin writes a new project into a folder ("" is the working one), and returns the files
// in it, sorted. If one of them, or of the files that the caller adds later, already
// exists, the error is sdk.Conflict, and nothing is written.
func Begin(dir string, later ...string) ([]string, error) {
	content := map[string][]byte{}
	if err := errors.Join(
		addAll(content, projectFiles, "project", ""),
		addAll(content, examples.Files, ".", "examples"),
		addWords(content),
		addKey(content),
	); err != nil {
		return nil, sdk.Errorf(sdk.Internal, "template_invalid", "files of a new project: %w", err)
	}
	for _, name := range slices.AppendSeq(later, maps.Keys(content)) {
		if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name))); err == nil {
			return nil, sdk.Errorf(sdk.Conflict, "file_there", "%s is there already", filepath.Join(dir, filepath.FromSlash(name))).
				WithHint("begin the project in a new folder")
		}
	}
	return writeAll(dir, content)
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

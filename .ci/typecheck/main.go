// Command typecheck checks the types of all code and its tests for the systems that it isn't
// built on. It finds the mistakes that a build there would find, but in seconds, from the
// sources and without the function bodies of dependencies. A build compiles the standard
// library and all dependencies once per system, which takes minutes each time.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// view is code as one system sees it, always without cgo.
type view struct {
	dir            string // of a go.mod
	os, arch, tags string
	packages       []string
}

// views are what is checked. The tests of pages in a browser are vetted where they run: to vet
// them, their packages would have to be compiled, of which one has the whole protocol of the
// browser.
var views = []view{
	{".", "linux", "amd64", "bench,surfaces", []string{"./...", "./sdk/..."}},
	{".", "darwin", "arm64", "", []string{"./...", "./sdk/..."}},
	{".", "windows", "amd64", "", []string{"./...", "./sdk/..."}},
	{"examples/embed", "linux", "amd64", "", []string{"./..."}},
}

func main() {
	problems := make([]error, len(views))
	var all sync.WaitGroup
	for i, v := range views {
		all.Go(func() { problems[i] = v.check() })
	}
	all.Wait()
	if err := errors.Join(problems...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// listed is a package as go list tells of it.
type listed struct {
	ImportPath, Name, Dir string
	GoFiles               []string
	ImportMap             map[string]string
	Module                *struct {
		Main      bool
		GoVersion string
	}
}

// check checks all packages that the view's own need, each after those that it
// imports, as go list gives them.
func (v view) check() error {
	args := append([]string{"list", "-deps", "-test", "-tags", v.tags, "-json=ImportPath,Name,Dir,GoFiles,ImportMap,Module"}, v.packages...)
	cmd := exec.CommandContext(context.Background(), "go", args...)
	cmd.Dir, cmd.Stderr = v.dir, os.Stderr
	cmd.Env = append(os.Environ(), "GOOS="+v.os, "GOARCH="+v.arch, "CGO_ENABLED=0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c := checker{view: v, packages: map[string]*types.Package{"unsafe": types.Unsafe}}
	for list := json.NewDecoder(out); ; {
		var p listed
		if err := list.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return errors.Join(err, cmd.Wait())
		}
		c.add(p)
	}
	return errors.Join(append(c.problems, cmd.Wait())...)
}

type checker struct {
	view     view
	packages map[string]*types.Package // by import path
	problems []error
}

func (c *checker) add(p listed) {
	if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") { // the latter is made by go test
		return
	}
	fset, files := token.NewFileSet(), []*ast.File(nil)
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			c.problems = append(c.problems, err)
			return
		}
		files = append(files, file)
	}
	own := p.Module != nil && p.Module.Main
	config := types.Config{
		IgnoreFuncBodies: !own,
		Importer:         importer{p.ImportMap, c.packages},
		Sizes:            types.SizesFor("gc", c.view.arch),
		Error: func(err error) {
			c.problems = append(c.problems, fmt.Errorf("%s/%s: %w", c.view.os, c.view.arch, err))
		},
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	path, _, _ := strings.Cut(p.ImportPath, " ") // what follows names a test that it is a variant for
	c.packages[p.ImportPath], _ = config.Check(path, fset, files, nil)
}

// importer finds the packages that one imports.
type importer struct {
	names    map[string]string // import paths that mean other ones
	packages map[string]*types.Package
}

func (i importer) Import(path string) (*types.Package, error) {
	if name, ok := i.names[path]; ok {
		path = name
	}
	if p := i.packages[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s isn't among the packages that go list names", path)
}

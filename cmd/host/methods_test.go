package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// maxMethods is how many methods, unexported ones among them, an exported type may have: more can't
// be read as one thing.
const maxMethods = 60

func TestMethods_OfATypeAreFew(t *testing.T) {
	root := filepath.Join("..", "..")
	methods, files := map[string]map[string]bool{}, token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root {
			return skipFolder(err)
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil //nolint:nilerr // the compiler reports it; what is below testdata may be no Go
		}
		folder, _ := filepath.Rel(root, filepath.Dir(path))
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv != nil {
				if name := receiverOf(fn.Recv.List[0].Type); ast.IsExported(name) {
					name = filepath.ToSlash(folder) + "." + name
					if methods[name] == nil {
						methods[name] = map[string]bool{}
					}
					methods[name][fn.Name.Name] = true
				}
			}
		}
		return nil
	})
	if err != nil || len(methods["core/host.Host"]) == 0 {
		t.Fatal("the methods of the tree can't be read: ", err)
	}
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		if n := len(methods[name]); n > maxMethods {
			t.Errorf("%s has %d methods (limit %d): make what belongs together a type of its own, which %s has as a field", name, n, maxMethods, name)
		}
	}
}

// skipFolder skips a folder, unless there is an error.
func skipFolder(err error) error {
	if err != nil {
		return err
	}
	return fs.SkipDir
}

// receiverOf is the name of the type of a receiver.
func receiverOf(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return receiverOf(of.X)
	case *ast.IndexExpr:
		return receiverOf(of.X)
	case *ast.IndexListExpr:
		return receiverOf(of.X)
	case *ast.Ident:
		return of.Name
	}
	return ""
}

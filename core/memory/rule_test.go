package memory_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestOnlyADecisionEndsAMemory: what removes a memory
// and what makes knowledge is called from where a recorded decision of the gate
// is carried out, and from nowhere else; and a state is set where the table of
// transitions is asked.
func TestOnlyADecisionEndsAMemory(t *testing.T) {
	want := map[string][]string{
		"Remove":     {"writePurge"}, // of internal/record
		"Purge":      {"writePurge"}, // of knowledge
		"writePurge": {"carryOut", "purgeWith"},
		"purgeWith":  {"writePurge"}, // the same decision, of what was merged into the memory
		"Create":     {"enter"},      // of knowledge
		"enter":      {"promote"},
		"promote":    {"carryOut"},
		"settled":    {"carryOut"},
		"carryOut":   {"conclude", "erase"},
		"conclude":   {"revalidate"},
		"revalidate": {"Revalidate", "gateSwept", "gateAfter"},
		// For all but the last two, which copy and which replay events, the table is asked.
		"State =": {"decide", "toGate", "restore", "settled", "awaitGate", "move", "purgeWith", "explain", "transition"},
	}
	users := usersOf(t, want)
	for name, allowed := range want {
		for _, user := range users[name] {
			if !slices.Contains(allowed, user) {
				t.Errorf("%s uses %s: a purge or promotion goes through the gate", user, name)
			}
		}
		if len(users[name]) == 0 {
			t.Errorf("nothing uses %s: the test has lost what it holds", name)
		}
	}
}

// usersOf lists, for each name, the functions of the packages that use it. "State ="
// means that a field of that name is set.
func usersOf(t *testing.T, names map[string][]string) map[string][]string {
	t.Helper()
	users := map[string][]string{}
	for _, file := range sources(t) {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range tree.Decls {
			fn, isFunc := d.(*ast.FuncDecl)
			if !isFunc {
				continue
			}
			for _, name := range usedIn(fn.Body) {
				if names[name] != nil && !slices.Contains(users[name], fn.Name.Name) {
					users[name] = append(users[name], fn.Name.Name)
				}
			}
		}
	}
	return users
}

// sources are the files of the package and of those below it that can write memories.
func sources(t *testing.T) (files []string) {
	t.Helper()
	for _, dir := range []string{".", "internal/record", "turn", "knowledge", "check"} {
		in, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(in) == 0 {
			t.Fatalf("%s has no source: %v", dir, err)
		}
		for _, file := range in {
			if !strings.HasSuffix(file, "_test.go") {
				files = append(files, file)
			}
		}
	}
	return files
}

// usedIn lists the names that a body uses, and the fields that it sets as "name =".
func usedIn(body *ast.BlockStmt) (used []string) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			used = append(used, n.Name)
		case *ast.AssignStmt:
			for _, to := range n.Lhs {
				if field, isField := to.(*ast.SelectorExpr); isField {
					used = append(used, field.Sel.Name+" =")
				}
			}
		}
		return true
	})
	return used
}

package memory_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestOnlyADecisionEndsAMemory holds the code to spec 3.5: what removes a memory
// and what makes knowledge is called from where a recorded decision of the gate
// is carried out, and from nowhere else.
func TestOnlyADecisionEndsAMemory(t *testing.T) {
	want := map[string][]string{
		"remove":          {"purge"},
		"createKnowledge": {"enter"},
		"purge":           {"conclude"},
		"enter":           {"promote"},
		"promote":         {"conclude"},
		"conclude":        {"revalidate"},
		"revalidate":      {"Revalidate", "gate", "gateAfter"},
		"StatePurged":     {"apply", "ids", "purge", "read", "readSources", "unusable"},
		"StatePromoted":   {"promote"},
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

// usersOf lists, for each name, the functions of the package that use it.
func usersOf(t *testing.T, names map[string][]string) map[string][]string {
	t.Helper()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	users := map[string][]string{}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range tree.Decls {
			fn, isFunc := d.(*ast.FuncDecl)
			if !isFunc {
				continue
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if id, isID := n.(*ast.Ident); isID && names[id.Name] != nil && !slices.Contains(users[id.Name], fn.Name.Name) {
					users[id.Name] = append(users[id.Name], fn.Name.Name)
				}
				return true
			})
		}
	}
	return users
}

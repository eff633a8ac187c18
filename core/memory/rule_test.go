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

// TestOnlyADecisionEndsAMemory: what removes a memory
// and what makes knowledge is called from where a recorded decision of the gate
// is carried out, and from nowhere else; and a state is set where the table of
// transitions is asked.
func TestOnlyADecisionEndsAMemory(t *testing.T) {
	want := map[string][]string{
		"remove":          {"bury"},
		"purgeKnowledge":  {"bury"},
		"bury":            {"carryOut"},
		"createKnowledge": {"enter"},
		"enter":           {"promote"},
		"promote":         {"carryOut"},
		"settled":         {"carryOut"},
		"carryOut":        {"conclude", "erase"},
		"conclude":        {"revalidate"},
		"revalidate":      {"Revalidate", "gate", "gateAfter"},
		"State =":         {"decide", "restore", "settled", "summon", "explain"}, // for all but the last, which copies, the table is asked
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

// usersOf lists, for each name, the functions of the package that use it. "State ="
// stands for setting a field of that name.
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
			for _, name := range usedIn(fn.Body) {
				if names[name] != nil && !slices.Contains(users[name], fn.Name.Name) {
					users[name] = append(users[name], fn.Name.Name)
				}
			}
		}
	}
	return users
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

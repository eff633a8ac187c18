//go:build cgo && lua54

package cli

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/sdk"
)

func TestHint_ActionsAreCommands(t *testing.T) {
	root := (&App{}).root()
	tests := map[string]*sdk.Action{
		"reflectory runs list":                                                     sdk.NewAction("runs list"),
		"reflectory memory list --namespace team/mail":                             sdk.NewAction("memory list", "namespace", "team/mail"),
		"reflectory memory list --namespace NAMESPACE":                             sdk.NewAction("memory list", "namespace", nil),
		"reflectory memory get 01939f2c":                                           sdk.NewAction("memory get", "id", "01939f2c"),
		"reflectory memory get ID":                                                 sdk.NewAction("memory get", "id", nil),
		"reflectory memory recall --session 'a b' --namespace NAMESPACE QUERY":     sdk.NewAction("memory recall", "session", "a b", "namespace", nil, "query", nil),
		"reflectory audit show namespace/team":                                     sdk.NewAction("audit show", "stream", "namespace/team"),
		"reflectory governance set '*' limits.max_memories=…":                      sdk.NewAction("governance set", "namespace", "*", "field", "limits.max_memories=…"),
		"reflectory governance unset NAMESPACE w_hit":                              sdk.NewAction("governance unset", "namespace", nil, "field", "w_hit"),
		"reflectory plugin add --in-place --grant fs:system,host:cache '/a dir/p'": sdk.NewAction("plugin add", "in_place", true, "grant", "fs:system,host:cache", "path", "/a dir/p"),
		"reflectory plugin inspect acme/words":                                     sdk.NewAction("plugin inspect", "path", "acme/words"),
		"reflectory plugin sign --key FILE PATH":                                   sdk.NewAction("plugin sign", "key", nil, "path", nil),
		"reflectory store check --repair=false":                                    sdk.NewAction("store check", "repair", false),
		`reflectory runs show 'it'\''s'`:                                           sdk.NewAction("runs show", "run", "it's"),
		"reflectory runs show ''":                                                  sdk.NewAction("runs show", "run", ""),
		"reflectory runs show '$(id)'":                                             sdk.NewAction("runs show", "run", "$(id)"),
		"reflectory runs show '~'":                                                 sdk.NewAction("runs show", "run", "~"),
		// Of another version of the program.
		"reflectory runs show --how-many 3":  sdk.NewAction("runs show", "how_many", "3"),
		"reflectory runs fly --run 01939f2c": sdk.NewAction("runs fly", "run", "01939f2c"),
	}
	for want, action := range tests {
		if got := commandLine(root, action); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		text, err := json.Marshal(action)
		stored := &sdk.Action{}
		if err != nil || json.Unmarshal(text, stored) != nil || commandLine(root, stored) != want {
			t.Errorf("%s is stored as %s (%v), and then read as %s", want, text, err, commandLine(root, stored))
		}
	}
	for want, got := range map[string]string{
		"list them: reflectory runs list": hintLine(root, "list them", sdk.NewAction("runs list")),
		"list them":                       hintLine(root, "list them", nil),
		"reflectory runs list":            hintLine(root, "", sdk.NewAction("runs list")),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What the text of an error shows as a command, its JSON has as data.
func TestHint_TextAndJSONSayTheSame(t *testing.T) {
	w := newWorld(t)
	tests := []struct{ line, hint, try, command string }{
		{"memory get 01939f2c", "list them", `{"verb":"memory list","args":{"namespace":null}}`, "reflectory memory list --namespace NAMESPACE"},
		{"runs show 01939f2c", "list the runs", `{"verb":"runs list"}`, "reflectory runs list"},
		{"memory feedback --session s --turn 1 --outcome success", "a turn begins with a recall",
			`{"verb":"memory recall","args":{"session":"s","namespace":null,"query":null}}`, "reflectory memory recall --session s --namespace NAMESPACE QUERY"},
	}
	for _, tt := range tests {
		_, errs := w.line(exitFailure, "", tt.line)
		wantIn(t, errs, "hint: "+tt.hint+": "+tt.command+"\n")
		out, _ := w.line(exitFailure, "", tt.line+" --json")
		var shown struct {
			Error struct {
				Hint string
				Try  sdk.Action
			}
		}
		if err := json.Unmarshal([]byte(out), &shown); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		try, err := json.Marshal(shown.Error.Try)
		if err != nil || shown.Error.Hint != tt.hint || string(try) != tt.try {
			t.Errorf("%s: hint %q, try %s (%v), want %q, %s", tt.line, shown.Error.Hint, try, err, tt.hint, tt.try)
		}
	}
}

// sources walks the Go files below folders of the repository, except tests.
func sources(t *testing.T, folders []string, visit func(file *ast.File, at func(ast.Node) string)) (files int) {
	t.Helper()
	set := token.NewFileSet()
	for _, folder := range folders {
		err := filepath.WalkDir("../../../../"+folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err == nil {
				files++
				visit(file, func(n ast.Node) string { return set.Position(n.Pos()).String() })
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// literal is the value of a string literal, "" of anything else.
func literal(e ast.Expr) string {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return ""
	}
	text, _ := strconv.Unquote(l.Value)
	return text
}

// Each action that an error can have is a command of this program: its verb, its
// arguments, and all that the command needs.
func TestHint_EachActionIsACommand(t *testing.T) {
	root := (&App{}).root()
	calls := 0
	sources(t, []string{"sdk", "core", "policy", "plugins", "cmd"}, func(file *ast.File, at func(ast.Node) string) {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !slices.Contains([]string{"WithAction", "NewAction"}, called(call)) {
				return true
			}
			if call.Ellipsis.IsValid() && literal(call.Args[0]) == "" {
				return true // WithAction itself
			}
			calls++
			pairs := call.Args[1:]
			if call.Ellipsis.IsValid() {
				pairs = appended(file, pairs[0].(*ast.Ident).Name)
			}
			if problem := actionProblem(root, literal(call.Args[0]), pairs, call.Ellipsis.IsValid()); problem != "" {
				t.Errorf("%s: %s", at(call), problem)
			}
			return true
		})
	})
	if calls < 30 {
		t.Errorf("found %d actions", calls)
	}
}

// called is the name of what a call calls.
func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		return f.Sel.Name
	case *ast.Ident:
		return f.Name
	}
	return ""
}

// appended is all that a file appends to a variable.
func appended(file *ast.File, name string) (all []ast.Expr) {
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && called(call) == "append" {
			if to, ok := call.Args[0].(*ast.Ident); ok && to.Name == name {
				all = append(all, call.Args[1:]...)
			}
		}
		return true
	})
	return all
}

// actionProblem is what is wrong with an action, "" for nothing.
func actionProblem(root *cobra.Command, verb string, pairs []ast.Expr, repeats bool) string {
	c := commandOf(root, verb)
	if c == nil || !c.Runnable() || c.HasSubCommands() {
		return "there is no command " + strconv.Quote(verb)
	}
	if len(pairs)%2 != 0 || repeats && len(pairs) == 0 {
		return "its arguments are no pairs"
	}
	var given []string
	for i := 0; i < len(pairs); i += 2 {
		name := literal(pairs[i])
		if place := positional(c, name); place != "" {
			given = append(given, place)
		} else if flagFor(c, name) == nil {
			return "command " + verb + " has no argument " + strconv.Quote(name)
		}
	}
	for _, word := range operands(c) {
		if !strings.HasPrefix(word, "[") && !slices.ContainsFunc(given, func(g string) bool { return strings.Contains(word, g) }) {
			return "command " + verb + " needs " + word
		}
	}
	return ""
}

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestHints_OfSettingsSayToRestart: a server reads most settings when it is started, so a hint to
// change a setting that can be given by a running server must say so, or it comes again after it was
// followed. The endpoints of models are read again.
func TestHints_OfSettingsSayToRestart(t *testing.T) {
	elsewhere := map[string]string{ // folders and files whose hints aren't of a running server's settings
		"core/host/config":      "settings are read when a server is started",
		"core/workflow":         "a workflow has settings of its own",
		"core/plugin/services":  "its hint is about the workflow's settings",
		"cmd/host/internal/cli": "commands read the settings each time",
	}
	setting := regexp.MustCompile(`reflectory\.yaml|(^|[^a-z.])settings(\.[a-z_]+|: \{)|backup_dir`)
	n := 0
	for _, root := range []string{"../../core", "internal"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			name := strings.TrimPrefix(strings.Replace(filepath.ToSlash(path), "internal", "cmd/host/internal", 1), "../../")
			if err != nil || elsewhere[name] != "" {
				return filepath.SkipDir
			}
			if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(node ast.Node) bool {
				hint := hintOf(node)
				if !setting.MatchString(hint) {
					return true
				}
				n++
				if !strings.Contains(hint, "restart") && !strings.Contains(hint, "settings: {llm: {endpoints:") && !strings.Contains(hint, "commands: {") {
					t.Errorf("%s: the hint %s doesn't say to restart the server", files.Position(node.Pos()), hint)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n < 5 {
		t.Errorf("%d hints name a setting: they aren't found any more", n)
	}
}

// hintOf is the source of a hint's words and of what is put into them: the arguments of WithHint, or
// what a Hint is set to; "" for other nodes.
func hintOf(node ast.Node) string {
	var of []ast.Expr
	switch n := node.(type) {
	case *ast.CallExpr:
		if f, is := n.Fun.(*ast.SelectorExpr); is && f.Sel.Name == "WithHint" {
			of = n.Args
		}
	case *ast.AssignStmt:
		if to, is := n.Lhs[0].(*ast.SelectorExpr); is && to.Sel.Name == "Hint" {
			of = n.Rhs
		}
	case *ast.KeyValueExpr:
		if key, is := n.Key.(*ast.Ident); is && key.Name == "Hint" {
			of = []ast.Expr{n.Value}
		}
	}
	var words strings.Builder
	for _, e := range of {
		ast.Inspect(e, func(part ast.Node) bool {
			switch p := part.(type) {
			case *ast.BasicLit:
				words.WriteString(p.Value + " ")
			case *ast.Ident:
				words.WriteString(strings.ToLower(p.Name) + " ")
			}
			return true
		})
	}
	return words.String()
}

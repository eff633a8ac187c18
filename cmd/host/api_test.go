package main

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
)

// What programs of others may rely on is in testdata/api, a line for each name. So a change that
// breaks them is seen in a review, and isn't made by accident:
//
//	go test -tags lua54 ./cmd/host -run API -update

func TestAPI_OfPublicPackages(t *testing.T) {
	updating := flag.Lookup("update").Value.String() == "true"
	for _, name := range publicPackages {
		got := apiOf(t, name)
		file := "../../../testdata/api/" + strings.ReplaceAll(name, "/", "-") + ".txt"
		if updating {
			coretest.Golden(t, file, strings.Join(got, "\n")+"\n")
			continue
		}
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, change := range apiChanges(strings.Split(strings.TrimSpace(string(text)), "\n"), got) {
			t.Errorf("%s: %s; if that is meant: go test -tags lua54 ./cmd/host -run API -update", name, change)
		}
	}
	files, err := filepath.Glob("../../testdata/api/*.txt")
	if err != nil || len(files) != len(publicPackages) {
		t.Errorf("testdata/api has %d files, and %d packages are public: %v", len(files), len(publicPackages), err)
	}
}

// apiChanges says for each line that differs what it breaks.
func apiChanges(before, after []string) (changes []string) {
	was, is := apiByName(before), apiByName(after)
	for _, name := range slices.Sorted(maps.Keys(was)) {
		switch {
		case is[name] == "":
			changes = append(changes, was[name]+" is gone, which breaks what uses it")
		case is[name] != was[name]:
			changes = append(changes, was[name]+" is now "+is[name]+", which breaks what uses it")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if was[name] != "" {
			continue
		}
		owner, _, member := strings.Cut(strings.TrimPrefix(name, "method "), ".")
		if old := was["type "+owner]; member && strings.HasPrefix(name, "method ") && strings.HasSuffix(old, " interface") {
			changes = append(changes, is[name]+" is new, which breaks what implements "+owner)
		} else {
			changes = append(changes, is[name]+" is new, which breaks nothing")
		}
	}
	return changes
}

// apiByName are lines by what they are of: their kind and name, such as "method Run.ID".
func apiByName(lines []string) map[string]string {
	byName := map[string]string{}
	for _, line := range lines {
		plain := strings.NewReplacer("(*", "", ").", ".").Replace(line)
		words := strings.FieldsFunc(plain, func(r rune) bool { return strings.ContainsRune(" ([", r) })
		if len(words) > 1 {
			byName[words[0]+" "+words[1]] = line
		}
	}
	return byName
}

// apiOf are the exported names of a package, sorted, each with its type as its source has it.
// What is an alias of another package's type has that type's members too.
func apiOf(t *testing.T, name string) []string {
	t.Helper()
	a := readAPI(t, name)
	for alias, of := range a.aliases {
		at := strings.LastIndex(of, ".")
		for _, line := range readAPI(t, of[:at]).lines {
			if kind, member, ok := strings.Cut(line, " "+of[at+1:]+"."); ok && strings.Count(kind, " ") == 0 {
				a.add(kind, alias+"."+member)
			}
			if member, ok := strings.CutPrefix(line, "method (*"+of[at+1:]+")."); ok {
				a.add("method", "(*"+alias+")."+member)
			}
		}
	}
	slices.Sort(a.lines)
	return slices.Compact(a.lines) // files for other systems declare the same
}

func readAPI(t *testing.T, name string) *api {
	t.Helper()
	files, err := filepath.Glob("../../" + name + "/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("the source of %s: %v", name, err)
	}
	a := &api{aliases: map[string]string{}}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		a.imports = map[string]string{}
		for _, i := range parsed.Imports {
			if folder, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module); ours {
				a.imports[path.Base(folder)] = folder
			}
		}
		for _, d := range parsed.Decls {
			a.declaration(d)
		}
	}
	return a
}

type api struct {
	lines []string
	// imports are the folders of this tree that a file imports, by the name of the package.
	imports map[string]string
	// aliases are the folder and the name of what is an alias of another package's type.
	aliases map[string]string
}

func (a *api) add(words ...string) {
	a.lines = append(a.lines, strings.Join(strings.Fields(strings.Join(words, " ")), " "))
}

func (a *api) declaration(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		switch {
		case !d.Name.IsExported():
		case d.Recv == nil:
			a.add("func " + d.Name.Name + signature(d.Type))
		case ast.IsExported(receiverOf(d.Recv.List[0].Type)):
			a.add("method " + receiver(d.Recv.List[0].Type) + "." + d.Name.Name + signature(d.Type))
		}
	case *ast.GenDecl:
		var kind string // of a constant that has the type of the one before it
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if spec.Name.IsExported() {
					a.typeOf(spec)
				}
			case *ast.ValueSpec:
				kind = a.value(d.Tok.String(), spec, kind)
			}
		}
	}
}

// receiver is the type of a receiver, without its type parameters.
func receiver(of ast.Expr) string {
	if _, ok := of.(*ast.StarExpr); ok {
		return "(*" + receiverOf(of) + ")"
	}
	return receiverOf(of)
}

// value adds constants and variables, and returns the type of a constant.
func (a *api) value(token string, spec *ast.ValueSpec, kind string) string {
	if spec.Type != nil || len(spec.Values) > 0 {
		kind = source(spec.Type)
	}
	for i, name := range spec.Names {
		if !name.IsExported() {
			continue
		}
		is := ""
		if i < len(spec.Values) && (token == "const" || spec.Type == nil) {
			is = "= " + source(spec.Values[i])
		}
		a.add(token, name.Name, kind, is)
	}
	return kind
}

func (a *api) typeOf(spec *ast.TypeSpec) {
	name := spec.Name.Name
	switch of := spec.Type.(type) {
	case *ast.StructType:
		a.add("type", name+parameters(spec.TypeParams), "struct")
		for _, f := range of.Fields.List {
			if len(f.Names) == 0 {
				a.add("embeds", name+"."+source(f.Type))
			}
			for _, n := range f.Names {
				if n.IsExported() {
					a.add("field", name+"."+n.Name, source(f.Type))
				}
			}
		}
	case *ast.InterfaceType:
		a.add("type", name+parameters(spec.TypeParams), "interface")
		for _, m := range of.Methods.List {
			if len(m.Names) == 0 {
				a.add("embeds", name+"."+source(m.Type))
				continue
			}
			a.add("method " + name + "." + m.Names[0].Name + signature(m.Type.(*ast.FuncType)))
		}
	default:
		alias := ""
		if spec.Assign.IsValid() {
			alias = "="
			if of, ok := of.(*ast.SelectorExpr); ok && a.imports[source(of.X)] != "" {
				a.aliases[name] = a.imports[source(of.X)] + "." + of.Sel.Name
			}
		}
		a.add("type", name+parameters(spec.TypeParams), alias, source(of))
	}
}

// signature is a function's parameters and results. Their names are left out: no caller uses them.
func signature(f *ast.FuncType) string {
	return parameters(f.TypeParams) + strings.TrimPrefix(source(&ast.FuncType{Params: unnamed(f.Params), Results: unnamed(f.Results)}), "func")
}

func unnamed(list *ast.FieldList) *ast.FieldList {
	if list == nil {
		return nil
	}
	out := &ast.FieldList{}
	for _, f := range list.List {
		for range max(1, len(f.Names)) {
			out.List = append(out.List, &ast.Field{Type: f.Type})
		}
	}
	return out
}

// parameters are the type parameters of a function or type, with their brackets.
func parameters(list *ast.FieldList) string {
	if list == nil {
		return ""
	}
	return strings.TrimSuffix(strings.TrimPrefix(source(&ast.FuncType{TypeParams: list, Params: &ast.FieldList{}}), "func"), "()")
}

// source is a part of a source file in one line; "" if there is none.
func source(node ast.Expr) string {
	if node == nil {
		return ""
	}
	var out strings.Builder
	if err := printer.Fprint(&out, token.NewFileSet(), node); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

// A line names what a change breaks.
func TestAPI_ChangesAreNamed(t *testing.T) {
	before := []string{"func F(a int) error", "type I interface", "method I.A()", "type S struct", "field S.A int", "const C Kind = 1", "method (*S).M()"}
	for name, test := range map[string]struct {
		change func([]string) []string
		want   []string
	}{
		"nothing":                  {func(l []string) []string { return l }, nil},
		"a function is gone":       {func(l []string) []string { return l[1:] }, []string{"func F(a int) error is gone, which breaks what uses it"}},
		"another parameter":        {func(l []string) []string { l[0] = "func F(a string) error"; return l }, []string{"func F(a int) error is now func F(a string) error, which breaks what uses it"}},
		"a method of a type":       {func(l []string) []string { return append(l, "method S.B() int") }, []string{"method S.B() int is new, which breaks nothing"}},
		"a method of an interface": {func(l []string) []string { return append(l, "method I.B() int") }, []string{"method I.B() int is new, which breaks what implements I"}},
		"a field of another type":  {func(l []string) []string { l[4] = "field S.A string"; return l }, []string{"field S.A int is now field S.A string, which breaks what uses it"}},
		"another value":            {func(l []string) []string { l[5] = "const C Kind = 2"; return l }, []string{"const C Kind = 1 is now const C Kind = 2, which breaks what uses it"}},
		"a method of a value":      {func(l []string) []string { l[6] = "method S.M()"; return l }, []string{"method (*S).M() is now method S.M(), which breaks what uses it"}},
		"type parameters":          {func(l []string) []string { l[3] = "type S[T any] struct"; return l }, []string{"type S struct is now type S[T any] struct, which breaks what uses it"}},
		"a new interface":          {func(l []string) []string { return append(l, "type J interface", "method J.A()") }, []string{"method J.A() is new, which breaks nothing", "type J interface is new, which breaks nothing"}},
	} {
		if got := apiChanges(before, test.change(slices.Clone(before))); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

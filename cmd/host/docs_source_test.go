package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The pages of docs/ say of a field what its comment in the code says, so that there is one
// description of it. Comments aren't in the program: the source is read for them.

// sources are the packages of this module that were read, by their paths.
type sources struct {
	t    testing.TB
	read map[string]*sourcePackage
}

// sourcePackage is what a package says of its types: by type, of itself, of each field and
// of its constants.
type sourcePackage struct {
	docs   map[string]string
	fields map[string]map[string]string
	values map[string][]string
	// numbers are its constants that are whole numbers, by name.
	numbers map[string]string
}

func newSources(t testing.TB) *sources { return &sources{t, map[string]*sourcePackage{}} }

// of is the package that declares a type; an empty one if the type isn't in this module.
func (s *sources) of(t reflect.Type) *sourcePackage {
	folder, own := strings.CutPrefix(t.PkgPath()+"/", module)
	if p := s.read[folder]; p != nil {
		return p
	}
	p := &sourcePackage{map[string]string{}, map[string]map[string]string{}, map[string][]string{}, map[string]string{}}
	s.read[folder] = p
	if !own {
		return p
	}
	files, err := filepath.Glob(filepath.Join("../..", folder, "*.go"))
	if err != nil || len(files) == 0 {
		s.t.Fatalf("the source of %s: %v", t, err)
	}
	set := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			s.t.Fatal(err)
		}
		file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, d := range file.Decls {
			if d, ok := d.(*ast.GenDecl); ok {
				p.take(d)
			}
		}
	}
	return p
}

// take reads a declaration of types or constants.
func (p *sourcePackage) take(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			doc := spec.Doc
			if doc == nil {
				doc = d.Doc
			}
			p.docs[spec.Name.Name] = doc.Text()
			if s, ok := spec.Type.(*ast.StructType); ok {
				p.fields[spec.Name.Name] = fieldDocs(s)
			}
		case *ast.ValueSpec:
			if d.Tok != token.CONST {
				continue
			}
			for i, v := range spec.Values {
				if n := wholeNumber(v); n != nil {
					p.numbers[spec.Names[i].Name] = grouped(n.ExactString())
				}
			}
			named, ok := spec.Type.(*ast.Ident)
			if !ok {
				continue
			}
			for _, v := range spec.Values {
				if l, ok := v.(*ast.BasicLit); ok && l.Kind == token.STRING {
					p.values[named.Name] = append(p.values[named.Name], constant.StringVal(constant.MakeFromLiteral(l.Value, l.Kind, 0)))
				}
			}
		}
	}
}

// wholeNumber is the value of a constant such as 200 or 4 << 10; nil for any other.
func wholeNumber(e ast.Expr) constant.Value {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.INT {
			return constant.MakeFromLiteral(e.Value, e.Kind, 0)
		}
	case *ast.BinaryExpr:
		a, b := wholeNumber(e.X), wholeNumber(e.Y)
		if a == nil || b == nil {
			return nil
		}
		if by, _ := constant.Uint64Val(b); e.Op == token.SHL {
			return constant.Shift(a, e.Op, uint(by))
		}
		return constant.BinaryOp(a, e.Op, b)
	}
	return nil
}

// grouped is a whole number with commas.
func grouped(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// fieldDocs are the comments of a struct's fields.
func fieldDocs(s *ast.StructType) map[string]string {
	docs := map[string]string{}
	var last string                    // the field that has the comment at hand
	followers := map[string][]string{} // the fields after it that have none
	for _, f := range s.Fields.List {
		text := f.Doc.Text()
		if text == "" {
			text = f.Comment.Text()
		}
		for i, name := range f.Names {
			switch {
			case text != "" && i == 0:
				docs[name.Name], last = text, name.Name
			default:
				followers[last] = append(followers[last], name.Name)
			}
		}
	}
	for name, after := range followers {
		share(docs, name, after)
	}
	return docs
}

// share gives the fields after a commented one their parts of its comment: "Records and
// Bytes count what is there", "ID is its id, Name its name".
func share(docs map[string]string, name string, after []string) {
	text := strings.Join(strings.Fields(docs[name]), " ")
	begins := regexp.MustCompile(`(?:^|(?:[,;.]|) (?:and )?)(` + strings.Join(append([]string{name}, after...), "|") + `) `)
	marks := begins.FindAllStringSubmatchIndex(text+" ", -1)
	if len(marks) < 2 || marks[0][0] != 0 {
		return
	}
	part := ""
	for i := len(marks) - 1; i >= 0; i-- {
		end := len(text)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		if own := strings.TrimLeft(text[min(marks[i][3], end):end], " ,"); own != "" && own != "and" {
			part = own
		}
		of := text[marks[i][2]:marks[i][3]]
		docs[of] = of + " " + part
	}
}

var (
	docLink = regexp.MustCompile(`\[\*?((?:[A-Za-z]\w*\.)?[A-Z]\w*(?:\.\w+)?)\]`)
	goNil   = regexp.MustCompile(`\bnil\b`)
)

// said is a comment as a page has it: in one line, without the name that it begins with in
// Go, with the value of a constant in place of a link to it, and with the name in place of
// other links.
func (p *sourcePackage) said(comment, name string) string {
	text := strings.Join(strings.Fields(comment), " ")
	text = docLink.ReplaceAllStringFunc(text, func(link string) string {
		of := docLink.FindStringSubmatch(link)[1]
		if n := p.numbers[of]; n != "" {
			return n
		}
		return of
	})
	text = goNil.ReplaceAllString(text, "null")
	for _, verb := range []string{" is ", " are ", " "} {
		if rest, ok := strings.CutPrefix(text, name+verb); ok {
			text = rest
			break
		}
	}
	return sentence(text)
}

// sentence begins with a capital and ends with a full stop.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	text = strings.ToUpper(text[:1]) + text[1:]
	if !strings.ContainsAny(text[len(text)-1:], ".!?:") {
		text += "."
	}
	return text
}

// cell is text in a cell of a Markdown table, where a pipe would end it and < begins HTML.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(text)
}

// code is text as code.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// size is a number of bytes as people read it.
func size(bytes int64) string {
	switch {
	case bytes >= 1<<20 && bytes%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", bytes>>20)
	case bytes >= 1<<10 && bytes%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%d bytes", bytes)
}

// seconds is a duration as people read it.
func seconds(d time.Duration) string { return number(d.Seconds()) + " s" }

// number is a number as people read it.
func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

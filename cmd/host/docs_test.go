package main

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/governance"
)

// The reference pages of docs/ are made from the tables of the code, so that they can't
// disagree with it: prose is in testdata/docs, and what is looked up is put in here. If a
// page isn't what the code gives, its test fails, and -update writes it again:
//
//	go test -tags lua54 ./cmd/host -run Docs -update

func TestDocs_APIIsMadeFromTheRoutes(t *testing.T) { page(t, "api.md", apiPage(t)) }

func TestDocs_PoliciesAreMadeFromTheirPoints(t *testing.T) { page(t, "policies.md", policiesPage(t)) }

// TestDocs_MemorySettingsAreAllThere, with their defaults.
func TestDocs_MemorySettingsAreAllThere(t *testing.T) {
	text, err := os.ReadFile("../../docs/memory-settings.md")
	if err != nil {
		t.Fatal(err)
	}
	described := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_.]+)` \\| ([^|]+) \\| [^|]+ \\| [^|]+ \\|$").FindAllStringSubmatch(string(text), -1) {
		described[row[1]] = row[2]
	}
	settings := map[string]string{}
	for _, f := range governance.Fields() {
		if settings[f.Name] = "none"; f.Default != nil {
			settings[f.Name] = f.Default.String()
		}
	}
	if diff := cmp.Diff(settings, described); diff != "" {
		t.Errorf("docs/memory-settings.md (-settings +page):\n%s", diff)
	}
}

func TestDocs_WorkflowIsMadeFromItsKeys(t *testing.T) {
	text := page(t, "workflow.md", workflowPage(t))
	for _, r := range resultOf {
		action, _, _ := strings.Cut(strings.Trim(r.Actions, "`"), "`")
		if !strings.Contains(text, "\n### "+action+"\n") {
			t.Errorf("the page doesn't explain %s", action)
		}
	}
}

// made is the first line of a page that is made.
const made = "<!-- Made by a test of cmd/host from the code and cmd/host/testdata/docs. Don't edit it here. -->\n\n"

// page compares a page of docs/ with what its template gives, and returns that.
func page(t *testing.T, name string, data any) string {
	t.Helper()
	var out strings.Builder
	file := filepath.Join("testdata", "docs", name+".tmpl")
	functions := template.FuncMap{"cell": cell, "code": code, "join": strings.Join, "number": number, "sentence": sentence, "size": size, "seconds": seconds}
	parsed, err := template.New(filepath.Base(file)).Funcs(functions).Option("missingkey=error").ParseFiles(file)
	if err == nil {
		err = parsed.Execute(&out, data)
	}
	if err != nil {
		t.Fatal(err)
	}
	coretest.Golden(t, "../../../docs/"+name, made+out.String())
	return out.String()
}

// fieldTexts are the descriptions in testdata/docs/fields.txt, and which of them were used.
type fieldTexts struct {
	texts map[string]string
	used  map[string]bool
}

func readFieldTexts(t *testing.T) *fieldTexts {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "docs", "fields.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // only read
	found := &fieldTexts{map[string]string{}, map[string]bool{}}
	var names []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, text, ok := strings.Cut(lines.Text(), ": ")
		if strings.HasPrefix(name, "#") {
			continue
		}
		if !ok || found.texts[name] != "" {
			t.Errorf("fields.txt: %q isn't a line for a field of its own", lines.Text())
		}
		found.texts[name] = text
		names = append(names, name)
	}
	if !slices.Contains(names, "id") {
		t.Fatal("fields.txt has no line for id")
	}
	return found
}

// of is the description of an object's field: the line for just this one, else its comment,
// else the line for all fields of the name; "" if there is none.
func (f *fieldTexts) of(object, field, comment string) string {
	if text := f.texts[object+"."+field]; text != "" {
		f.used[object+"."+field] = true
		return text
	}
	if comment != "" || f.texts[field] == "" {
		return comment
	}
	f.used[field] = true
	return f.texts[field]
}

// goName is a name of the code, such as DateOptions or job.Types; productNames look like one.
var (
	goName       = regexp.MustCompile(`\b[A-Z][a-z]+[A-Z]\w*|\b[a-z]+\.[A-Z]\w+`)
	productNames = []string{"PostgreSQL", "OpenAPI", "OpenAI", "OpenID", "JavaScript", "AssemblyScript"}
)

// TestDocs_EveryFieldIsDescribed: the pages describe each field, and fields.txt has only
// what they need.
func TestDocs_EveryFieldIsDescribed(t *testing.T) {
	texts := readFieldTexts(t)
	s := newShapes(newSources(t), texts)
	s.results()
	s.requests()
	for _, r := range resultOf {
		s.typeOf(r.of)
	}
	names := map[string]bool{}
	for _, described := range s.list {
		if names[described.Name] {
			t.Errorf("two objects are called %s: name one of them in twiceNamed", described.Name)
		}
		names[described.Name] = true
		for _, f := range described.Fields {
			if f.Doc == "" {
				t.Errorf("%s.%s has no description: comment the field, or add a line to testdata/docs/fields.txt", described.Name, f.Name)
			}
			for _, name := range goName.FindAllString(f.Doc, -1) {
				if !slices.Contains(productNames, name) {
					t.Errorf("%s.%s: the page has no %s, which is a name of the code: add a line to testdata/docs/fields.txt", described.Name, f.Name, name)
				}
			}
		}
	}
	for name := range texts.texts {
		if !texts.used[name] {
			t.Errorf("fields.txt: no field needs the line of %s", name)
		}
	}
}

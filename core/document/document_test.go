package document_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/sdk"
)

func limits() document.Limits {
	return document.Limits{Bytes: 1 << 10, Depth: 5, Hint: "split it"}
}

// read reads a text and returns the error of its problems.
func read(text string) (*document.Node, error) {
	found := &document.Problems{File: "f.yaml"}
	root := document.Read(text, limits(), found)
	return root, found.Err("file_invalid")
}

func TestATreeKeepsValuesAndOrder(t *testing.T) {
	for text, want := range map[string]string{
		"b: 1\na: [x, {c: ~}]":              `{"b":1,"a":["x",{"c":null}]}`,
		`{"b": true, "a": ""}`:              `{"b":true,"a":""}`,
		"a: 2001-01-01\nb: 'true'":          `{"a":"2001-01-01","b":"true"}`,
		"a: |\n  x\n   y\nb: >\n  x\n  y\n": `{"a":"x\n y\n","b":"x y\n"}`,
		"\ufeff# a note\na: {}\r\n":         `{"a":{}}`,
		"[]":                                `[]`,
	} {
		root, err := read(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := string(root.JSON(nil)); got != want || !json.Valid([]byte(got)) {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

func TestWhatIsWrongIsNamedWithItsPlace(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"too many bytes":      {strings.Repeat("#", 1025), "f.yaml:1:1: the file has more than 1024 bytes (split it)"},
		"deep brackets":       {"a: [[[[[[1]]]]]]", "f.yaml:1:9: the YAML is nested deeper than 5 levels"},
		"deep dashes":         {strings.Repeat("- ", 20) + "x", "nested deeper than 5 levels"},
		"deep indentation":    {"a:\n b:\n  c:\n   d:\n    e:\n     f:\n      g: 1", "nested deeper than 5 levels"},
		"not UTF-8":           {"ß: \xff", "f.yaml:1:4: the file isn't UTF-8 text (save the file as UTF-8)"},
		"a control character": {"a: 1\nb: \x1b[2J", "f.yaml:2:4: the control character U+001B isn't allowed in YAML"},
		"a lone return":       {"a: 1\rb: 2", "f.yaml:1:5: there is a carriage return within a line"},
		"an anchor":           {"a: &x 1", "f.yaml:1:4: anchors, aliases, merge keys, tags and directives aren't supported"},
		"a tag":               {"a: 1\nb: !!str y", "f.yaml:2:4: anchors"},
		"a tag of a list":     {"a: ! [y]", "f.yaml:1:4: anchors"},
		"nothing":             {"# only a note\n", "f.yaml:1:1: the file is empty"},
		"two documents":       {"a: 1\n---\nb: 1", "f.yaml:3:1: the file has a second document (put it into a file of its own)"},
		"a key twice":         {"a: 1\na: 2", `f.yaml:2:1: the key "a" is there twice (remove one of them)`},
		"a key that is none":  {"? [a]\n: 1", "a key must be a simple name"},
		"no number of JSON's": {"a: .inf", "f.yaml:1:4: .inf: JSON has no such number (quote it if it is text)"},
		"a merge key":         {"a: 1\n<<: {b: 1}", "f.yaml:2:1: anchors, aliases, merge keys"},
		"a tagged key":        {"!x a: 1", "f.yaml:1:1: anchors"},
		"a directive":         {"# a note\n\n%YAML 1.1\n---\na: 1", "f.yaml:3:1: anchors"},
		"a bomb of aliases":   {"a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]", "f.yaml:1:4: anchors"},
		"an unknown alias":    {"a: [1, *x]", "f.yaml:1:8: anchors"},
		"a line separator":    {"# a note\u2028a: 1", `f.yaml:1:9: the line separator U+2028 can't be in YAML as it is (write it as "\u2028", in double quotes)`},
		"deep without bounds": {strings.Repeat("- ", 500), "the YAML is nested deeper than 5 levels"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(test.text)
			if sdk.CodeOf(err) != sdk.Invalid || sdk.ReasonOf(err) != "file_invalid" || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestAnEmptyFileMayBeAMapping(t *testing.T) {
	may := limits()
	may.MayBeEmpty = true
	for _, text := range []string{"", "# only a note\n", "---\n"} {
		found := &document.Problems{}
		if root := document.Read(text, may, found); root == nil || root.Kind != document.Mapping || found.Len() > 0 {
			t.Errorf("%q: got %+v, %v", text, root, found.List())
		}
	}
}

func TestAReaderReportsAllThatIsWrong(t *testing.T) {
	found := &document.Problems{File: "f.yaml"}
	m := found.Mapping(document.Read("text: [1]\nflag: yes!\nflga: true\nlist: {a: 1}\nnull: ~\n", limits(), found), "a file")
	if m.Text("text") != "" || m.Flag("flag") || m.List("list") != nil {
		t.Error("a value of another kind was taken")
	}
	m.Need("name")
	for _, n := range []*document.Node{m.Get("text"), nil} {
		inner := found.Mapping(n, "an inner one")
		inner.Need("x")
		inner.Done()
	}
	m.NullIsAbsent = true
	if m.Get("null") != nil {
		t.Error("null is there")
	}
	m.Done()
	var got []string
	for _, p := range found.List() {
		got = append(got, fmt.Sprintf("%d:%d %s (%s)", p.Line, p.Column, p.Message, p.Hint))
	}
	want := []string{
		`1:1 a file needs the key "name" ()`,
		`1:7 text must be text, not a list ()`,
		`1:7 an inner one must be a mapping, not a list ()`,
		`2:7 flag must be a boolean, not text ()`,
		`3:1 a file has no key "flga" (did you mean "flag"?)`,
		`4:7 list must be a list, not a mapping ()`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPlaces(t *testing.T) {
	for name, test := range map[string]struct {
		text   string
		offset int
		want   document.Pos
	}{
		"plain":         {"a: bcd", 2, document.Pos{Line: 1, Column: 6}},
		"quoted":        {"a: 'ßcd'", 2, document.Pos{Line: 1, Column: 6}},
		"an escape":     {`a: "\tcd"`, 2, document.Pos{Line: 1, Column: 4}},
		"a block":       {"a: |\n\n  bc\n  de", 5, document.Pos{Line: 4, Column: 4}},
		"a folded text": {"a: >\n  bc\n  de", 4, document.Pos{Line: 1, Column: 4}},
		"past its end":  {"a: bcd", 9, document.Pos{Line: 1, Column: 4}},
	} {
		t.Run(name, func(t *testing.T) {
			root, err := read(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := root.Get("a").Place(test.offset); got != test.want {
				t.Errorf("%q: got %v, want %v", root.Get("a").Text, got, test.want)
			}
		})
	}
}

func TestProblemsAreShownOnceInOrderAndWithinBounds(t *testing.T) {
	found := &document.Problems{Lines: document.Lines("one\r\n\ttwo\n" + strings.Repeat("x", 200))}
	found.Add(document.Pos{Line: 2, Column: 2}, "a hint", "second")
	found.Add(document.Pos{}, "", "first")
	found.Add(document.Pos{}, "", "first")
	found.Add(document.Pos{Line: 3, Column: 1}, "", "on a long line")
	want := "1:1: first\n  | one\n  | ^\n2:2: second (a hint)\n  |  two\n  |  ^\n3:1: on a long line"
	if err := found.Err("file_invalid"); err.Error() != want {
		t.Errorf("got %s\nwant %s", err, want)
	}
	for i := range 200 {
		found.Add(document.Pos{Line: i}, "", "problem %d", i)
	}
	if err := found.Err("file_invalid"); !strings.HasSuffix(err.Error(), "\nand 103 more") {
		t.Errorf("got %s", err)
	}
	if (&document.Problems{}).Err("file_invalid") != nil {
		t.Error("an error without a problem")
	}
}

func TestNamesAreComparedForTheProblemsThatAreListed(t *testing.T) {
	found := &document.Problems{}
	for i := range 100 {
		found.Add(document.Pos{Line: i + 1}, found.DidYouMean("frist", []string{"first"}), "no such word")
	}
	if list := found.List(); list[99].Hint != `did you mean "first"?` || found.DidYouMean("frist", []string{"first"}) != "" {
		t.Errorf("got %+v", list[99])
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{"a: 1", "- - - x", "? a\n: b", "a: |\n  b\n", "{a: [b, 'c', \"d\"]}", "a: &a *a", "\"a\\", "a: >-\n\n  b", "\ufeff", "---\n---"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		root, err := read(text)
		if err == nil && root == nil {
			t.Fatalf("%q: neither a tree nor a problem", text)
		}
		if root != nil && !json.Valid(root.JSON(nil)) {
			t.Fatalf("%q: %s", text, root.JSON(nil))
		}
	})
}

func TestAMissingSpaceIsNamed(t *testing.T) {
	found := &document.Problems{}
	m := found.Mapping(document.Read("{name:x, size: 1}", limits(), found), "a file")
	m.Text("name")
	m.Done()
	if list := found.List(); len(list) != 2 || list[0].Hint != "there is no space after the colon" {
		t.Errorf("got %v", list)
	}
}

func TestAFlagInWordsOfYAML11IsNamed(t *testing.T) {
	found := &document.Problems{}
	m := found.Mapping(document.Read("a: yes\nb: Off", limits(), found), "a file")
	if m.Flag("a") || m.Flag("b") || found.Len() != 2 || found.List()[0].Hint != "write true" || found.List()[1].Hint != "write false" {
		t.Errorf("got %v", found.List())
	}
}

// BenchmarkRead reads a list of 25,000 words, and a mapping of 16,000 keys.
func BenchmarkRead(b *testing.B) {
	var keys strings.Builder
	for i := range 16_000 {
		fmt.Fprintf(&keys, "key%d: v\n", i)
	}
	for name, text := range map[string]string{"50000 tokens": "[" + strings.Repeat("a,", 25_000) + "]", "16000 keys": keys.String()} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				found := &document.Problems{}
				if document.Read(text, document.Limits{Bytes: 1 << 20, Depth: 5}, found); found.Len() > 0 {
					b.Fatal(found.List())
				}
			}
		})
	}
}

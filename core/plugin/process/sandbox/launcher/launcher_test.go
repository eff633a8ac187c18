package launcher

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Any import beyond these would have the launcher wait for the initialization of
// more packages; see doc.go.
func TestTheLauncherImportsNothingThatIsInitialized(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range file.Imports {
			if path, _ := strconv.Unquote(i.Path.Value); path != "syscall" && path != "unsafe" {
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
}

func spec() Spec {
	return Spec{
		User: 7, Ruleset: 5, Keep: 4, Limits: []uint64{1, 1 << 40}, Filter: "\x00filter",
		Access: []string{"/a", ""}, Path: "/bin/program", Args: []string{"program", "-x"}, Env: []string{"A=b"},
	}
}

func TestASpecSurvivesTheSocket(t *testing.T) {
	for name, want := range map[string]Spec{"full": spec(), "empty": {}} {
		b, ok := want.Encode()
		var got Spec
		if !ok || !got.decode(b[4:]) {
			t.Fatalf("%s: not encoded or not decoded", name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	huge := Spec{Env: []string{strings.Repeat("x", maxSpec)}}
	if _, ok := huge.Encode(); ok {
		t.Error("a spec that the launcher wouldn't take is encoded")
	}
}

func TestAPartOfASpecIsNone(t *testing.T) {
	s := spec()
	b, _ := s.Encode()
	b = b[4:]
	for n := range b {
		if new(Spec).decode(b[:n]) {
			t.Errorf("%d of %d bytes are taken for a spec", n, len(b))
		}
	}
	if new(Spec).decode(append(b, 0)) {
		t.Error("a spec with more behind it is taken")
	}
	for i := range 3 { // the user, the ruleset and the socket are numbers of 32 bits
		large := slices.Clone(b)
		large[8*i+4] = 1
		if new(Spec).decode(large) {
			t.Errorf("number %d is taken with more than 32 bits", i)
		}
	}
}

func TestAFailureSurvivesTheSocket(t *testing.T) {
	want := Failure{Step: StepAccess, Errno: 13, Item: 1 << 20}
	if got := DecodeFailure(want.encode()); got != want {
		t.Errorf("got %+v", got)
	}
	for s := StepSpec; s <= StepExec; s++ {
		if s.String() == Step(0).String() {
			t.Errorf("step %d has no name", s)
		}
	}
}

func FuzzDecode(f *testing.F) {
	s := spec()
	b, _ := s.Encode()
	f.Add(b[4:])
	f.Fuzz(func(t *testing.T, b []byte) {
		var got Spec
		if !got.decode(b) {
			return
		}
		again, _ := got.Encode()
		if string(again[4:]) != string(b) {
			t.Errorf("%x decodes to %+v, which encodes to %x", b, got, again[4:])
		}
	})
}

package scaffold_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"go/format"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/scaffold"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/sdktest"
)

// begin writes a new plugin into a folder of the test's.
func begin(t *testing.T, o scaffold.Options) (dir string, files []string) {
	t.Helper()
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "new")
	}
	dir, files, err := scaffold.Write(o)
	if err != nil {
		t.Fatal(err)
	}
	return dir, files
}

// every is each language with each of its runtimes.
func every(t *testing.T, f func(t *testing.T, o scaffold.Options)) {
	for _, l := range scaffold.Languages() {
		for _, runtime := range l.Runtimes {
			t.Run(l.Name+"-"+runtime, func(t *testing.T) {
				f(t, scaffold.Options{Name: "acme/no-spam", Language: l.Name, Runtime: runtime})
			})
		}
	}
}

func TestEachTemplateIsASoundPackage(t *testing.T) {
	every(t, func(t *testing.T, o scaffold.Options) {
		dir, files := begin(t, o)
		p, err := install.ReadPackage(filepath.Join(dir, "package"))
		if err != nil {
			t.Fatal(err)
		}
		if p.Name != "acme/no-spam" || p.Version != "0.1.0" || string(p.Runtime) != o.Runtime {
			t.Errorf("plugin.yaml: %+v", p)
		}
		if fixtures, err := sdktest.Load(os.DirFS(filepath.Join(dir, "package"))); err != nil || len(fixtures) < 3 {
			t.Errorf("fixtures: %v, %v", fixtures, err)
		}
		for _, want := range []string{"README.md", "package/plugin.yaml"} {
			if !slices.Contains(files, want) {
				t.Errorf("%s is missing among %q", want, files)
			}
		}
	})
}

// What the README names is there, and nothing is left of the template's own words.
func TestEachTemplateIsWhole(t *testing.T) {
	every(t, func(t *testing.T, o scaffold.Options) {
		dir, files := begin(t, o)
		for _, name := range files {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			for _, left := range []string{"[[", "word-limit", "<no value>"} {
				if strings.Contains(string(data), left) && !strings.HasSuffix(name, ".h") {
					t.Errorf("%s holds %q", name, left)
				}
			}
			if strings.HasSuffix(name, ".json") && !json.Valid(data) {
				t.Errorf("%s is no JSON", name)
			}
			if formatted, err := format.Source(data); strings.HasSuffix(name, ".go") && (err != nil || string(formatted) != string(data)) {
				t.Errorf("%s isn't formatted: %v", name, err)
			}
		}
		readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(readme), "\n") {
			if cells := strings.Split(line, "`"); strings.HasPrefix(line, "| `") && !strings.Contains(cells[1], "*") && !slices.Contains(files, cells[1]) {
				t.Errorf("the README tells of %s, which isn't written", cells[1])
			}
		}
	})
}

func TestWhatCannotBeBegunIsRefused(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for reason, o := range map[string]scaffold.Options{
		"name_invalid":         {Name: "../evil", Language: "go"},
		"language_unsupported": {Name: "a", Language: "cobol"},
		"runtime_unsupported":  {Name: "a", Language: "c", Runtime: "process"},
		"folder_not_empty":     {Name: "a", Language: "go", Dir: full},
		"sdk_invalid":          {Name: "a", Language: "go", Dir: filepath.Join(full, "new"), SDK: full},
	} {
		_, _, err := scaffold.Write(o)
		if e := sdk.AsError(err); sdk.ReasonOf(err) != reason || e.Hint == "" {
			t.Errorf("%s: got %v", reason, err)
		}
	}
	if _, err := os.Stat("evil"); err == nil {
		t.Error("something was written")
	}
}

func TestAPluginWithoutAPublisherIsLocal(t *testing.T) {
	dir, _ := begin(t, scaffold.Options{Name: "words", Language: "c"})
	if p, err := install.ReadPackage(filepath.Join(dir, "package")); err != nil || p.Name != "local/words" {
		t.Errorf("%+v, %v", p, err)
	}
}

// The modules in testdata, which other tests run, are built from the templates and from
// testdata/asks as they are now.
func TestTheBuiltModulesAreCurrent(t *testing.T) {
	sums, err := os.ReadFile("testdata/sources.sha256")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "asks"), os.DirFS("testdata/asks")); err != nil {
		t.Fatal(err)
	}
	for _, language := range []string{"c", "assemblyscript"} {
		begin(t, scaffold.Options{Name: "acme/words", Language: language, Dir: filepath.Join(dir, language)})
	}
	for line := range strings.Lines(string(sums)) {
		want, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if got := sha256.Sum256(data); hex.EncodeToString(got[:]) != want {
			t.Errorf("%s has changed since the modules were built: run make guests", name)
		}
	}
}

// Where wasm-opt is installed, clang runs it on what it links with -O, and it refuses
// what the template uses.
func TestTheCTemplateLinksWithoutWasmOpt(t *testing.T) {
	dir, _ := begin(t, scaffold.Options{Name: "acme/words", Language: "c"})
	makefile, err := os.ReadFile(filepath.Join(dir, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for line := range strings.Lines(string(makefile)) {
		if !strings.HasPrefix(line, "\t$(CLANG)") || strings.Contains(line, " -c ") {
			continue
		}
		links++
		if strings.Contains(line, "-O") || strings.Contains(line, "$(CFLAGS)") {
			t.Errorf("it links with -O: %s", line)
		}
	}
	if links != 1 {
		t.Errorf("%d commands link", links)
	}
}

package install_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/sdk"
)

// judgeYAML is a package with one program.
const judgeYAML = `name: acme/judge
version: 1.2.3
kinds: [evaluator]
entry: judge
`

// write makes files in a folder: path to text.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		_ = os.Chmod(path, 0o644) // an installed one can't be written to
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// world is a lock with a plugin folder, and a package that isn't added yet.
type world struct {
	t       *testing.T
	dir     string
	source  string
	place   install.Place
	options install.AddOptions
}

func newWorld(t *testing.T, files map[string]string) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{t: t, dir: dir, source: filepath.Join(dir, "source"),
		place: install.Place{Label: "project", Lock: filepath.Join(dir, "project", install.LockFile), Dir: filepath.Join(dir, "plugins")}}
	w.options = install.AddOptions{Place: w.place}
	write(t, w.source, files)
	return w
}

// judge is a world whose package is a judge.
func judge(t *testing.T) *world {
	t.Helper()
	return newWorld(t, map[string]string{"plugin.yaml": judgeYAML, "judge": "#!/bin/true\n", "data/words": "a\n"})
}

func (w *world) add() *install.Plugin {
	w.t.Helper()
	p, err := install.Add(w.t.Context(), w.source, w.options)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// open opens the world's plugins; they are closed at the test's end.
func (w *world) open(change ...func(*install.Options)) *install.Set {
	w.t.Helper()
	o := install.Options{Places: []install.Place{w.place}, Trust: w.options.Trust, TempDir: w.dir}
	for _, f := range change {
		f(&o)
	}
	set, err := install.Open(o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := set.Close(); err != nil {
			w.t.Error(err)
		}
	})
	return set
}

// start starts acme/judge of a set with a driver that only looks at what it gets.
func start(t *testing.T, set *install.Set, d *driver) error {
	t.Helper()
	_, err := set.Driver(d).Start(t.Context(), plugin.Installed{Name: "acme/judge"})
	return err
}

// driver is a plugin.Driver that notes what it was given.
type driver struct {
	got      []plugin.Installed
	manifest sdk.Manifest // "" is a judge's
	killed   error
}

func (d *driver) Start(_ context.Context, p plugin.Installed) (plugin.Instance, error) {
	d.got = append(d.got, p)
	return &instance{driver: d}, nil
}

// instance only describes itself.
type instance struct {
	plugin.Instance
	driver *driver
}

func (i *instance) Manifest() *sdk.Manifest {
	m := i.driver.manifest
	if m.Name == "" {
		m = sdk.Manifest{Name: "judge", Version: "1.2.3", Kinds: []sdk.Kind{sdk.KindEvaluator}}
	}
	return &m
}

func (i *instance) Kill(reason error) { i.driver.killed = reason }

func wantError(t *testing.T, err error, code sdk.Code, reason string, parts ...string) {
	t.Helper()
	if sdk.CodeOf(err) != code || sdk.ReasonOf(err) != reason {
		t.Fatalf("got %v (%s, %s), want %s, %s", err, sdk.CodeOf(err), sdk.ReasonOf(err), code, reason)
	}
	text := err.Error() + "\nhint: " + sdk.AsError(err).Hint
	if try := sdk.AsError(err).Try; try != nil {
		data, _ := json.Marshal(try)
		text += "\ntry: " + string(data)
	}
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s\nlacks %q", text, part)
		}
	}
}

//go:build linux

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// suite is one host with good plugins and all bad ones, of both runtimes.
type suite struct {
	t    *testing.T
	app  *App
	temp string // where plugins' private folders are
	pry  misdeed
	// suspects are the bad plugins, by the names they are installed under.
	suspects map[string]suspect
	// cells are the names of the private folders that were seen.
	cells map[string]bool
}

// good are the plugins that serve all the time, with their configs.
var good = map[string]string{"test/tally": `{"passes": 1}`, "test/guest": `{"do":"ok"}`}

func newSuite(t *testing.T, suspects []suspect) *suite {
	t.Helper()
	s := &suite{t: t, suspects: map[string]suspect{}, cells: map[string]bool{}}
	dir := t.TempDir()
	s.temp = openTemp(t)
	plugins := filepath.Join(dir, "plugins")
	installPlugin(t, plugins, "test/tally", "1.0.0", []sdk.Kind{sdk.KindGenerator, sdk.KindEvaluator, sdk.KindCorrector})
	suspect{module: "guest.wasm"}.install(t, plugins, "test")
	for i, bad := range suspects {
		publisher := fmt.Sprint("bad-", i)
		bad.install(t, plugins, publisher)
		s.suspects[publisher+"/"+bad.base()] = bad
	}
	env := map[string]string{"REFLECTORY_DATA_DIR": filepath.Join(dir, "data"), "REFLECTORY_LOCK": filepath.Join(plugins, "reflectory.lock"), "HOME": dir}
	s.app = &App{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(k string) string { return env[k] }}
	if err := s.app.load(); err != nil {
		t.Fatal(err)
	}
	s.pry = lure(t, dir)
	return s
}

// openTemp makes the folder for temporary files one that the users of plugins may
// enter, and whose name leaves room for a socket's.
func openTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", dir)
	return dir
}

// lure is what a plugin looks for: a file, a variable and a server of the host's.
func lure(t *testing.T, dir string) misdeed {
	t.Helper()
	m := misdeed{File: filepath.Join(dir, "secret"), Variable: "HOST_SECRET"}
	if err := os.WriteFile(m.File, []byte("of the host"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv(m.Variable, "of the host")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	m.Address = l.Addr().String()
	return m
}

// open starts the host.
func (s *suite) open() *host.CallablePlugins {
	s.t.Helper()
	set, err := s.app.openSet()
	if err != nil {
		s.t.Fatal(err)
	}
	installed := set.Installed()
	for i := range installed {
		l, bad := &installed[i].Limits, s.suspects[installed[i].Name].limits
		l.Fuel, l.StartTimeout, l.Processes = cmp.Or(bad.Fuel, l.Fuel), bad.StartTimeout, bad.Processes
		if bad.StartTimeout == 0 {
			l.StartTimeout = time.Minute // the machine may be busy
		}
	}
	h, err := host.NewCallablePlugins(host.PluginOptions{Settings: s.app.config, Set: set, Installed: installed, Log: s.app.pluginLog, Notices: s.app.notice})
	if err != nil {
		s.t.Fatal(err)
	}
	return h
}

// round opens a host, lets suspects do what they do while the good plugins are called
// whenever one of them begins or has ended, and closes it with calls under way.
func (s *suite) round(suspects map[string]suspect) {
	s.t.Helper()
	h := s.open()
	var callers, bad sync.WaitGroup
	var moments []chan struct{} // at which each good plugin is called
	for name, config := range good {
		m := make(chan struct{}, 2*len(suspects)+2)
		callers.Go(func() { s.serve(h, name, config, m) })
		moments = append(moments, m)
	}
	call := func() {
		for _, m := range moments {
			m <- struct{}{}
		}
	}
	call()
	turns := make(chan struct{}, 8) // many of them only wait
	for name, suspect := range suspects {
		bad.Go(func() {
			turns <- struct{}{}
			call()
			s.accuse(h, name, suspect)
			call()
			<-turns
		})
	}
	bad.Wait()
	call()
	for _, m := range moments {
		close(m)
	}
	callers.Wait()
	s.noteCells()
	s.closeBusy(h, suspects)
}

// evaluate makes one call.
func evaluate(ctx context.Context, h *host.CallablePlugins, name string, timeout time.Duration, config, output string) (*sdk.EvaluateResponse, error) {
	target := core.Target{Plugin: name, Config: json.RawMessage(config), Timeout: timeout}
	return core.PluginEvaluator(h, target).Evaluate(ctx, &sdk.EvaluateRequest{Call: sdk.Call{Iteration: 1}, Output: json.RawMessage(output)})
}

// serve calls a good plugin at each moment, until there are no more.
func (s *suite) serve(h *host.CallablePlugins, name, config string, moments <-chan struct{}) {
	n := 0
	for range moments {
		n++
		r, err := evaluate(s.t.Context(), h, name, time.Minute, config, fmt.Sprint(n)) // an answer that is kept is no call
		if err != nil || !r.Verdict.Valid {
			s.t.Errorf("call %d of %s: %+v %v", n, name, r, err)
			return
		}
	}
}

// accuse lets a bad plugin do what it does, and checks what its caller gets.
func (s *suite) accuse(h *host.CallablePlugins, name string, bad suspect) {
	timeout := time.Minute
	if bad.late {
		timeout = late
	}
	config := s.pry
	config.Do = bad.do
	r, err := evaluate(s.t.Context(), h, name, timeout, string(jsontext.MustEncode(config)), "1")
	what := fmt.Sprintf("%s (%s%s, %s%s)", name, bad.program, bad.module, bad.start, bad.do)
	switch {
	case err == nil && bad.reason != "":
		s.t.Errorf("%s: no error, but %+v", what, r.Verdict)
	case err == nil:
		if score := r.Verdict.Score; !(score >= 0 && score <= 1) {
			s.t.Errorf("%s: its score is %v", what, score)
		}
	case sdk.ReasonOf(err) != bad.reason || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), bad.says):
		s.t.Errorf("%s: got %s: %v", what, sdk.ReasonOf(err), err)
	}
}

// closeBusy closes the host while endless calls of both runtimes are under way.
func (s *suite) closeBusy(h *host.CallablePlugins, suspects map[string]suspect) {
	s.t.Helper()
	var calls sync.WaitGroup
	busy := 0
	for name, bad := range suspects {
		if !bad.late || bad.do != "loop" {
			continue
		}
		busy++
		calls.Go(func() {
			_, err := evaluate(context.Background(), h, name, time.Hour, `{"do":"loop"}`, "1")
			if sdk.ReasonOf(err) != "plugins_closed" {
				s.t.Errorf("a call of %s at the host's end: %v", name, err)
			}
		})
	}
	until(s.t, "each call is at work", func() bool {
		working := 0
		for _, st := range h.Status() {
			working += st.Busy
		}
		return working >= busy
	})
	if err := h.Close(); err != nil {
		s.t.Errorf("close: %v", err)
	}
	calls.Wait()
}

// A plugin that is started again is what was pinned when it was first used,
// whatever happened to its files.
func TestAPluginSwappedWhileItRunsIsNotTheOneThatIsStartedAgain(t *testing.T) {
	s := newSuite(t, []suspect{
		{program: "hostile", do: "exit", reason: "plugin_exited", says: "out of cheese"},
		{module: "guest.wasm", do: "trap", reason: "plugin_exited", says: "unreachable"},
	})
	h := s.open()
	defer s.closeBusy(h, nil)
	var all sync.WaitGroup
	for name, bad := range s.suspects {
		all.Go(func() {
			for _, when := range []string{"before", "started again"} {
				if _, err := evaluate(t.Context(), h, name, time.Minute, `{"do":"ok"}`, "1"); err != nil {
					t.Errorf("%s, %s: %v", name, when, err)
				}
				if when == "before" {
					s.swap(name)
					s.accuse(h, name, bad)
				}
			}
		})
	}
	all.Wait()
}

// swap replaces a plugin's files by something else.
func (s *suite) swap(name string) {
	file := "run.sh"
	if s.suspects[name].module != "" {
		file = "plugin.wasm"
	}
	path := filepath.Join(filepath.Dir(s.app.config.Lock.Value), name, file)
	if err := errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, []byte("exit 9"), 0o600)); err != nil {
		s.t.Error(err)
	}
}

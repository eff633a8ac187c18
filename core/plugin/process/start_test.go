package process_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/process"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
	"github.com/reflectory/reflectory/sdk"
)

func wantError(t *testing.T, err error, code sdk.Code, reason string, says ...string) {
	t.Helper()
	if sdk.CodeOf(err) != code || sdk.ReasonOf(err) != reason {
		t.Fatalf("got %s/%s (%v), want %s/%s", sdk.CodeOf(err), sdk.ReasonOf(err), err, code, reason)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%q doesn't say %q", err, s)
		}
	}
}

func TestBadStartsAreExplainedAndLeaveNothing(t *testing.T) {
	tests := map[string]struct {
		code   sdk.Code
		reason string
		says   string
		stderr string
	}{
		"exit":      {sdk.Unavailable, "plugin_exited", "status 3; it wrote: no licence found", "no licence found"},
		"crash":     {sdk.Unavailable, "plugin_exited", "panic: broken at start", "goroutine 1"},
		"hang":      {sdk.Timeout, "start_timeout", "did not start within", "still loading"},
		"garbage":   {sdk.Invalid, "handshake_invalid", "hello, I am a plugin", ""},
		"endless":   {sdk.Invalid, "handshake_invalid", "xxxx", ""},
		"silent":    {sdk.Invalid, "handshake_invalid", "did not begin to serve", ""},
		"newer":     {sdk.Incompatible, "contract_mismatch", "protocol version 2 and the host version 1", ""},
		"elsewhere": {sdk.Denied, "address_denied", "/var/run/other.sock", ""},
		"cert":      {sdk.Invalid, "handshake_invalid", "although TLS is off", ""},
		"deaf":      {sdk.Invalid, "handshake_invalid", "did not begin to serve", ""},
	}
	for behaviour, test := range tests {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			dir := shortTempDir(t)
			p := self(t, behaviour)
			p.Limits.StartTimeout = patience
			if behaviour == "hang" {
				p.Limits.StartTimeout = time.Second
			}
			for {
				_, err := process.New(process.Options{PlainText: true, TempDir: dir}).Start(t.Context(), p)
				wantError(t, err, test.code, test.reason, test.says, "probe")
				tail, _ := sdk.AsError(err).Details["stderr"].(string)
				if strings.Contains(tail, test.stderr) {
					break
				}
				if p.Limits.StartTimeout >= patience {
					t.Fatalf("the end of stderr is %q, want %q in it", tail, test.stderr)
				}
				p.Limits.StartTimeout *= 2 // a busy machine may not have begun to run it
			}
			wantEmpty(t, dir)
		})
	}
}

func TestProgramsThatCannotRunAreExplained(t *testing.T) {
	dir := shortTempDir(t)
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, code := range map[string]sdk.Code{filepath.Join(dir, "none"): sdk.NotFound, text: sdk.Denied} {
		_, err := process.New(process.Options{TempDir: dir}).Start(t.Context(), plugin.Installed{Name: "probe", Path: path})
		wantError(t, err, code, "start_failed", "probe", path)
		if sdk.AsError(err).Hint == "" {
			t.Error("no hint")
		}
		wantEmpty(t, dir)
	}
}

// A copy is run whose name says nothing to anybody, and is gone soon.
func TestBadStartsNameThePluginsOwnFolder(t *testing.T) {
	dir := shortTempDir(t)
	none := plugin.Installed{Name: "probe", Path: filepath.Join(dir, "none"), Dir: dir, Source: "/srv/probe"}
	hangs := self(t, "hang")
	hangs.Dir, hangs.Source = filepath.Dir(hangs.Path), "/srv/probe"
	hangs.Limits.StartTimeout = 100 * time.Millisecond
	for reason, p := range map[string]plugin.Installed{"start_failed": none, "start_timeout": hangs} {
		_, err := process.New(process.Options{PlainText: true}).Start(t.Context(), p)
		e := sdk.AsError(err)
		own, private := p.Shown(p.Path), filepath.Dir(p.Path)
		if e.Reason != reason || !strings.Contains(e.Hint, own) || strings.Contains(e.Error()+e.Hint, private) {
			t.Errorf("got %v, hint %q: want %s, of %s", e, e.Hint, reason, own)
		}
	}
}

func TestCancelledStartLeavesNothing(t *testing.T) {
	dir := shortTempDir(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := process.New(process.Options{TempDir: dir}).Start(ctx, self(t, "hang"))
	wantError(t, err, sdk.Timeout, "timeout", "cancelled")
	wantEmpty(t, dir)
}

func TestEnvironmentIsEmptyButForWhatIsGranted(t *testing.T) {
	t.Setenv("REFLECTORY_SECRET", "key")
	p := self(t, "serve")
	p.Env = []string{"GRANTED=yes", "LANG=de_DE"}
	i := start(t, process.Options{}, p)
	res, err := evaluate(t, i, do("environ"))
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string]bool{
		"PATH": true, "LANG": true, "TMPDIR": true, "GRANTED": true, "REFLECTORY_PLUGIN": true,
		"PLUGIN_MIN_PORT": true, "PLUGIN_MAX_PORT": true, "PLUGIN_PROTOCOL_VERSIONS": true,
		"PLUGIN_UNIX_SOCKET_DIR": true, "PLUGIN_CLIENT_CERT": true,
	}
	env := res.Verdict.Feedback
	for _, line := range strings.Split(env, "\n") {
		name, _, ok := strings.Cut(line, "=")
		if ok && strings.ToUpper(name) == name && !allowed[name] && !strings.ContainsAny(name, "+/") {
			t.Errorf("the plugin was given %s", name)
		}
	}
	for _, want := range []string{"GRANTED=yes", "LANG=de_DE", "TMPDIR=", "PATH=/usr/local/bin:/usr/bin:/bin"} {
		if !strings.Contains(env, want) {
			t.Errorf("%s is missing in\n%s", want, env)
		}
	}
	if strings.Contains(env, "REFLECTORY_SECRET") || strings.Contains(env, "PRIVATE KEY") {
		t.Error("a secret is in the environment")
	}
}

// shortTempDir is a folder whose name leaves room for a unix socket's.
func shortTempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil { // for the users of plugins
		t.Fatal(err)
	}
	return dir
}

// patience ends a test that waits for what never comes. It measures nothing.
const patience = 5 * time.Minute

// waitUntil asks until the answer is yes.
func waitUntil(t *testing.T, yes func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !yes() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("it never happened")
		}
	}
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v %v", entries, err)
	}
}

func TestALongOrClosedTempFolderIsNoHindrance(t *testing.T) {
	for name, mode := range map[string]os.FileMode{strings.Repeat("long", 25): 0o755, "closed": 0o700} {
		dir := filepath.Join(shortTempDir(t), name)
		if err := os.Mkdir(dir, mode); err != nil {
			t.Fatal(err)
		}
		t.Setenv("TMPDIR", dir)
		if got := process.TempDir(); len(got) > 60 || !sandbox.Enterable(got) {
			t.Errorf("%s is used", got)
		}
		if i := start(t, process.Options{}, self(t, "serve")); i.Manifest().Name == "" {
			t.Error("no manifest")
		}
	}
}

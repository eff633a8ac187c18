package exec_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/reflectory/reflectory/core/exec"
	"github.com/reflectory/reflectory/sdk"
)

// TestCache_IsFilledOnce from the original, and what a program writes into it is thrown away.
func TestCache_IsFilledOnce(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "given"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("original")
	o := options(t)
	r := exec.New(o)
	const fills = "mkdir -p ~/.cache/c/sub; cp given ~/.cache/c/sub/kept; head -c 8 /dev/urandom | od -An -tx1 > ~/.cache/c/once"
	ask := func(r *exec.Runner, tenant, line, command string) string {
		t.Helper()
		got, err := r.Run(t.Context(), exec.Caller{Folder: dir, Tenant: tenant}, &sdk.ExecRequest{
			Shell: line, Caches: map[string]string{"c": command},
			Workspace: sdk.ExecWorkspace{From: ".", Put: sdk.ExecPut{File: "given", Text: "attempt"}},
		})
		if err != nil || got.Exit != 0 {
			t.Fatalf("%s: %+v, %v", line, got, err)
		}
		return got.Stdout
	}
	if got := ask(r, "", "cat ~/.cache/c/sub/kept given", fills); got != "originalattempt" {
		t.Errorf("the cache and the attempt are %q", got)
	}
	const show = "cat ~/.cache/c/once; ls ~/.cache/c"
	first := ask(r, "", show, fills)
	ask(r, "", "echo poison > ~/.cache/c/once; echo more > ~/.cache/c/more", fills)
	if again := ask(r, "", show, fills); again != first {
		t.Errorf("the cache was %q, and is %q", first, again)
	}
	if again := ask(exec.New(o), "", show, fills); again != first {
		t.Errorf("another host has %q, not %q", again, first)
	}
	for name, other := range map[string]string{"another tenant": ask(r, "other", show, fills), "another command": ask(r, "", show, fills+"; true")} {
		if other == first {
			t.Errorf("%s has the same cache", name)
		}
	}
	write("changed!!")
	if got := ask(r, "", "cat ~/.cache/c/sub/kept", fills); got != "changed!!" {
		t.Errorf("of the changed original, the cache has %q", got)
	}
	for n := range 10 {
		ask(r, "", "exit 0", fills+"; echo "+string(rune('a'+n)))
	}
	if kept, err := os.ReadDir(o.CacheDir); err != nil || len(kept) != 8 {
		t.Errorf("%d caches are kept, %v", len(kept), err)
	}
}

// TestCache_RefusesWhatLeadsOut: a cache is what its command left in its own folder.
func TestCache_RefusesWhatLeadsOut(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("of the host"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := exec.New(options(t))
	for name, line := range map[string]string{
		"a link in it":           "mkdir -p ~/.cache/c; ln -s " + dir + "/secret ~/.cache/c/secret",
		"a link instead of it":   "mkdir ~/.cache; ln -s " + dir + " ~/.cache/c",
		"a link above it":        "mkdir /tmp/c; ln -s " + filepath.Dir(dir) + " ~/.cache",
		"a link of its home":     "cd /; rmdir ~ && ln -s " + dir + " /home",
		"a file instead of it":   "mkdir ~/.cache; echo x > ~/.cache/c",
		"a pipe in it":           "mkdir -p ~/.cache/c; mkfifo ~/.cache/c/secret",
		"a command that fails":   "exit 3",
		"a command without time": "sleep 100 || exit 1",
	} {
		got, err := r.Run(t.Context(), exec.Caller{Folder: dir}, &sdk.ExecRequest{
			Shell: "cat ~/.cache/c/secret ~/.cache/c; true", Caches: map[string]string{"c": line}, TimeoutMS: 1000,
			Workspace: sdk.ExecWorkspace{From: "."},
		})
		if err == nil && got.Stdout != "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

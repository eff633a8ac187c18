package cli

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/sdk"
)

// admitted starts a plugin for a namespace, with a key.
func (w *world) admitted(namespace, name string) func() error {
	w.t.Helper()
	plugins, err := w.openHost().Plugins.Callable()
	if err != nil {
		w.t.Fatal(err)
	}
	return func() error {
		scope := &plugin.Scope{Namespace: namespace, Env: map[string][]string{name: {"KEY=secret"}}}
		return plugins.Start(plugin.WithScope(w.t.Context(), scope), name)
	}
}

func TestAdmissionHeedsAChangedPolicy(t *testing.T) {
	w := newWorld(t)
	w.policy("admission/a.yaml", "rule: {match: [{condition: '!locked', output: '{\"allow\": false}'}]}")
	start := w.admitted("team/a", "test/chatty")
	if err := start(); err != nil {
		t.Fatal(err)
	}
	w.policy("admission/a.yaml", `rule: {match: [{condition: '"env:KEY" in capabilities', output: '{"allow": false, "code": "Not a code", "reason": "no keys here"}'}]}`)
	var err error
	until(t, "a refusal", func() bool { err = start(); return err != nil })
	if sdk.CodeOf(err) != sdk.Denied || sdk.ReasonOf(err) != "plugin_denied" || !strings.Contains(err.Error(), "test/chatty may not run in namespace team/a: no keys here") {
		t.Errorf("got %v", err)
	}
	hint, try := sdk.AsError(err).Hint, sdk.AsError(err).Try
	want := sdk.NewAction("policy explain", "point", "admission", "namespace", "team/a")
	if !strings.Contains(hint, filepath.Join(w.dir, "data", "policies", "admission", "a.yaml")) || !reflect.DeepEqual(try, want) {
		t.Errorf("hint %q, try %v", hint, try)
	}
}

func TestAdmissionSeesAPluginAsItIsPinned(t *testing.T) {
	w := newWorld(t)
	w.policy("admission/a.yaml", `rule: {match: [{output: '{"allow": false, "reason": [plugin, runtime, string(size(kinds)), string(locked), string(shipped), digest].join(" ") + " " + capabilities.join(" ")}'}]}`)
	err := w.admitted("team", "test/tally")()
	want := "test/tally process 3 true false sha256:"
	_, said, _ := strings.Cut(sdk.AsError(err).Message, ": ")
	digest, _, _ := strings.Cut(strings.TrimPrefix(said, want), " ")
	if !strings.HasPrefix(said, want) || len(digest) != 64 || !strings.HasSuffix(said, digest+" env:KEY fs:"+programs+" fs:"+install.FSSystem) {
		t.Errorf("it sees %q", said)
	}
}

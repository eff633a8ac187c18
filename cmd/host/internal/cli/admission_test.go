package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/sdk"
)

func TestAdmissionHeedsAChangedPolicy(t *testing.T) {
	w := newWorld(t)
	w.policy("admission/a.yaml", "rule: {match: [{condition: '!locked', output: '{\"allow\": false}'}]}")
	l, _, _ := w.governed()
	set, err := l.app.openSet()
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	admit, ctx := l.admit(set), plugin.WithScope(t.Context(), &plugin.Scope{Namespace: "team/a"})
	p := plugin.Installed{Name: "test/chatty", Version: "1.0.0", Runtime: plugin.RuntimeProcess, Env: []string{"KEY=secret"}}
	if err := admit(ctx, p); err != nil {
		t.Fatal(err)
	}
	w.policy("admission/a.yaml", `rule: {match: [{condition: '"env:KEY" in capabilities', output: '{"allow": false, "code": "Not a code", "reason": "no keys here"}'}]}`)
	until(t, "a refusal", func() bool { err = admit(ctx, p); return err != nil })
	if sdk.CodeOf(err) != sdk.Denied || sdk.ReasonOf(err) != "plugin_denied" || !strings.Contains(err.Error(), "test/chatty may not run in namespace team/a: no keys here") {
		t.Errorf("got %v", err)
	}
	hint := sdk.AsError(err).Hint
	if !strings.Contains(hint, filepath.Join(w.dir, "data", "policies", "admission", "a.yaml")) || !strings.Contains(hint, "reflectory policy explain admission --namespace team/a") {
		t.Errorf("hint %q", hint)
	}
}

func TestAdmissionSeesAPluginAsItIsPinned(t *testing.T) {
	w := newWorld(t)
	a := &App{Stderr: t.Output(), Getenv: func(k string) string { return w.env[k] }}
	if err := a.load(); err != nil {
		t.Fatal(err)
	}
	set, err := a.openSet()
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	var installed plugin.Installed
	for _, p := range a.granted(set.Installed()) {
		if p.Name == "test/tally" {
			installed = p
		}
	}
	in := admissionInput(set, installed, "team")
	digest := set.Find("test/tally").Digest()
	if in.Plugin != "test/tally" || !in.Locked || in.Shipped || in.Runtime != "process" || len(in.Kinds) != 3 || in.Digest != digest ||
		!strings.HasPrefix(digest, "sha256:") || len(digest) != 71 || strings.Join(in.Capabilities, " ") != "fs:"+programs+" fs:"+install.FSSystem {
		t.Errorf("got %+v", in)
	}
}

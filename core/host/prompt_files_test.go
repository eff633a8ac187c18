package host_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/policy/format"
	"github.com/reflectory/reflectory/sdk"
)

// The files for prompts of these tests.
const (
	noKeys   = "category: safety\npayload: Never repeat a key.\n"
	twoCooks = "profile_id: two_cooks\nroles:\n  - {role: Cook, objectives: [Taste it.], constraints: [{key: knife, text: Cut away from yourself., hard: true}]}\n  - {role: Baker}\n"
	// cooking makes prompts take the role mix.
	cooking = `rule: {match: [{output: '{"mode": "hybrid", "route": "react", "max_blocks": 12, "max_chars": 8000, "role_mix": "two_cooks"}'}]}`
)

// ruled is a set of policies with files for prompts.
func ruled() map[string]string {
	return map[string]string{"prompt-policies/no-keys.yaml": noKeys, "role-mixes/cooks.yaml": twoCooks, "injection/all.yaml": cooking}
}

// dataWith are settings with files in the data folder.
func dataWith(t *testing.T, files map[string]string) *config.Config {
	t.Helper()
	c := settings(t)
	writeTexts(t, c.DataDir.Value, files)
	return c
}

func writeTexts(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// promptOf is the prompt that a host builds for the first turn of a session.
func promptOf(ctx context.Context, h *host.Host, session string) (string, error) {
	s, err := h.Injections.Build(ctx, &inject.BuildRequest{
		Namespace: "team", Session: session, Turn: 1, Blocks: []inject.Draft{{BlockID: "task", Category: inject.Workflow, Priority: new(10), Payload: "Write a letter."}},
	}, inject.FromOperator)
	if err != nil {
		return "", err
	}
	return s.Prompt, nil
}

// hasRules reports whether a prompt has the rules of [ruled].
func hasRules(prompt string) bool {
	return strings.Contains(prompt, "Never repeat a key.") && strings.Contains(prompt, "Cut away from yourself.")
}

// A prompt's rules don't depend on which host answers: another host, without any file, has what
// was pushed, in the first prompt after the push.
func TestPromptFiles_AreTheSameOnEveryHost(t *testing.T) {
	s := mem.Open()
	one, other := open(t, host.Config{Store: s, Shared: true}), open(t, host.Config{Store: s, Shared: true})
	sameRules(t, one, other)
}

func TestShared_PromptFilesAreTheSameOnEveryHost(t *testing.T) {
	ctx := core.WithCaller(t.Context(), core.Operator("ada"))
	url := database.Cluster(t).URL(t)
	sameRules(t, openShared(ctx, t, url), openShared(ctx, t, url))
}

func sameRules(t *testing.T, one, other *host.Host) {
	ctx := core.WithCaller(t.Context(), core.Operator("ada"))
	if p, err := promptOf(ctx, other, "before"); err != nil || p != "Write a letter." {
		t.Errorf("before the push: %q, %v", p, err)
	}
	pushed, err := one.Copies.PushPolicies(ctx, ruled())
	if err != nil || pushed.Files != 1 || pushed.PromptFiles != 2 {
		t.Fatalf("pushed %+v: %v", pushed, err)
	}
	first, err := promptOf(ctx, one, "one")
	if err != nil || !hasRules(first) {
		t.Errorf("the host that pushed: %q, %v", first, err)
	}
	if p, err := promptOf(ctx, other, "other"); err != nil || p != first {
		t.Errorf("the other host: %q, not %q, %v", p, first, err)
	}
	for _, h := range []*host.Host{one, other} {
		if files, err := h.Prompts.Files(ctx); err != nil || len(files) != 2 || files["prompt-policies/no-keys.yaml"] != noKeys {
			t.Errorf("in force are %v, %v", files, err)
		}
	}
	changed := ruled()
	changed["prompt-policies/no-keys.yaml"] = "payload: Never repeat a password.\n"
	next, err := other.Copies.PushPolicies(ctx, changed)
	if err != nil || next.Digest == pushed.Digest {
		t.Fatalf("pushed %+v: %v", next, err)
	}
	if p, err := promptOf(ctx, one, "changed"); err != nil || !strings.Contains(p, "password") || strings.Contains(p, "Never repeat a key.") {
		t.Errorf("after another push: %q, %v", p, err)
	}
	if _, err := one.Copies.PushPolicies(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if p, err := promptOf(ctx, other, "after"); err != nil || p != "Write a letter." {
		t.Errorf("after a push without them: %q, %v", p, err)
	}
}

// TestPromptFiles_OfTheDataFolderMustBeThePushed: a host of a shared store whose data folder has
// other files isn't ready and makes no prompt, and is ready again without a restart.
func TestPromptFiles_OfTheDataFolderMustBeThePushed(t *testing.T) {
	ctx := core.WithCaller(t.Context(), core.Operator("ada"))
	both := map[string]string{"prompt-policies/no-keys.yaml": noKeys, "role-mixes/cooks.yaml": twoCooks}
	for name, c := range map[string]struct {
		data, pushed map[string]string
		ready        bool
	}{
		"no file anywhere":            {nil, nil, true},
		"only pushed ones":            {nil, both, true},
		"the pushed ones":             {both, both, true},
		"one folder of the two":       {map[string]string{"role-mixes/cooks.yaml": twoCooks}, both, true},
		"no policy, but a note":       {map[string]string{"prompt-policies/notes.txt": "x", "role-mixes/.swp.yaml": "x"}, both, true},
		"a policy nobody pushed":      {map[string]string{"prompt-policies/no-keys.yaml": noKeys}, nil, false},
		"a role mix nobody pushed":    {map[string]string{"role-mixes/cooks.yaml": twoCooks}, nil, false},
		"another text":                {map[string]string{"prompt-policies/no-keys.yaml": "payload: Never.\n"}, both, false},
		"another text of a role mix":  {map[string]string{"role-mixes/cooks.yaml": twoCooks + "description: ours\n"}, both, false},
		"one more":                    {map[string]string{"prompt-policies/no-keys.yaml": noKeys, "prompt-policies/more.yaml": noKeys}, both, false},
		"one less":                    {map[string]string{"prompt-policies/b.yaml": noKeys}, map[string]string{"prompt-policies/a.yaml": noKeys, "prompt-policies/b.yaml": noKeys}, false},
		"another name":                {map[string]string{"prompt-policies/keys.yaml": noKeys}, both, false},
		"an ending that YAML has too": {map[string]string{"prompt-policies/no-keys.yml": noKeys}, both, false},
		"a comment more":              {map[string]string{"prompt-policies/no-keys.yaml": "# ours\n" + noKeys}, both, false},
		"a broken file":               {map[string]string{"prompt-policies/no-keys.yaml": "payloads: x"}, both, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := mem.Open()
			h := open(t, host.Config{Store: s, Shared: true, Settings: dataWith(t, c.data)})
			if _, err := h.Copies.PushPolicies(ctx, c.pushed); err != nil {
				t.Fatal(err)
			}
			if err := h.Ready(ctx); err != nil {
				t.Fatal(err) // the operator must be able to push
			}
			_, built := promptOf(ctx, h, "s")
			_, _, hybrid := h.Injections.Roles.Mix(ctx, nil, inject.SessionState{}, &policypoint.InjectionOutcome{Mode: "hybrid"})
			if hybrid != nil && built == nil {
				built = hybrid
			}
			for what, err := range map[string]error{"ready": h.Unready(), "a prompt": built} {
				if (err == nil) != c.ready || err != nil && sdk.ReasonOf(err) != "prompt_files_differ" {
					t.Errorf("%s: %v", what, err)
				}
			}
			for _, dir := range []string{host.PromptPolicyDir, host.RoleMixDir} {
				if err := os.RemoveAll(filepath.Join(h.Config.Settings.DataDir.Value, dir)); err != nil {
					t.Fatal(err)
				}
			}
			if err := h.Unready(); err != nil {
				t.Errorf("without them: %v", err)
			}
			if _, err := promptOf(ctx, h, "s"); err != nil {
				t.Errorf("without them: %v", err)
			}
		})
	}
}

// TestPolicyPush_RefusesFilesForPrompts that couldn't be used, all at once.
func TestPolicyPush_RefusesFilesForPrompts(t *testing.T) {
	ctx := core.WithCaller(t.Context(), core.Operator("ada"))
	h := open(t, host.Config{Store: mem.Open(), Shared: true})
	for name, c := range map[string]struct {
		files map[string]string
		says  []string
	}{
		"no payload":         {map[string]string{"prompt-policies/a.yaml": "payloads: x\n"}, []string{"prompt-policies/a.yaml", "payload"}},
		"two of them":        {map[string]string{"prompt-policies/a.yaml": "- x\n", "role-mixes/b.yaml": "profile_id: B\n"}, []string{"prompt-policies/a.yaml", "role-mixes/b.yaml"}},
		"with a policy":      {map[string]string{"prompt-policies/a.yaml": "x", "gate/a.yaml": "rule: {}"}, []string{"prompt-policies/a.yaml", "gate/a.yaml"}},
		"a taken profile":    {map[string]string{"role-mixes/a.yaml": strings.Replace(twoCooks, "two_cooks", "debug_reflection", 1)}, []string{"role-mixes", "debug_reflection"}},
		"one profile twice":  {map[string]string{"role-mixes/a.yaml": twoCooks, "role-mixes/b.yaml": twoCooks}, []string{"two_cooks"}},
		"no YAML":            {map[string]string{"prompt-policies/a.txt": noKeys}, []string{"prompt-policies/a.txt"}},
		"a folder in it":     {map[string]string{"prompt-policies/a/b.yaml": noKeys}, []string{"prompt-policies/a/b.yaml"}},
		"out of the folder":  {map[string]string{"prompt-policies/../x.yaml": noKeys}, []string{"x.yaml"}},
		"a hidden file":      {map[string]string{"prompt-policies/.a.yaml": noKeys}, []string{".a.yaml"}},
		"a misspelt folder":  {map[string]string{"prompt-policy/a.yaml": noKeys}, []string{"prompt-policies"}},
		"more than a prompt": {map[string]string{"prompt-policies/a.yaml": "payload: " + strings.Repeat("x", 65<<10)}, []string{"prompt-policies/a.yaml"}},
		"not UTF-8":          {map[string]string{"prompt-policies/a.yaml": "payload: \xff\n"}, []string{"prompt-policies/a.yaml"}},
	} {
		_, err := h.Copies.PushPolicies(ctx, c.files)
		if sdk.ReasonOf(err) != "policy_invalid" {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, part := range c.says {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q isn't in %v", name, part, err)
			}
		}
		if _, ok := sdk.AsError(err).Details["problems"].([]format.Problem); !ok {
			t.Errorf("%s: no problems in %+v", name, err)
		}
	}
	if active, err := h.Policies.Active(); err != nil || active.Epoch != 0 {
		t.Errorf("%+v is in force: %v", active, err)
	}
}

// TestPromptFiles_OfThePolicyFolder are in force next to the data folder's.
func TestPromptFiles_OfThePolicyFolder(t *testing.T) {
	ctx := core.WithCaller(t.Context(), core.Operator("ada"))
	dir := t.TempDir()
	writeTexts(t, dir+"/policies", ruled())
	c, err := config.Load(config.Sources{Folder: dir, Flags: map[string]string{"data-dir": dir + "/data", "policy-dir": dir + "/policies"}})
	if err != nil {
		t.Fatal(err)
	}
	writeTexts(t, c.DataDir.Value, map[string]string{"prompt-policies/tone.yaml": "payload: Be brief.\n", "prompt-policies/no-keys.yaml": noKeys})
	h := open(t, host.Config{Settings: c, Store: mem.Open()})
	if p, err := promptOf(ctx, h, "s"); err != nil || !hasRules(p) || !strings.Contains(p, "Be brief.") || strings.Count(p, "Never repeat") != 1 {
		t.Errorf("the prompt is %q, %v", p, err)
	}
	if files, err := h.Prompts.Files(ctx); err != nil || len(files) != 3 {
		t.Errorf("in force are %v, %v", files, err)
	}
	writeTexts(t, c.DataDir.Value, map[string]string{"prompt-policies/no-keys.yaml": "payload: Keys are fine.\n"})
	if _, err := promptOf(ctx, h, "t"); sdk.ReasonOf(err) != "prompt_files_differ" {
		t.Errorf("two texts of a file: %v", err)
	}
}

// TestRestore_HasThePromptRules: a prompt of a host that was restored from a backup of everything
// has the rules of the host that was backed up.
func TestRestore_HasThePromptRules(t *testing.T) {
	ctx := core.WithCaller(t.Context(), core.Operator("ada"))
	files := ruled()
	delete(files, "injection/all.yaml")
	of := dataWith(t, files)
	writeTexts(t, of.PolicyDir.Value, map[string]string{"injection/all.yaml": cooking})
	h := open(t, host.Config{Settings: of})
	want, err := promptOf(ctx, h, "s")
	if err != nil || !hasRules(want) {
		t.Fatalf("the prompt is %q, %v", want, err)
	}
	to := filepath.Join(t.TempDir(), "backup")
	if left, err := h.Storage.Backup(ctx, to, true); err != nil || len(left) > 0 {
		t.Fatalf("left out %v, %v", left, err)
	}
	elsewhere := settings(t)
	if err := host.Restore(ctx, elsewhere, to, false); err != nil {
		t.Fatal(err)
	}
	restored := open(t, host.Config{Settings: elsewhere})
	if got, err := promptOf(ctx, restored, "t"); err != nil || got != want {
		t.Errorf("the prompt is %q, not %q: %v", got, want, err)
	}
}

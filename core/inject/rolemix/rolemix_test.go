package rolemix

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

const own = `profile_id: two_cooks
roles:
  - role: Cook
    objectives: [Taste it., Serve it hot.]
    constraints:
      - {key: salt, text: Salt at the end.}
      - {key: knife, text: Cut away from yourself., hard: true}
      - Wash up.
  - role: Baker
    objectives: [Serve it hot.]
    constraints:
      - {key: salt, text: Weigh the salt., hard: true}
      - {key: knife, text: Use a bread knife.}
      - Wash up.
weights: [1, 2]
constraints:
  - {key: fire, text: Never leave the fire alone., hard: true}
`

func read(t *testing.T, text string) *Profile {
	t.Helper()
	p, err := Read("own.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestMerge follows each rule: hard first, then weight, role and text; equal ones once; of
// two with a key the hard one, then the heavier.
func TestMerge(t *testing.T) {
	got := read(t, own).Merge()
	want := &Merged{
		Hard: []Constraint{
			{"fire", "Never leave the fire alone.", true}, {"salt", "Weigh the salt.", true}, {"knife", "Cut away from yourself.", true},
		},
		Soft:       []Constraint{{"", "Wash up.", false}},
		Objectives: []string{"Serve it hot.", "Taste it."},
		Conflicts: []inject.RoleConflict{
			{Key: "knife", Kept: "Cut away from yourself.", Dropped: "Use a bread knife."},
			{Key: "salt", Kept: "Weigh the salt.", Dropped: "Salt at the end."},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("merged (-want +got):\n%s", diff)
	}
}

// TestMerge_DoesNotDependOnTheOrderWithinARole shuffles what is written in each role.
func TestMerge_DoesNotDependOnTheOrderWithinARole(t *testing.T) {
	want := read(t, own).Merge()
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		p := read(t, own)
		for _, r := range p.Roles {
			random.Shuffle(len(r.Constraints), func(i, j int) { r.Constraints[i], r.Constraints[j] = r.Constraints[j], r.Constraints[i] })
			random.Shuffle(len(r.Objectives), func(i, j int) { r.Objectives[i], r.Objectives[j] = r.Objectives[j], r.Objectives[i] })
		}
		if diff := cmp.Diff(want, p.Merge()); diff != "" {
			t.Fatalf("another order (-want +got):\n%s", diff)
		}
	}
}

// TestMix_IsAllInTheSnapshot: what each shipped profile and an operator's asks for.
func TestMix_IsAllInTheSnapshot(t *testing.T) {
	m := &Mixer{Files: func(context.Context) (map[string]string, error) {
		return map[string]string{"role-mixes/own.yaml": own}, nil
	}}
	all, err := m.profiles(t.Context())
	if err != nil || len(all) < 7 {
		t.Fatal(len(all), err)
	}
	for _, p := range all {
		mix, _, err := m.Mix(t.Context(), &inject.Turn{}, inject.SessionState{}, &policypoint.InjectionOutcome{RoleMix: p.ProfileID})
		if err != nil {
			t.Fatal(err)
		}
		merged := p.Merge()
		want := &inject.RoleMix{
			ProfileID: p.ProfileID, Roles: p.roles(), Mode: p.Mode, Weights: p.Weights, Objectives: merged.Objectives, Conflicts: merged.Conflicts,
			ActivationReason: mix.ActivationReason,
		}
		for _, c := range append(merged.Hard, merged.Soft...) {
			want.Constraints = append(want.Constraints, inject.RoleConstraint{Key: c.Key, Text: c.Text, Hard: c.Hard})
		}
		if diff := cmp.Diff(want, mix); diff != "" || mix.Mode == "" || len(mix.Weights) != len(mix.Roles) || len(mix.Constraints) == 0 || len(mix.Objectives) == 0 {
			t.Errorf("%s (-want +got):\n%s", p.ProfileID, diff)
		}
	}
}

// TestShipped: there are six, and each makes two blocks that the injection takes.
func TestShipped(t *testing.T) {
	all, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, p := range all {
		ids = append(ids, p.ProfileID)
		mix, drafts, err := (&Mixer{}).Mix(t.Context(), &inject.Turn{}, inject.SessionState{}, &policypoint.InjectionOutcome{RoleMix: p.ProfileID})
		if err != nil || len(drafts) != 2 || len(mix.Roles) < 2 {
			t.Errorf("%s: %+v, %v", p.ProfileID, mix, err)
			continue
		}
		if _, err := inject.NewBlocks(drafts, inject.FromHost); err != nil {
			t.Errorf("%s: %v", p.ProfileID, err)
		}
	}
	want := strings.Fields("architecture_reflection debug_reflection governance_guardian knowledge_synthesizer memory_strategist recovery_reflection")
	if slices.Sort(ids); !slices.Equal(ids, want) {
		t.Errorf("shipped are %v", ids)
	}
}

// TestMix_Chooses: the policy's profile with its reason, else hybrid's by the turn before.
func TestMix_Chooses(t *testing.T) {
	m := &Mixer{Files: func(context.Context) (map[string]string, error) {
		return map[string]string{"role-mixes/own.yaml": own}, nil
	}}
	for _, c := range []struct {
		chosen      policypoint.InjectionOutcome
		failure     string
		id, because string
	}{
		{policypoint.InjectionOutcome{Mode: "classified"}, "timeout", "", ""},
		{policypoint.InjectionOutcome{Mode: "hybrid"}, "timeout", AfterFailure, "timeout"},
		{policypoint.InjectionOutcome{Mode: "hybrid"}, "", Otherwise, "didn't fail"},
		{policypoint.InjectionOutcome{Mode: "classified", RoleMix: "two_cooks", Decision: policypoint.Decision{Rule: "kitchen"}}, "", "two_cooks", "rule kitchen"},
		{policypoint.InjectionOutcome{Mode: "hybrid", RoleMix: "debug_reflection", Decision: policypoint.Decision{Rule: "r", Explanation: "it failed twice"}}, "other", "debug_reflection", "it failed twice"},
	} {
		mix, drafts, err := m.Mix(context.Background(), &inject.Turn{}, inject.SessionState{FailureClass: c.failure}, &c.chosen)
		switch {
		case err != nil:
			t.Errorf("%+v: %v", c.chosen, err)
		case c.id == "":
			if mix != nil || drafts != nil {
				t.Errorf("%+v gives %+v", c.chosen, mix)
			}
		case mix.ProfileID != c.id || !strings.Contains(mix.ActivationReason, c.because):
			t.Errorf("%+v gives %+v", c.chosen, mix)
		}
	}
	_, _, err := m.Mix(t.Context(), &inject.Turn{}, inject.SessionState{}, &policypoint.InjectionOutcome{RoleMix: "debug_reflections"})
	if sdk.ReasonOf(err) != "role_mix_not_found" {
		t.Error(err)
	}
	if _, err := WithShipped(map[string]string{"own.yaml": own, "twice.yaml": own}); sdk.ReasonOf(err) != "role_mix_taken" {
		t.Error(err)
	}
}

// TestRead_SaysAllThatIsWrong, with its place.
func TestRead_SaysAllThatIsWrong(t *testing.T) {
	_, err := Read("bad.yaml", `profile_id: Bad id
mode: single
roles:
  - role: A
    objectives: [""]
    wishes: []
  - {role: A, constraints: [{key: k, hard: true}, 7]}
weights: [1, -1, x]
colour: red
`)
	if sdk.ReasonOf(err) != "role_mix_invalid" {
		t.Fatal(err)
	}
	for _, want := range []string{
		"bad.yaml:1:13", "bad.yaml:2:7", "wishes", "an objective must be a text", "the role A is there twice", "text", "a constraint must be",
		"3 weights for 2 roles", "at least 0", "colour",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("there is nothing about %q in\n%v", want, err)
		}
	}
}

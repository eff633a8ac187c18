package rolemix

import (
	"context"
	"embed"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

//go:embed profiles/*.yaml
var shippedFiles embed.FS

// The profiles that hybrid takes if the policy names none: after a failure, and else.
const (
	AfterFailure = "recovery_reflection"
	Otherwise    = "memory_strategist"
)

// The priorities of a mix's blocks.
const (
	hardPriority = 1000
	softPriority = 500
)

// Shipped are the profiles that come with the program, by id.
func Shipped() ([]*Profile, error) {
	names, err := fs.Glob(shippedFiles, "profiles/*.yaml")
	files := map[string]string{}
	for _, name := range names {
		text, err := shippedFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files[name] = string(text)
	}
	if err != nil {
		return nil, err
	}
	return readAll(files)
}

// Mixer makes mixes of roles. It is safe for concurrent use.
type Mixer struct {
	// Files are the operator's profiles, one in each file; nil has none. They are read for each
	// mix, so that a change needs no restart.
	Files inject.Files
}

var _ inject.RoleMixer = (*Mixer)(nil)

// profiles are the shipped and the operator's profiles, by id.
func (m *Mixer) profiles(ctx context.Context) ([]*Profile, error) {
	if m.Files == nil {
		return Shipped()
	}
	files, err := m.Files(ctx)
	if err != nil {
		return nil, err
	}
	return WithShipped(files)
}

// WithShipped are the shipped profiles and an operator's, sorted by id. A file that has the id of
// another profile is refused: sdk.Conflict, reason "role_mix_taken".
func WithShipped(files map[string]string) ([]*Profile, error) {
	all, err := Shipped()
	if err != nil {
		return nil, err
	}
	own, err := readAll(files)
	if err != nil {
		return nil, err
	}
	for _, p := range own {
		if slices.ContainsFunc(all, func(before *Profile) bool { return before.ProfileID == p.ProfileID }) {
			return nil, sdk.Errorf(sdk.Conflict, "role_mix_taken", "there are two profiles %s", p.ProfileID).
				WithHint("give the profile in the folder role-mixes another profile_id").WithDetail("profile_id", p.ProfileID)
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *Profile) int { return strings.Compare(a.ProfileID, b.ProfileID) })
	return all, nil
}

// readAll reads profiles, sorted by the names of their files.
func readAll(files map[string]string) (list []*Profile, err error) {
	var problems []document.Problem
	for _, name := range slices.Sorted(maps.Keys(files)) {
		p, found := parse(name, files[name])
		list, problems = append(list, p), append(problems, found...)
	}
	return list, document.Invalid(invalidReason, problems)
}

// Mix implements [inject.RoleMixer]. The profile is the policy's, or, under hybrid, the one
// for the turn before. For a profile that doesn't exist, the error is sdk.NotFound, reason
// "role_mix_not_found".
func (m *Mixer) Mix(ctx context.Context, _ *inject.Turn, state inject.SessionState, chosen *policypoint.InjectionOutcome) (*inject.RoleMix, []inject.Draft, error) {
	id, reason := chosen.RoleMix, because(chosen)
	if id == "" {
		if inject.Mode(chosen.Mode) != inject.Hybrid {
			return nil, nil, nil
		}
		id, reason = Otherwise, "mode hybrid without a profile, after a turn that didn't fail"
		if state.FailureClass != "" {
			id, reason = AfterFailure, "mode hybrid without a profile, after a failure: "+state.FailureClass
		}
	}
	all, err := m.profiles(ctx)
	if err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(all, func(p *Profile) bool { return p.ProfileID == id })
	if i < 0 {
		return nil, nil, notFound(id, all)
	}
	p := all[i]
	merged := p.Merge()
	mix := &inject.RoleMix{
		ProfileID: p.ProfileID, Roles: p.roles(), Mode: p.Mode, Weights: p.Weights, Objectives: merged.Objectives,
		ActivationReason: reason, Conflicts: merged.Conflicts,
	}
	for _, c := range slices.Concat(merged.Hard, merged.Soft) {
		mix.Constraints = append(mix.Constraints, inject.RoleConstraint(c))
	}
	return mix, merged.blocks(p), nil
}

// because is why the policy chose a profile.
func because(chosen *policypoint.InjectionOutcome) string {
	d := &chosen.Decision
	switch {
	case d.Explanation != "":
		return d.Explanation
	case d.Rule != "":
		return "rule " + d.Rule
	}
	return "the policy " + d.File
}

func notFound(id string, all []*Profile) error {
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.ProfileID
	}
	return sdk.Errorf(sdk.NotFound, "role_mix_not_found", "the injection policy names the role mix %s, which doesn't exist", core.Cut(id)).
		WithHint("%s", sdk.DidYouMean(id, names, "")).WithDetail("profile_id", core.Cut(id)).WithDetail("profiles", names)
}

// blocks are the hard constraints, which are never cut, and the rest.
func (m *Merged) blocks(p *Profile) (drafts []inject.Draft) {
	hard, soft := hardPriority, softPriority
	if len(m.Hard) > 0 {
		drafts = append(drafts, inject.Draft{
			BlockID: "role_mix:hard", Category: inject.PolicyText, Priority: &hard, Source: "role_mix/" + p.ProfileID,
			Payload: lines("These must be kept:", texts(m.Hard)), Anchor: true, Stable: true,
		})
	}
	rest := "You take these roles: " + strings.Join(p.roles(), ", ") + "."
	if len(m.Objectives) > 0 {
		rest += "\n" + lines("Objectives:", m.Objectives)
	}
	if len(m.Soft) > 0 {
		rest += "\n" + lines("Keep to these where you can:", texts(m.Soft))
	}
	return append(drafts, inject.Draft{
		BlockID: "role_mix:rest", Category: inject.Workflow, Priority: &soft, Source: "role_mix/" + p.ProfileID, Payload: rest,
	})
}

func texts(list []Constraint) []string {
	all := make([]string, len(list))
	for i, c := range list {
		all[i] = c.Text
	}
	return all
}

// lines is a list below its title.
func lines(title string, list []string) string {
	return title + "\n- " + strings.Join(list, "\n- ")
}

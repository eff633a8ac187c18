package rolemix

import (
	"cmp"
	"slices"

	"github.com/reflectory/reflectory/core/inject"
)

// Profile is a mix of roles.
type Profile struct {
	// ProfileID is what a policy calls it: 1 to 64 of a-z 0-9 and _, beginning with a
	// letter.
	ProfileID string `json:"profile_id"`
	// Description describes in a line what it is for.
	Description string `json:"description,omitempty"`
	// Mode is the mode that it is made for: hybrid, the default, or classified.
	Mode inject.Mode `json:"mode"`
	// Roles are in the order of their importance where weights are equal.
	Roles []Role `json:"roles"`
	// Weights are how much each role counts: as many as roles, all 1 by default.
	Weights []float64 `json:"weights"`
	// Constraints hold for all roles, and count as much as the heaviest one.
	Constraints []Constraint `json:"constraints,omitempty"`
}

// Role is one of the roles of a profile.
type Role struct {
	Role        string       `json:"role"`
	Objectives  []string     `json:"objectives,omitempty"`
	Constraints []Constraint `json:"constraints,omitempty"`
}

// Constraint is something that a role must or should keep to.
type Constraint struct {
	// Key names what it is about: of two with the same key only one can hold. "" is about
	// nothing else.
	Key  string `json:"key,omitempty"`
	Text string `json:"text"`
	// Hard is whether it must be kept, and so is never cut from a prompt.
	Hard bool `json:"hard,omitempty"`
}

// Merged is what a profile asks for, each thing once, in order.
type Merged struct {
	Hard, Soft []Constraint
	Objectives []string
	// Conflicts are the constraints that gave way to others with the same key.
	Conflicts []inject.RoleConflict
}

// weighted is a constraint or an objective, with what decides its place.
type weighted struct {
	Constraint
	weight float64
	role   int
}

// Merge makes one list of what the profile's roles ask for.
func (p *Profile) Merge() *Merged {
	var constraints, objectives []weighted
	for _, c := range p.Constraints {
		constraints = append(constraints, weighted{c, slices.Max(p.Weights), -1})
	}
	for i, r := range p.Roles {
		for _, c := range r.Constraints {
			constraints = append(constraints, weighted{c, p.Weights[i], i})
		}
		for _, text := range r.Objectives {
			objectives = append(objectives, weighted{Constraint{Text: text}, p.Weights[i], i})
		}
	}
	m := &Merged{}
	kept := map[string]string{} // texts by key
	for _, c := range once(constraints) {
		if before, taken := kept[c.Key]; c.Key != "" && taken {
			m.Conflicts = append(m.Conflicts, inject.RoleConflict{Key: c.Key, Kept: before, Dropped: c.Text})
			continue
		}
		kept[c.Key] = c.Text
		if c.Hard {
			m.Hard = append(m.Hard, c.Constraint)
		} else {
			m.Soft = append(m.Soft, c.Constraint)
		}
	}
	for _, o := range once(objectives) {
		m.Objectives = append(m.Objectives, o.Text)
	}
	return m
}

// once sorts wishes, and leaves out those whose text came before.
func once(list []weighted) []weighted {
	hard := func(w weighted) int {
		if w.Hard {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b weighted) int {
		return cmp.Or(hard(a)-hard(b), cmp.Compare(b.weight, a.weight), a.role-b.role, cmp.Compare(a.Text, b.Text))
	})
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(w weighted) bool {
		before := seen[w.Text]
		seen[w.Text] = true
		return before
	})
}

// roles are the names of the profile's roles.
func (p *Profile) roles() []string {
	names := make([]string, len(p.Roles))
	for i, r := range p.Roles {
		names[i] = r.Role
	}
	return names
}

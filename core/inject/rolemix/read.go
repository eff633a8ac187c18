package rolemix

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/inject"
)

// The bounds of a profile's file: nobody writes more by hand, and all of it goes into a
// prompt.
const (
	maxDepth     = 10
	maxRoles     = 16
	maxWishes    = 32  // objectives, or constraints, of one role
	maxTextRunes = 500 // of a text
	maxNameBytes = 64
)

// Read reads a profile's YAML. Everything that is wrong is reported together, as
// sdk.Invalid, reason "role_mix_invalid", with the detail "problems".
func Read(file, text string) (*Profile, error) {
	p, problems := parse(file, text)
	return p, document.Invalid(invalidReason, problems)
}

const invalidReason = "role_mix_invalid"

func parse(file, text string) (*Profile, []document.Problem) {
	found := &document.Problems{File: file, Lines: document.Lines(text)}
	root := document.Read(text, document.Limits{Bytes: inject.MaxFileBytes, Depth: maxDepth}, found)
	if root == nil {
		return nil, found.List()
	}
	r := reader{found.Mapping(root, "the profile")}
	p := &Profile{Mode: inject.Hybrid, Description: r.Text("description")}
	if id := r.Need("profile_id"); id != nil {
		p.ProfileID = id.Text
		if id.Kind != document.Text || !validID(id.Text) {
			r.Add(id.At, "", "profile_id must be 1 to %d of a-z 0-9 and _, beginning with a letter", maxNameBytes)
		}
	}
	if mode := r.Get("mode"); mode != nil {
		p.Mode = inject.Mode(mode.Text)
		if p.Mode != inject.Hybrid && p.Mode != inject.Classified {
			r.Add(mode.At, "", "mode must be hybrid or classified")
		}
	}
	p.Roles = r.roles()
	p.Weights = r.weights(len(p.Roles))
	p.Constraints = constraints(r.Reader)
	r.Done()
	return p, found.List()
}

func validID(id string) bool {
	if id == "" || len(id) > maxNameBytes || id[0] < 'a' || id[0] > 'z' {
		return false
	}
	return strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

type reader struct{ *document.Reader }

func (r reader) roles() (list []Role) {
	items := r.List("roles")
	if len(items) == 0 || len(items) > maxRoles {
		r.Add(r.Node.At, "", "roles must be a list of 1 to %d roles", maxRoles)
	}
	for _, item := range items {
		m := r.Mapping(item, "a role")
		role := Role{Constraints: constraints(m)}
		if name := m.Need("role"); name != nil {
			role.Role = text(m, name, "role")
			if slices.ContainsFunc(list, func(before Role) bool { return before.Role == role.Role }) {
				m.Add(name.At, "", "the role %s is there twice", core.Cut(role.Role))
			}
		}
		objectives := m.List("objectives")
		if len(objectives) > maxWishes {
			m.Add(item.At, "", "a role has %d objectives (limit %d)", len(objectives), maxWishes)
		}
		for _, o := range objectives {
			role.Objectives = append(role.Objectives, text(m, o, "an objective"))
		}
		m.Done()
		list = append(list, role)
	}
	return list
}

// weights are the roles' weights, all 1 if none are given.
func (r reader) weights(roles int) (list []float64) {
	items := r.List("weights")
	if items == nil {
		return slices.Repeat([]float64{1}, roles)
	}
	if len(items) != roles {
		r.Add(r.Node.At, "", "there are %d weights for %d roles", len(items), roles)
	}
	for _, item := range items {
		var weight float64
		if item.Kind != document.Number || json.Unmarshal(item.JSON(nil), &weight) != nil || weight < 0 || math.IsInf(weight, 0) {
			r.Add(item.At, "", "a weight must be a number of at least 0")
		}
		list = append(list, weight)
	}
	return list
}

// constraints reads the constraints of a role, or of the whole profile.
func constraints(r *document.Reader) (list []Constraint) {
	items := r.List("constraints")
	if len(items) > maxWishes {
		r.Add(items[maxWishes].At, "", "there are %d constraints (limit %d)", len(items), maxWishes)
	}
	for _, item := range items {
		if item.Kind == document.Text { // a soft one without a key
			list = append(list, Constraint{Text: text(r, item, "a constraint")})
			continue
		}
		m := r.Mapping(item, "a constraint")
		c := Constraint{Key: m.Text("key"), Hard: m.Flag("hard")}
		if len(c.Key) > maxNameBytes {
			m.Add(item.At, "", "a key has %d bytes (limit %d)", len(c.Key), maxNameBytes)
		}
		if t := m.Need("text"); t != nil {
			c.Text = text(m, t, "a constraint's text")
		}
		m.Done()
		list = append(list, c)
	}
	return list
}

// text reads a text that becomes one line of a prompt.
func text(r *document.Reader, n *document.Node, what string) string {
	line := strings.TrimSpace(n.Text)
	switch {
	case n.Kind != document.Text || line == "":
		r.Add(n.At, "", "%s must be a text", what)
	case utf8.RuneCountInString(line) > maxTextRunes:
		r.Add(n.At, "", "%s has %d characters (limit %d)", what, utf8.RuneCountInString(line), maxTextRunes)
	case strings.ContainsFunc(line, unicode.IsControl):
		r.Add(n.At, "", "%s must be one line", what)
	}
	return line
}

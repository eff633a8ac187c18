package policy

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy/format"
)

// Difference is a point and namespace for which two sets have different policies.
type Difference struct {
	// Point is the policy point. For a file of a [TextFolder] it is the folder's name, and the
	// namespace is "".
	Point     policypoint.Point `json:"point"`
	Namespace string            `json:"namespace"`
	Shadow    bool              `json:"shadow,omitempty"`
	// Before and After are the files; "" if there is none.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Removed and Added are the rules, or lines of a text, that only one of them has.
	Removed []string `json:"removed,omitempty"`
	Added   []string `json:"added,omitempty"`
}

// Diff lists the differences between two sets, sorted. Comments, descriptions and names
// of files are ignored.
func Diff(before, after *Set) []Difference {
	places := map[string]*Difference{}
	texts := map[string][2][]string{}
	for i, set := range []*Set{before, after} {
		for _, p := range set.files {
			key := fmt.Sprintf("%s %s %t", p.Point(), p.Namespace(), p.Shadow())
			d := places[key]
			if d == nil {
				d = &Difference{Point: p.Point(), Namespace: p.Namespace(), Shadow: p.Shadow()}
				places[key] = d
			}
			sides := texts[key]
			sides[i] = p.lines()
			texts[key] = sides
			if i == 0 {
				d.Before = p.File()
			} else {
				d.After = p.File()
			}
		}
	}
	out := []Difference{} // a list is never null
	for key, d := range places {
		sides := texts[key]
		d.Removed, d.Added = lacking(sides[0], sides[1]), lacking(sides[1], sides[0])
		if len(d.Removed)+len(d.Added) > 0 {
			out = append(out, *d)
		}
	}
	out = append(out, diffTexts(before.texts, after.texts)...)
	slices.SortFunc(out, func(a, b Difference) int {
		return strings.Compare(fmt.Sprint(a.Point, a.Namespace, a.Shadow, a.Before, a.After), fmt.Sprint(b.Point, b.Namespace, b.Shadow, b.Before, b.After))
	})
	return out
}

// diffTexts lists the files of texts that differ.
func diffTexts(before, after map[string]string) (out []Difference) {
	names := map[string]string{}
	maps.Copy(names, before)
	maps.Copy(names, after)
	for name := range names {
		old, had := before[name]
		text, has := after[name]
		if had == has && old == text {
			continue
		}
		d := Difference{Point: policypoint.Point(path.Dir(name))}
		if had {
			d.Before = name
		}
		if has {
			d.After = name
		}
		a, b := strings.Split(old, "\n"), strings.Split(text, "\n")
		d.Removed, d.Added = lacking(a, b), lacking(b, a)
		out = append(out, d)
	}
	return out
}

// lacking lists the lines that others doesn't have.
func lacking(lines, others []string) []string {
	var out []string
	for _, line := range lines {
		if !slices.Contains(others, line) {
			out = append(out, line)
		}
	}
	return out
}

// lines are the parts of a policy that decide or mask, one per line.
func (p *Policy) lines() []string {
	source := p.program.Policy()
	var lines []string
	for _, mask := range source.Mask {
		lines = append(lines, "mask "+mask.Value)
	}
	for _, name := range source.Imports {
		lines = append(lines, "import "+name.Value)
	}
	return append(lines, ruleLines(source.Rule, "")...)
}

func ruleLines(rule *format.Rule, path string) []string {
	var lines []string
	for _, v := range rule.Variables {
		lines = append(lines, fmt.Sprintf("%svariables.%s = %s", path, v.Name.Value, oneLine(v.Expression.Value)))
	}
	for _, m := range rule.Matches {
		line := m.Path
		if m.Condition != nil {
			line += " [" + oneLine(m.Condition.Value) + "]"
		}
		if m.Output != nil {
			line += " → " + oneLine(m.Output.Value)
		}
		if m.Explanation != nil {
			line += " because " + oneLine(m.Explanation.Value)
		}
		lines = append(lines, line)
		if m.Rule != nil {
			lines = append(lines, ruleLines(m.Rule, m.Path+".")...)
		}
	}
	return lines
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

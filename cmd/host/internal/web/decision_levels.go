package web

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/cmd/host/internal/web/chart"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/host/operation"
)

// A decision was close or it wasn't: that shows when its numbers are next to their limits. The
// limits are the policy's, found in its conditions, and the gate's own conditions. No limit is
// written here.

// compared are the comparisons of a match, or of the gate, with how the match ended.
type compared struct {
	By   string
	Rows []comparedRow
}

// comparedRow is a number, what it had to be, and whether it was.
type comparedRow struct {
	Name, Value, Needs string
	Met                bool
}

// signs are the operators of conditions as people write them.
var signs = map[string]string{"<": "<", "<=": "≤", ">": ">", ">=": "≥", "==": "=", "!=": "≠"}

// A policy may have any number of comparisons, and a page shows as many as a reader looks at.
const maxCompared, maxLevels, maxLimits = 60, 16, 6

// comparedIn are the comparisons of the matches that were tried, and the gate's own conditions.
func comparedIn(d *operation.Decision) (list []compared) {
	left := maxCompared
	for _, m := range d.Matches {
		if matchClasses[m.Result] == "miss" || len(m.Comparisons) == 0 || left == 0 {
			continue
		}
		by := compared{By: fmt.Sprintf("%s: %s", m.Path, matchWords[m.Result])}
		for _, c := range m.Comparisons[:min(len(m.Comparisons), left)] {
			needs := signs[c.Op] + " " + quantity(c.Limit)
			if c.LimitName != "" {
				needs += ", the " + words(c.LimitName)
			}
			by.Rows = append(by.Rows, comparedRow{termFor(c.Name).Word, quantity(c.Value), needs, c.Holds})
		}
		left -= len(by.Rows)
		list = append(list, by)
	}
	if d.Gate == nil || len(d.Gate.Decision.Conditions) == 0 {
		return list
	}
	made := d.Gate.Decision
	own := compared{By: "The gate’s own conditions: met"}
	if made.Intended != "" {
		own.By = fmt.Sprintf("The gate’s own conditions: not met, so instead of %s it decided %s", made.Intended, made.Verdict)
	}
	for _, c := range made.Conditions {
		own.Rows = append(own.Rows, comparedRow{termFor(c.Name).Word, quantity(c.Have), "≥ " + quantity(c.Need), c.Met})
	}
	return append(list, own)
}

// levelsOf draws the numbers from 0 to 1: the gate's lanes, what the policy makes of them and the
// confidence, and whatever else a condition compares with a limit between 0 and 1.
func levelsOf(d *operation.Decision) *chart.Chart {
	limits, values, order := limitsOf(d)
	var levels []chart.Level
	drawn := map[string]bool{}
	add := func(name string, value float64, note string, own ...chart.Limit) {
		drawn[name] = true
		levels = append(levels, chart.Level{Name: termFor(name).Word, Value: value, Note: note, Class: chart.Accent, Limits: append(own, limits[name]...)})
	}
	if d.Gate != nil {
		for _, lane := range d.Gate.Lanes {
			add(lane.Name, lane.Score, partsOf(lane.Parts))
		}
		add("utility", d.Gate.Utility, d.Gate.Decision.Workings.Figure("utility").Expression)
		confidence, of := d.Gate.Decision.Confidence, d.Gate.Decision.Verdict
		if intended := d.Gate.Decision.Intended; intended != "" {
			confidence, of = d.Gate.Decision.IntendedConfidence, intended
		}
		var need []chart.Limit
		for _, c := range d.Gate.Decision.Conditions {
			if c.Name == "confidence" {
				need = append(need, chart.Limit{Op: "≥", Value: c.Need, Met: c.Met})
			}
		}
		add("confidence", confidence, "of the verdict "+of, need...)
	}
	for _, name := range order {
		if !drawn[name] {
			add(name, values[name], "")
		}
	}
	if len(levels) == 0 {
		return nil
	}
	c := chart.Levels("Evidence", levels[:min(len(levels), maxLevels)])
	return &c
}

// limitsOf are the limits between 0 and 1 in matches, by the names of what they limit, with the
// names' values and their order.
func limitsOf(d *operation.Decision) (limits map[string][]chart.Limit, values map[string]float64, order []string) {
	limits, values = map[string][]chart.Limit{}, map[string]float64{}
	for _, m := range d.Matches {
		for _, c := range m.Comparisons {
			name, n := line(c.Name, 60), chart.Limit{Op: signs[c.Op], Value: c.Limit, Met: c.Holds}
			if c.Limit <= 0 || c.Limit >= 1 || c.Value < 0 || c.Value > 1 || len(limits[name]) == maxLimits || slices.Contains(limits[name], n) {
				continue
			}
			if limits[name] == nil {
				order = append(order, name)
			}
			limits[name], values[name] = append(limits[name], n), c.Value
		}
	}
	return limits, values, order
}

// partsOf are the numbers of which a lane is made, without those that are absent or 0.
func partsOf(parts []gate.Explained) string {
	var texts []string
	for _, p := range parts {
		text := line(fmt.Sprint(p.Value), 40)
		switch v := p.Value.(type) {
		case float64:
			text = quantity(v)
		case bool:
			text = map[bool]string{true: "yes"}[v]
		case nil:
			text = ""
		}
		if text != "" && text != "0" {
			texts = append(texts, strings.TrimSuffix(words(p.Name), " score")+" "+text)
		}
	}
	return strings.Join(texts, ", ")
}

// quantity is a number of a comparison: a whole one as it is, and another one to two places at
// least and four digits at most, without the 0 before its point.
func quantity(n float64) string {
	if whole := int64(n); float64(whole) == n {
		return strings.Replace(count(whole), "-", "−", 1)
	}
	sign := ""
	if n < 0 {
		sign, n = "−", -n
	}
	text := strings.TrimPrefix(strconv.FormatFloat(n, 'g', 4, 64), "0")
	if point := strings.IndexByte(text, '.'); point == len(text)-2 {
		text += "0"
	}
	return sign + text
}

// namedIn are the terms that a decision's page names, for its list that explains them.
func namedIn(d *operation.Decision) (list []operation.Term) {
	names := map[string]bool{}
	for _, m := range d.Matches {
		for _, c := range m.Comparisons {
			names[c.Name] = true
		}
	}
	for _, t := range operation.Terms() {
		gated := d.Gate != nil && slices.Contains([]string{"q", "react", "graph", "omega", "utility", "confidence"}, t.Name)
		if gated || names[t.Name] {
			list = append(list, t)
		}
	}
	return list
}

// referencesOf are the references of the lanes of a decision of the gate, as many as a reader looks
// at.
func referencesOf(d *operation.Decision) (list []string) {
	if d.Gate == nil {
		return nil
	}
	for _, lane := range d.Gate.Lanes {
		for _, ref := range lane.Refs {
			list = append(list, termFor(lane.Name).Word+": "+line(ref, 120))
		}
	}
	return list[:min(len(list), maxCompared)]
}

// words is a name in snake_case as words.
func words(name string) string { return line(strings.ReplaceAll(name, "_", " "), 60) }

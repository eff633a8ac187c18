package web

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/job"
)

// policyReplayView is what a candidate policy would have decided differently: a matrix for each
// point, and the decisions themselves.
type policyReplayView struct {
	*operation.PolicyReplayed
	Matrices []replayMatrix
	Rows     []replayChange
	// Others is how many changes there are besides the first ones, which were kept.
	Others int
}

// replayMatrix counts the changes of a point by what was decided, down, and what would be, across.
type replayMatrix struct {
	Point core.Point
	After []string
	Rows  []replayRow
}

// replayRow counts the changes of what was decided one way; 0 is none.
type replayRow struct {
	Before tag
	Counts []int
}

// replayChange is a decision that would have been another.
type replayChange struct {
	At                        time.Time
	Point                     core.Point
	Namespace, Subject, After string
	// Unmet are the conditions of the engine's that prevent it.
	Unmet      []string
	Was, Would tag
	Why        string
	// Memory is what it is about, if that is a memory.
	Memory string
}

// maxReplayRows is how many changes are listed. The result has all that were kept.
const maxReplayRows = 100

// policyReplayOf is the result of a job that replayed policies; nil of another one.
func policyReplayOf(j *job.Job) *policyReplayView {
	var asked struct {
		Operation string `json:"operation"`
	}
	found := &operation.PolicyReplayed{}
	if json.Unmarshal(j.Payload, &asked) != nil || asked.Operation != "policy_replay" || len(j.Result) == 0 || json.Unmarshal(j.Result, found) != nil || found.Replay == nil {
		return nil
	}
	v := &policyReplayView{PolicyReplayed: found, Others: found.Changed + found.Refused - len(found.Changes)}
	counts := map[core.Point]map[tag]map[string]int{}
	for _, c := range found.Changes {
		row := replayChange{At: c.At, Point: c.Point, Namespace: c.Namespace, Subject: c.Subject, After: c.FileAfter, Unmet: c.Unmet}
		row.Was, _ = outcomeOf(c.Before, nil)
		row.Would, row.Why = outcomeOf(c.After, c.Failure)
		if c.Point == core.PointGate || c.Point == core.PointRetention {
			row.Memory = c.Subject
		}
		if len(v.Rows) < maxReplayRows {
			v.Rows = append(v.Rows, row)
		}
		if counts[c.Point] == nil {
			counts[c.Point] = map[tag]map[string]int{}
		}
		if counts[c.Point][row.Was] == nil {
			counts[c.Point][row.Was] = map[string]int{}
		}
		counts[c.Point][row.Was][row.Would.Text]++
	}
	for _, point := range slices.Sorted(maps.Keys(counts)) {
		v.Matrices = append(v.Matrices, matrixOf(point, counts[point]))
	}
	return v
}

func matrixOf(point core.Point, counts map[tag]map[string]int) replayMatrix {
	m := replayMatrix{Point: point}
	for _, row := range counts {
		m.After = append(m.After, slices.Collect(maps.Keys(row))...)
	}
	slices.Sort(m.After)
	m.After = slices.Compact(m.After)
	for before, row := range counts {
		r := replayRow{Before: before}
		for _, after := range m.After {
			r.Counts = append(r.Counts, row[after])
		}
		m.Rows = append(m.Rows, r)
	}
	slices.SortFunc(m.Rows, func(a, b replayRow) int { return cmp.Compare(a.Before.Text, b.Before.Text) })
	return m
}

package web

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/policypoint"
)

// policyReplayView is what a candidate policy would have decided differently: a matrix for each
// point, and the decisions themselves.
type policyReplayView struct {
	*operation.PolicyReplayed
	Matrices []replayMatrix
	Rows     []replayChange
	// Others is how many changes there are in addition to the listed ones.
	Others int
}

// replayMatrix counts the decisions of a point: a row for each recorded outcome, and a column for
// each new outcome.
type replayMatrix struct {
	Point policypoint.Point
	After []string
	Rows  []replayRow
}

// replayRow counts the decisions with one recorded outcome.
type replayRow struct {
	Before tag
	Total  int
	Counts []replayCell
}

// replayCell is how many of a row's decisions would get a certain outcome. Same is whether they
// had this outcome before, and Changed is how many would differ, if only in a detail.
type replayCell struct {
	Count, Changed int
	Same           bool
}

// replayChange is a decision that would have been different.
type replayChange struct {
	At                        time.Time
	Point                     policypoint.Point
	Namespace, Subject, After string
	// Unmet are the host's own conditions that prevent it.
	Unmet      []string
	Was, Would tag
	Why        string
	// Memory is the subject of the decision, if that is a memory.
	Memory string
}

// maxReplayRows is how many changes are listed. The result has all changes that were kept.
const maxReplayRows = 100

// policyReplayOf is the result of a job that replayed policies; nil for another job.
func policyReplayOf(j *job.Job) *policyReplayView {
	var asked struct {
		Operation string `json:"operation"`
	}
	found := &operation.PolicyReplayed{}
	if json.Unmarshal(j.Payload, &asked) != nil || asked.Operation != "policy_replay" || len(j.Result) == 0 || json.Unmarshal(j.Result, found) != nil || found.Replay == nil {
		return nil
	}
	v := &policyReplayView{PolicyReplayed: found, Others: found.Changed + found.Refused - len(found.Changes)}
	for _, c := range found.Changes {
		row := replayChange{At: c.At, Point: c.Point, Namespace: c.Namespace, Subject: c.Subject, After: c.FileAfter, Unmet: c.Unmet}
		row.Was, _ = outcomeOf(c.Before, nil)
		row.Would, row.Why = outcomeOf(c.After, c.Failure)
		if c.Point == policypoint.Gate || c.Point == policypoint.Retention {
			row.Memory = c.Subject
		}
		if len(v.Rows) < maxReplayRows {
			v.Rows = append(v.Rows, row)
		}
	}
	for _, point := range policypoint.Points() {
		if m := matrixOf(point, found); len(m.Rows) > 0 {
			v.Matrices = append(v.Matrices, m)
		}
	}
	return v
}

// matrixOf arranges the outcomes of a point. Its rows and columns are the same words in the same
// order, so that unchanged decisions are on its diagonal.
func matrixOf(point policypoint.Point, r *operation.PolicyReplayed) replayMatrix {
	m := replayMatrix{Point: point}
	counts := map[[2]string]replayCell{}
	for _, o := range r.Outcomes {
		if o.Point == point {
			counts[[2]string{o.Before, o.After}] = replayCell{o.Count, o.Changed, o.Before == o.After}
			m.After = append(m.After, o.Before, o.After)
		}
	}
	slices.Sort(m.After)
	m.After = slices.Compact(m.After)
	for _, before := range m.After {
		row := replayRow{Before: tagOf(before)}
		for _, after := range m.After {
			cell := counts[[2]string{before, after}]
			row.Total += cell.Count
			row.Counts = append(row.Counts, cell)
		}
		if row.Total > 0 {
			m.Rows = append(m.Rows, row)
		}
	}
	return m
}

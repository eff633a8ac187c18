package reflection

import (
	"fmt"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Request describes what a reflection is to do. It is the payload of a job.
type Request struct {
	Namespace string `json:"namespace"`
	// Focus is what to reflect on, up to 500 characters; "" is anything.
	Focus string `json:"focus,omitempty"`
	// MaxInsights is how many insights and procedures are written at most, from 1 to 50; 0 is
	// [DefaultMaxInsights].
	MaxInsights int `json:"max_insights,omitempty"`
	// Force reflects on the same memories again.
	Force bool `json:"force,omitempty"`
	// DryRun writes nothing.
	DryRun bool `json:"dry_run,omitempty"`
	// About is the user that the caller named, if the job is the caller's own.
	About string `json:"about,omitempty"`
}

const (
	// DefaultMaxInsights is how many insights and procedures are written at most by default.
	DefaultMaxInsights = 5
	// MaxInsights is the most that can be asked for.
	MaxInsights = 50
	// MaxFocusChars is the longest focus.
	MaxFocusChars = 500
)

// Result is the result of a reflection.
type Result struct {
	InsightsCreated   int         `json:"insights_created"`
	ProceduresCreated int         `json:"procedures_created"`
	Insights          []Insight   `json:"insights"`
	Procedures        []Procedure `json:"procedures"`
	// MemoriesAnalyzed is how many memories the reflection was about.
	MemoriesAnalyzed int      `json:"memories_analyzed"`
	Questions        []string `json:"questions"`
	// Known counts insights that the namespace had already.
	Known int `json:"known"`
	// Refused counts the insights that couldn't be written, by the reason of the refusal.
	// Pending counts the insights that wait for an approval.
	Refused map[string]int `json:"refused"`
	Pending int            `json:"pending,omitempty"`
	// Dropped counts items that were blank, cited no given memory, or exceeded a limit.
	Dropped int       `json:"dropped"`
	Usage   sdk.Usage `json:"usage"`
	// Skipped is the reason why there was nothing to do.
	Skipped string `json:"skipped,omitempty"`
	// BudgetReached is whether it ended because its budget was used up.
	BudgetReached bool `json:"budget_reached,omitempty"`
	// DryRun is whether nothing was written.
	DryRun bool `json:"dry_run,omitempty"`
	// Unparseable is an answer that couldn't be read.
	Unparseable *Unparseable `json:"unparseable,omitempty"`
}

// Insight is a memory that a reflection wrote. A dry run gives it no id.
type Insight struct {
	MemoryID   string   `json:"memory_id,omitempty"`
	Content    string   `json:"content"`
	Question   string   `json:"question"`
	Importance float64  `json:"importance"`
	Sources    []string `json:"sources"`
}

// Procedure is a memory of steps that a reflection wrote.
type Procedure struct {
	MemoryID   string   `json:"memory_id,omitempty"`
	Title      string   `json:"title"`
	Steps      []string `json:"steps"`
	Question   string   `json:"question"`
	Importance float64  `json:"importance"`
	Sources    []string `json:"sources"`
}

// Unparseable is the digest and the first 200 characters of an answer that couldn't be
// read.
type Unparseable struct {
	Step   string `json:"step"`
	Digest string `json:"digest"`
	Begins string `json:"begins"`
}

func newResult(dry bool) *Result {
	return &Result{Insights: []Insight{}, Procedures: []Procedure{}, Questions: []string{}, Refused: map[string]int{}, DryRun: dry}
}

// created is how many were written.
func (r *Result) created() int { return r.InsightsCreated + r.ProceduresCreated }

func insufficient(found int) string {
	return fmt.Sprintf("insufficient observations (%d found, need at least %d)", found, minInput)
}

// Done is a completed reflection, with what its namespace's state needs.
type Done struct {
	*Result
	// Memories are the memories that the reflection was about.
	Memories []string
	input    *input
}

// Complete updates the namespace's state in the transaction of the job's end: the
// observations that existed when the reflection began no longer count. A skipped reflection
// only restarts the hours; a dry run changes nothing.
func (d *Done) Complete(tx core.Tx, namespace string, now time.Time) error {
	if d.DryRun {
		return nil
	}
	s, err := ReadState(tx, namespace)
	if err != nil {
		return err
	}
	now = now.UTC().Round(0)
	s.At, s.Seen = &now, max(s.Seen, d.input.Sum.Observations)
	s.Failures, s.RestUntil = 0, nil
	if d.Skipped == "" {
		at := d.input.At
		s.Taken, s.Since = d.input.Sum, &at
		s.Sources, s.SourcesAt = d.input.digest(), &now
	}
	return putState(tx, namespace, &s)
}

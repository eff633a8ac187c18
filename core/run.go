package core

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// The execution of a workflow leaves the run's record, a visit for each node that it
// finished, and an attempt for each output of a loop. Their types are here, not in
// core/run, which stores them, because the loop makes attempts, the runner makes visits,
// and the host shows both.

// AgentTurns is the name under which the turns of agents, which no run began, are counted next to the
// runs of workflows. No workflow may have it.
const AgentTurns = "reflectory/turns"

// RequestPrefix begins the names under which requests for models are runs: the model's name follows. No workflow
// may have such a name.
const RequestPrefix = "gateway/"

// Run is one execution of a workflow, as it is stored.
type Run struct {
	ID string `json:"id"`
	// Workflow is the workflow's name, or the name of its file.
	Workflow string `json:"workflow"`
	// Namespace is the run's namespace, which policies depend on. It is "" in runs that
	// are older than namespaces.
	Namespace string `json:"namespace,omitempty"`
	// Session is the session of the run's recalls; "" means that the run has its own
	// session, with the run's id as its name.
	Session string `json:"session,omitempty"`
	// Parent is the run whose model called this run's workflow as a tool; "" if there is none. What the
	// run uses, its parent has used: it isn't in the counts.
	Parent string `json:"parent,omitempty"`
	// Source is the workflow as it was started, with every file that it needs, so that a
	// run can be resumed and replayed even if the files have changed.
	Source Source `json:"source"`
	// State is the initial state: a JSON object.
	State      json.RawMessage `json:"state"`
	Status     Status          `json:"status"`
	StopReason StopReason      `json:"stop_reason,omitempty"`
	// ExhaustedLoops are the nodes of the loops that a limit stopped, in the order in which
	// they ended. A loop that the run visited several times is in it if its newest visit was
	// stopped. They are empty in runs that are older than this field.
	ExhaustedLoops []string `json:"exhausted_loops,omitempty"`
	// Score and Iterations come from the loop that decided the status, or else from the last
	// loop, for listings.
	Score      float64   `json:"score"`
	Iterations int       `json:"iterations"`
	StartedAt  time.Time `json:"started_at"`
	UpdatedAt  time.Time `json:"updated_at"`
	Usage      RunUsage  `json:"usage"`
	// Recalled is how many memories the run's turns recalled, and Used how many of them were
	// used, both for the figures over many runs. They are 0 until the run has given its
	// feedback.
	Recalled int64 `json:"-"`
	Used     int64 `json:"-"`
	// Open is what the unfinished loop had consumed, if the run ended in a loop and can
	// be resumed. It includes calls that led to no attempt, and the time since the last
	// attempt.
	Open RunUsage `json:"-"`
	// Error is the reason why the run ended with StatusError.
	Error *ErrorInfo `json:"error,omitempty"`
	// Result is the run's result, once it has ended.
	Result json.RawMessage `json:"result,omitempty"`
}

// Source is a workflow file and the files that it names.
type Source struct {
	// File is where it was read from, for messages.
	File string `json:"file"`
	// Text is the YAML.
	Text string `json:"text"`
	// Files are the files that the workflow names, by their slash-separated path
	// relative to the workflow's folder.
	Files map[string]string `json:"files,omitempty"`
	// Folder is the workflow's folder on this machine, as an absolute path, which programs may work on
	// a copy of; "" if a caller on another machine sent the workflow.
	Folder string `json:"folder,omitempty"`
}

// ReservedPrefix is the prefix of the keys in the state that only loops write.
const ReservedPrefix = "reflection_"

// Visit is one node that a run finished.
type Visit struct {
	// Number counts from 1.
	Number int    `json:"number"`
	Node   string `json:"node"`
	// Skipped is whether the node's when condition was false.
	Skipped bool `json:"skipped,omitempty"`
	// Result is what the state holds at the node; nil if skipped.
	Result json.RawMessage `json:"result,omitempty"`
	// Next is the node that follows; "" is the end.
	Next string `json:"next,omitempty"`
	// Refers are the nodes whose recalls its calls read from the state, sorted, and Used
	// the memories that its plugins reported as used.
	Refers []string `json:"refers,omitempty"`
	Used   []string `json:"used,omitempty"`
	// Given are memories that are not in Result, which its calls received by themselves.
	Given []string `json:"given,omitempty"`
	// Prompts are what its calls sent to language models. Prompts of a loop are at its attempts,
	// except of the calls that ended it with an error.
	Prompts []Prompt `json:"prompts,omitempty"`
}

// SessionID is the session of the run's recalls.
func (r *Run) SessionID() string {
	if r.Session == "" {
		return r.ID
	}
	return r.Session
}

// AttemptRecorder makes attempts durable. When a method returns nil, the record
// survives a crash.
type AttemptRecorder interface {
	// RecordOutput records an attempt that isn't judged yet.
	RecordOutput(ctx context.Context, a *Attempt) error
	// RecordVerdict records the attempt as judged.
	RecordVerdict(ctx context.Context, a *Attempt) error
}

// RunRecorder makes a run's progress durable.
type RunRecorder interface {
	// Attempts records the attempts of a visit.
	Attempts(visit int, node string) AttemptRecorder
	// RecordVisit records a finished node.
	RecordVisit(ctx context.Context, v *Visit) error
	// RecordEnd records the run's end: its status, stop reason, score, iterations, usage
	// and error. Its result is made from its recorded visits, see [Results], and from
	// open. open is the visit in which the run ended, if the run can be resumed there:
	// such a visit isn't recorded, except its prompts. It has no result if its call failed. nil
	// if there is none.
	RecordEnd(ctx context.Context, r *Run, open *Visit) error
}

// Progress is what an interrupted run has recorded.
type Progress struct {
	// Visits are the finished nodes, in order.
	Visits []Visit
	// Attempts are the attempts of the visit that was interrupted.
	Attempts []Attempt
	// Used is [Run.Open] as it was recorded.
	Used RunUsage
}

// Attempt is one output of a loop and how it was judged.
type Attempt struct {
	// Iteration counts from 1.
	Iteration int `json:"iteration"`
	// Output is the value that counts: the original output, or the one with which the
	// verdict replaced it.
	Output json.RawMessage `json:"output"`
	// Raw is the original output if the verdict replaced it, or the generator's raw reply
	// if it couldn't be used, such as a reply that isn't JSON.
	Raw json.RawMessage `json:"raw,omitempty"`
	// Role is the role that made it: sdk.RoleGenerate or sdk.RoleCorrect.
	Role sdk.Role `json:"role"`
	// Judged is whether the fields below are set: a verdict was given, or the generator
	// failed, so that none is needed.
	Judged   bool          `json:"judged"`
	Score    float64       `json:"score"`
	Valid    bool          `json:"valid"`
	Errors   []sdk.Finding `json:"errors"`
	Feedback string        `json:"feedback"`
	// Children are the verdicts of a composite evaluator's children, by name.
	Children map[string]sdk.Verdict `json:"children,omitempty"`
	// Accepted is whether the attempt passes: Valid, or the result of the loop's accept
	// rule.
	Accepted bool `json:"accepted"`
	// CorrectorError is the reason why the corrector failed to repair the previous
	// attempt, if the generator made this attempt because of that.
	CorrectorError *sdk.Finding `json:"corrector_error,omitempty"`
	// StatePatch is what a corrector in mode regenerate merged into the state
	// before this attempt was generated: a JSON object.
	StatePatch json.RawMessage `json:"state_patch,omitempty"`
	// Plugins are the versions of the loop's plugins when it was made or judged, by their names. A run that
	// is resumed after a plugin was replaced has attempts of several versions.
	Plugins map[string]string `json:"plugins,omitempty"`
	// Prompts are what the calls that made and judged it sent to language models.
	Prompts []Prompt `json:"prompts,omitempty"`
	// Usage is the usage of making and judging it.
	Usage sdk.Usage `json:"usage"`
	// ActiveMillis is how long the loop had been active when this was recorded,
	// over all resumes.
	ActiveMillis int64 `json:"active_ms"`
}

// HistoryEntry is the attempt as plugins and results show it.
func (a *Attempt) HistoryEntry() sdk.HistoryEntry {
	errors := a.Errors
	if errors == nil {
		errors = []sdk.Finding{}
	}
	return sdk.HistoryEntry{
		Iteration: a.Iteration, Output: a.Output, Raw: a.Raw, Score: a.Score,
		Valid: a.Valid, Errors: errors, Feedback: a.Feedback,
	}
}

// GeneratorFailed reports whether the attempt has no output because its generator
// produced nothing usable. No evaluator judged it.
func (a *Attempt) GeneratorFailed() bool {
	return len(a.Errors) > 0 && a.Errors[0].Type == sdk.TypeGeneratorError
}

// Status is the status of a run or a loop.
type Status string

// The statuses of runs and loops. Running, error and cancelled runs can be
// resumed.
const (
	StatusRunning   Status = "running"
	StatusPassed    Status = "passed"
	StatusExhausted Status = "exhausted"
	StatusRaised    Status = "raised"
	StatusError     Status = "error"
	StatusCancelled Status = "cancelled"
)

// StatusInterrupted is shown for a run that is stored as running, but whose program was
// killed. The run can be resumed. No run is stored with this status.
const StatusInterrupted Status = "interrupted"

// RunStatuses lists the statuses that runs are shown with.
func RunStatuses() []Status {
	return []Status{
		StatusRunning, StatusInterrupted, StatusPassed, StatusExhausted, StatusRaised, StatusError, StatusCancelled,
	}
}

// Resumable reports whether a run with this status can be resumed.
func (s Status) Resumable() bool {
	return s == StatusRunning || s == StatusInterrupted || s == StatusError || s == StatusCancelled
}

// StopReason is why a loop ended.
type StopReason string

// The reasons for a loop's end, in the order in which they are checked after
// each verdict. The last three end it with StatusError.
const (
	StopValid          StopReason = "valid"
	StopCancelled      StopReason = "cancelled"
	StopTimeout        StopReason = "timeout"
	StopBudget         StopReason = "budget"
	StopWhen           StopReason = "stop_when"
	StopPolicy         StopReason = "policy"
	StopNoProgress     StopReason = "no_progress"
	StopMaxIterations  StopReason = "max_iterations"
	StopGeneratorError StopReason = "generator_error"
	StopEvaluatorError StopReason = "evaluator_error"
	StopStoreError     StopReason = "store_error"
)

// LoopResult is what a loop returns, and the state's value for its node.
type LoopResult struct {
	RunID  string `json:"run_id,omitempty"`
	Status Status `json:"status"`
	// Valid, Score, Iteration, Output and Errors come from the attempt that became the
	// result: the attempt that passed, else the best or the last.
	Valid      bool            `json:"valid"`
	Score      float64         `json:"score"`
	Iteration  int             `json:"iteration"`
	Output     json.RawMessage `json:"output"`
	StopReason StopReason      `json:"stop_reason"`
	// Exhausted is whether a limit ended the loop.
	Exhausted bool          `json:"exhausted"`
	Errors    []sdk.Finding `json:"errors"`
	// Accepted is whether the attempt passed by the loop's own rule.
	Accepted bool `json:"accepted"`
	// Best is the best attempt, even if on_failure made another one the result.
	Best    Best               `json:"best"`
	History []sdk.HistoryEntry `json:"history"`
	Usage   RunUsage           `json:"usage"`
	// Error is the reason why the loop ended with StatusError or StatusRaised, or why it
	// is exhausted without a single output.
	Error *ErrorInfo `json:"error,omitempty"`
}

// Best identifies the best attempt: the highest score, the earliest on a tie.
type Best struct {
	Iteration int     `json:"iteration"`
	Score     float64 `json:"score"`
}

// RunUsage is what a loop or run consumed.
type RunUsage struct {
	sdk.Usage
	// WallMillis is active time, over all resumes.
	WallMillis int64 `json:"wall_ms"`
}

// Results makes a run's result from the results of its visits. The zero value is for a
// run without visits.
type Results struct {
	nodes map[string]json.RawMessage // the newest result of each node
	last  string                     // the node that ran last
}

// Add adds the next visit. A skipped visit has no result.
func (r *Results) Add(v *Visit) {
	if v.Skipped {
		return
	}
	if r.nodes == nil {
		r.nodes = map[string]json.RawMessage{}
	}
	r.nodes[v.Node], r.last = v.Result, v.Node
}

// Run is the run's result: the result of the last node that ran, with the run's id, status
// and exhausted loops, and, if there are several nodes, the results of all nodes. If the run
// is exhausted, the last node may be a loop that passed: then stop_reason and exhausted are
// the run's too, so that they don't contradict the status.
func (r *Results) Run(run *Run) json.RawMessage {
	out := []jsontext.Member{
		{Key: "run_id", Value: jsontext.MustEncode(run.ID)}, {Key: "status", Value: jsontext.MustEncode(run.Status)},
	}
	if len(run.ExhaustedLoops) > 0 {
		out = append(out, jsontext.Member{Key: "exhausted_loops", Value: jsontext.MustEncode(run.ExhaustedLoops)})
	}
	exhausted := run.Status == StatusExhausted && len(run.ExhaustedLoops) > 0
	for _, m := range jsontext.Members(r.nodes[r.last]) {
		switch {
		case m.Key == "run_id" || m.Key == "status":
			continue
		case m.Key == "stop_reason" && exhausted:
			m.Value = jsontext.MustEncode(run.StopReason)
		case m.Key == "exhausted" && exhausted:
			m.Value = jsontext.MustEncode(true)
		}
		out = append(out, m)
	}
	if len(r.nodes) > 1 {
		var nodes []jsontext.Member
		for _, name := range slices.Sorted(maps.Keys(r.nodes)) {
			nodes = append(nodes, jsontext.Member{Key: name, Value: r.nodes[name]})
		}
		out = append(out, jsontext.Member{Key: "nodes", Value: jsontext.JoinMembers(nodes)})
	}
	return jsontext.JoinMembers(out)
}

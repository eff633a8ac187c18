package plugin

import (
	"encoding/json"

	"github.com/reflectory/reflectory/core/work"
	"github.com/reflectory/reflectory/sdk"
)

// InstanceEvent is something that happened to an instance.
type InstanceEvent string

// The events of instances.
const (
	InstanceStarted InstanceEvent = "started" // it started
	InstanceExited  InstanceEvent = "exited"  // it ended by itself, or failed to start
	InstanceKilled  InstanceEvent = "killed"  // the host stopped it for a deadline, a size or a cancellation
	// InstanceReplaced is an instance that the host ended since it failed the first steps of two
	// callers, or used a processor while it was idle.
	InstanceReplaced InstanceEvent = "replaced"
	// InstanceIdleBusy is an instance that used more than a quarter of a processor for 10 s
	// without a call.
	InstanceIdleBusy InstanceEvent = "idle_busy"
)

// InstanceEvents lists all events of instances.
func InstanceEvents() []InstanceEvent {
	return []InstanceEvent{InstanceStarted, InstanceExited, InstanceKilled, InstanceReplaced, InstanceIdleBusy}
}

// report reports what happened to an instance of the pool.
func (p *pool) report(e InstanceEvent) {
	if p.options.Instances != nil {
		p.options.Instances(p.plugin.Name, e)
	}
}

// callReport is what a response of any kind reports about its call.
type callReport struct {
	usage    *sdk.Usage
	metadata map[string]string
	output   json.RawMessage
	verdict  *sdk.Verdict
}

// outcomeOf is the outcome of a call, for the observer.
func outcomeOf[R any](results []sdk.Result[R], err error, says func(*R) callReport) work.Outcome {
	if err != nil {
		return work.Outcome{Err: err}
	}
	out := work.Outcome{Results: make([]work.CallResult, len(results))}
	for i, r := range results {
		out.Results[i] = work.CallResult{Err: r.Err, Usage: sdk.UsageOf(r.Err)}
		if r.Response != nil {
			s := says(r.Response)
			out.Results[i] = work.CallResult{Err: r.Err, Usage: *s.usage, Metadata: s.metadata, Output: s.output, Verdict: s.verdict}
		}
	}
	return out
}

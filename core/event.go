package core

import (
	"time"

	"github.com/reflectory/reflectory/sdk"
)

// Event is something that happened in a run, for an observer: a terminal, a log, a web
// page. Events are delivered in order to one function, which must return soon. They hold
// content; the journal holds only digests.
type Event interface{ isEvent() }

// NodeStarted reports that a node begins.
type NodeStarted struct {
	Visit  int
	Node   string
	Action string
}

// NodeEnded reports that a node is done, or was skipped.
type NodeEnded struct {
	Visit   int
	Node    string
	Skipped bool
	Took    time.Duration
}

// IterationStarted reports that an attempt begins, and which role will make it.
type IterationStarted struct {
	Node      string
	Iteration int
	Max       int
	Role      sdk.Role
}

// OutputChunk is a piece of the text of an output that is being made, if pieces were requested.
type OutputChunk struct {
	Visit     int
	Node      string
	Iteration int
	// Offset is how many characters of the text came before. A call that is made again begins again, at 0.
	Offset int
	Text   string
}

// AttemptJudged reports that an attempt has its verdict. The attempt must not be
// changed. Took is how long the iteration was: making, recording and judging it.
type AttemptJudged struct {
	Node    string
	Attempt *Attempt
	Max     int
	Took    time.Duration
}

// CallRetried reports that a call failed temporarily and is made again.
type CallRetried struct {
	Node      string
	Iteration int
	Role      sdk.Role
	Try       int
	Wait      time.Duration
	Err       error
}

// CorrectorFailed reports that the corrector failed, so the generator runs.
type CorrectorFailed struct {
	Node      string
	Iteration int
	Err       error
}

// FeedbackFailed reports that feedback on a turn of the run failed, or that the
// workflow's graph couldn't be recorded. This doesn't affect how the run ended.
type FeedbackFailed struct{ Err error }

// PluginChanged reports that a loop goes on with another version of a plugin than its last attempt had,
// because the plugin was replaced before the run was resumed.
type PluginChanged struct{ Node, Plugin, Was, Now string }

// LoopEnded reports that a loop is over.
type LoopEnded struct {
	Node   string
	Result *LoopResult
}

func (NodeStarted) isEvent()      {}
func (NodeEnded) isEvent()        {}
func (IterationStarted) isEvent() {}
func (OutputChunk) isEvent()      {}
func (AttemptJudged) isEvent()    {}
func (CallRetried) isEvent()      {}
func (CorrectorFailed) isEvent()  {}
func (LoopEnded) isEvent()        {}
func (FeedbackFailed) isEvent()   {}
func (PluginChanged) isEvent()    {}

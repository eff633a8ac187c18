package client

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// eventData is an event of a run as JSON: only the field for its type is set.
type eventData struct {
	NodeStarted      *core.NodeStarted      `json:"node_started,omitempty"`
	NodeEnded        *core.NodeEnded        `json:"node_ended,omitempty"`
	IterationStarted *core.IterationStarted `json:"iteration_started,omitempty"`
	OutputChunk      *core.OutputChunk      `json:"output_chunk,omitempty"`
	AttemptJudged    *core.AttemptJudged    `json:"attempt_judged,omitempty"`
	LoopEnded        *core.LoopEnded        `json:"loop_ended,omitempty"`
	CallRetried      *failedCall            `json:"call_retried,omitempty"`
	CorrectorFailed  *failedCall            `json:"corrector_failed,omitempty"`
	FeedbackFailed   *failedCall            `json:"feedback_failed,omitempty"`
	PluginChanged    *core.PluginChanged    `json:"plugin_changed,omitempty"`
}

// failedCall is an event with an error.
type failedCall struct {
	Node      string        `json:"node,omitempty"`
	Iteration int           `json:"iteration,omitempty"`
	Role      sdk.Role      `json:"role,omitempty"`
	Try       int           `json:"try,omitempty"`
	Wait      time.Duration `json:"wait,omitempty"`
	Error     *ErrorData    `json:"error"`
}

// EncodeEvent is an event as JSON.
func EncodeEvent(e core.Event) ([]byte, error) {
	var d eventData
	switch e := e.(type) {
	case core.NodeStarted:
		d.NodeStarted = &e
	case core.NodeEnded:
		d.NodeEnded = &e
	case core.IterationStarted:
		d.IterationStarted = &e
	case core.OutputChunk:
		d.OutputChunk = &e
	case core.AttemptJudged:
		d.AttemptJudged = &e
	case core.LoopEnded:
		d.LoopEnded = &e
	case core.CallRetried:
		d.CallRetried = &failedCall{e.Node, e.Iteration, e.Role, e.Try, e.Wait, NewErrorData(e.Err)}
	case core.CorrectorFailed:
		d.CorrectorFailed = &failedCall{Node: e.Node, Iteration: e.Iteration, Error: NewErrorData(e.Err)}
	case core.FeedbackFailed:
		d.FeedbackFailed = &failedCall{Error: NewErrorData(e.Err)}
	case core.PluginChanged:
		d.PluginChanged = &e
	default:
		return nil, fmt.Errorf("an event of type %T has no JSON", e)
	}
	return jsontext.Encode(d)
}

// DecodeEvent reads what [EncodeEvent] wrote.
func DecodeEvent(data []byte) (core.Event, error) {
	var d eventData
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	switch {
	case d.NodeStarted != nil:
		return *d.NodeStarted, nil
	case d.NodeEnded != nil:
		return *d.NodeEnded, nil
	case d.IterationStarted != nil:
		return *d.IterationStarted, nil
	case d.OutputChunk != nil:
		return *d.OutputChunk, nil
	case d.AttemptJudged != nil:
		return *d.AttemptJudged, nil
	case d.LoopEnded != nil:
		return *d.LoopEnded, nil
	case d.CallRetried != nil:
		e := d.CallRetried
		return core.CallRetried{Node: e.Node, Iteration: e.Iteration, Role: e.Role, Try: e.Try, Wait: e.Wait, Err: e.Error.Err()}, nil
	case d.CorrectorFailed != nil:
		e := d.CorrectorFailed
		return core.CorrectorFailed{Node: e.Node, Iteration: e.Iteration, Err: e.Error.Err()}, nil
	case d.FeedbackFailed != nil:
		return core.FeedbackFailed{Err: d.FeedbackFailed.Error.Err()}, nil
	case d.PluginChanged != nil:
		return *d.PluginChanged, nil
	}
	return nil, fmt.Errorf("an event of an unknown type")
}

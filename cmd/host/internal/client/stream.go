package client

import (
	"encoding/json"
	"time"
)

// The data of the events that a stream of events over HTTP has, by the event's name.

// StreamEvent is an entry of the journal, under its type or as run.iteration, run.ended or job.ended.
type StreamEvent struct {
	// Stream is the journal's stream, and Seq the entry's number there, from 1.
	Stream string `json:"stream"`
	Seq    uint64 `json:"seq"`
	// At is when it happened.
	At time.Time `json:"at"`
	// Subject is who did it.
	Subject string `json:"subject,omitempty"`
	// Status is how a job ended; left out in other events.
	Status string `json:"status,omitempty"`
	// Data is what happened, without content of memories.
	Data json.RawMessage `json:"data"`
}

// StreamProgress is the data of job.progress, which has no id and isn't sent again.
type StreamProgress struct {
	// JobID is the job's id.
	JobID string `json:"job_id"`
	// Progress is from 0 to 1.
	Progress float64 `json:"progress"`
}

// StreamPiece is the data of run.piece: text of an output that a model is writing, for the followers of its
// run or job while it runs. It has no id and isn't sent again.
type StreamPiece struct {
	// RunID is the run's id.
	RunID string `json:"run_id"`
	// Visit is the number of the node's visit, from 1.
	Visit int `json:"visit"`
	// Node is the node's name.
	Node string `json:"node"`
	// Iteration is the number of the attempt in its loop, from 1.
	Iteration int `json:"iteration"`
	// Offset is how many characters of the output's text came before. It begins again at 0 if the call is made
	// again, and skips what a reader that is slow or came late has missed.
	Offset int `json:"offset"`
	// Text is the piece, up to 8 KiB.
	Text string `json:"text"`
}

// StreamReset is the data of reset: what followed the reader's last id is no longer kept.
type StreamReset struct {
	// Stream is the journal's stream.
	Stream string `json:"stream"`
	// Head is the number of the entry after which the stream goes on.
	Head uint64 `json:"head"`
}

// StreamLagged is the data of lagged: the reader is too slow, and connects again.
type StreamLagged struct {
	// LastID is the Last-Event-ID to go on from.
	LastID string `json:"last_id"`
}

// StreamFailed is the data of failed: the server couldn't read the events.
type StreamFailed struct {
	// Code is the error's code.
	Code string `json:"code"`
}

// StreamBye is the data of bye: nothing follows on this connection.
type StreamBye struct{}

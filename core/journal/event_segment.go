package journal

import "time"

// Segment is the pruned beginning of a stream.
type Segment struct {
	Stream string `json:"stream"`
	// First and Last are the numbers of its first and last entry.
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	// Before is the hash of the entry before First; "" if First is the stream's very
	// first. Head is the hash of entry Last, from which the next entry continues.
	Before string `json:"before,omitempty"`
	Head   string `json:"head"`
	// From and To are when First and Last were appended.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Records counts the records that are in the file with the entries.
	Records int `json:"records"`
}

// SegmentPruned seals a segment: it was written to a file, and then removed.
type SegmentPruned struct {
	Segment
	// File is the name of the file, without its folder, and Digest the digest of all its
	// bytes, which may hold other segments too.
	File   string `json:"file"`
	Digest string `json:"digest"`
	// Previous is the entry that seals the stream's previous segment; 0 if there is none.
	Previous uint64 `json:"previous,omitempty"`
	AgentID  string `json:"agent_id,omitempty"`
}

func (SegmentPruned) eventType() string { return "agent.segment.pruned" }

func segmentEvents() []Event { return []Event{SegmentPruned{}} }

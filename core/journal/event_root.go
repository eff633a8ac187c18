package journal

// HeadsRecorded is an entry of the root: the present heads of the streams that changed
// since the last entry.
type HeadsRecorded struct {
	Heads []StreamHead `json:"heads"`
}

// StreamHead is the last entry of a stream.
type StreamHead struct {
	Stream string `json:"stream"`
	Head
}

func (HeadsRecorded) eventType() string { return "heads_recorded" }

func rootEvents() []Event { return []Event{HeadsRecorded{}} }

package journal

// Event is something that happened and is worth proving later. The set is
// sealed: its types are in the files event_*.go, one for each part that writes
// them, and [Catalogue] lists them.
type Event interface{ eventType() string }

package journal

import "encoding/json"

// Event is something that happened and is worth proving later. The set is sealed: its
// types are in the files event_*.go, one for each part that writes them, and [Catalogue]
// lists them.
type Event interface{ eventType() string }

// Is reports whether the entry has an event's type.
func (e *Entry) Is(event Event) bool { return e.Type == event.eventType() }

// As returns the event of an entry, if it is one of that type.
func As[E Event](e *Entry) (event E, ok bool) {
	ok = e.Is(event) && json.Unmarshal(e.Data, &event) == nil
	return event, ok
}

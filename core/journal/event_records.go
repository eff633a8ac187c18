package journal

// RecordsWritten says which records a transaction left in the part of a store that
// its stream is of: it is the last event of each transaction on memories or on a
// session. The newest digest of a key is the record's, so a record that was changed,
// dropped or added behind the program's back shows.
type RecordsWritten struct {
	// Records are in the order of their keys.
	Records []RecordDigest `json:"records"`
}

// RecordDigest is a record as a transaction left it.
type RecordDigest struct {
	// Key is the record's, with numbers in decimal.
	Key string `json:"key"`
	// Digest is the value's; "" says that the transaction removed the record. A
	// record with content holds a random salt, so that its digest tells nothing once
	// the record is gone.
	Digest string `json:"digest,omitempty"`
}

// NamespaceImported says that a namespace came from another store, with all of its
// stream up to here.
type NamespaceImported struct {
	Namespace string `json:"namespace"`
	// Head is the stream's in the other store, and Root its root's, as audit head
	// prints them: "" where the root had recorded nothing yet.
	Head string `json:"head"`
	Root string `json:"root,omitempty"`
	// Records counts what came along.
	Records int `json:"records"`
}

// SessionStream is the stream of a session's turns.
func SessionStream(session string) string { return "session/" + session }

func (RecordsWritten) eventType() string    { return "agent.records.written" }
func (NamespaceImported) eventType() string { return "agent.namespace.imported" }

// recordEvents has one of each type above, for the catalogue.
func recordEvents() []Event { return []Event{RecordsWritten{}, NamespaceImported{}} }

package journal

// RecordsWritten lists the records that a transaction wrote in the part of a store that
// its stream covers. It is the last event of each transaction on memories or on a
// session. The newest digest of a key is the digest of its record, so a record that was
// changed, dropped or added without the program is detected.
type RecordsWritten struct {
	// Records are in the order of their keys.
	Records []RecordDigest `json:"records"`
}

// RecordDigest is a record as a transaction left it.
type RecordDigest struct {
	// Key is the key of the record, with numbers in decimal.
	Key string `json:"key"`
	// Digest is the digest of the value; "" means that the transaction removed the record.
	// A record with content holds a random salt, so that its digest reveals nothing once
	// the record is gone.
	Digest string `json:"digest,omitempty"`
}

// NamespaceImported records that a namespace was imported from another store, with all
// entries of its stream up to here.
type NamespaceImported struct {
	Namespace string `json:"namespace"`
	// Head is the head of the stream in the other store, and Root the head of that
	// store's root, as audit head prints them: "" if the root had recorded nothing yet.
	Head string `json:"head"`
	Root string `json:"root,omitempty"`
	// Records counts the imported records.
	Records int `json:"records"`
}

// SessionStream is the stream of a session's turns.
func SessionStream(session string) string { return "session/" + session }

func (RecordsWritten) eventType() string    { return "agent.records.written" }
func (NamespaceImported) eventType() string { return "agent.namespace.imported" }

// recordEvents has one event of each type above, for the catalogue.
func recordEvents() []Event { return []Event{RecordsWritten{}, NamespaceImported{}} }

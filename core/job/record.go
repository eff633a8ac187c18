package job

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/table"
	"github.com/reflectory/reflectory/sdk"
)

// record is a job without its content. It is small, since each change rewrites it. The
// payload, result, message, failure and lease of the embedded job are empty here, since
// they are stored elsewhere.
type record struct {
	Job
	// Number numbers jobs in the order in which they were queued, whatever the clock shows.
	// The jobs of a queue are in this order.
	Number uint64 `json:"number"`
	// Holder is the pool that runs the job, or that ran it last; Epoch is how often it was
	// started.
	Holder string `json:"holder,omitempty"`
	Epoch  uint64 `json:"epoch"`
	// Crashes counts the holders that were lost while they ran it, since the last start in which it
	// committed something.
	Crashes int `json:"crashes,omitempty"`
	// Mark is what its work had committed when it was started last: see Options.Mark.
	Mark string `json:"mark,omitempty"`
	// ProgressAt is when its progress was written.
	ProgressAt *time.Time `json:"progress_at,omitempty"`
	// Wait is how long NotBefore postponed it, in nanoseconds. If more time than that is left,
	// the clock went back.
	Wait int64 `json:"wait,omitempty"`
	// CancelReason is the reason why it was asked to stop.
	CancelReason string `json:"cancel_reason,omitempty"`
	// Steps is how many steps it saved, and StepBytes their size.
	Steps     int `json:"steps,omitempty"`
	StepBytes int `json:"step_bytes,omitempty"`
	// Forgot is whether a purge removed a memory from it before it ended: its worker may still
	// quote that memory.
	Forgot bool `json:"forgot,omitempty"`
}

// content is what a job starts with.
type content struct {
	Payload json.RawMessage `json:"payload,omitempty"`
	Caller  *callerRecord   `json:"caller,omitempty"`
	// Memories are the memories whose content is in the payload.
	Memories []string `json:"memories,omitempty"`
}

// result is what a job ended with.
type result struct {
	Result   json.RawMessage `json:"result,omitempty"`
	Message  string          `json:"message,omitempty"`
	Failure  *Failure        `json:"failure,omitempty"`
	Memories []string        `json:"memories,omitempty"`
	// Quoted are other memories, which only the message and the failure may quote.
	Quoted []string `json:"quoted,omitempty"`
}

// purgeWords removes the texts about the job's end, since it isn't known what they quote.
func (r *result) purgeWords() {
	if r.Message != "" {
		r.Message = purgedText
	}
	if r.Failure != nil {
		r.Failure = r.Failure.purged()
	}
}

// step is something that a job paid for.
type step struct {
	Data     json.RawMessage `json:"data"`
	Memories []string        `json:"memories,omitempty"`
}

// callerRecord is the stored form of a [core.Caller].
type callerRecord struct {
	Subject    string       `json:"subject,omitempty"`
	Scopes     []core.Scope `json:"scopes,omitempty"`
	Namespaces []string     `json:"namespaces,omitempty"`
	Label      string       `json:"label,omitempty"`
}

func storedCaller(c core.Caller) *callerRecord {
	if c.Subject == "" && c.Label == "" && len(c.Scopes) == 0 && len(c.Namespaces) == 0 {
		return nil
	}
	return &callerRecord{c.Subject, c.Scopes, c.Namespaces, c.Label}
}

func (c *callerRecord) caller() core.Caller {
	if c == nil {
		return core.Caller{}
	}
	return core.Caller{Subject: c.Subject, Scopes: c.Scopes, Namespaces: c.Namespaces, Label: c.Label}
}

// lease is the lease of the record's holder.
func (rec *record) lease() Lease { return Lease{JobID: rec.ID, Holder: rec.Holder, Epoch: rec.Epoch} }

// put encodes a record and writes it.
func put(tx core.Tx, key []byte, value any) error {
	data, err := jsontext.Encode(value)
	if err != nil {
		return sdk.Errorf(sdk.Invalid, "record_invalid", "record %s can't be encoded: %w", DescribeKey(key), err)
	}
	return tx.Put(key, data)
}

// get reads and decodes a record, and reports whether it exists.
func get(r core.Reader, key []byte, value any) (bool, error) {
	data, found, err := r.Get(key)
	if err != nil || !found {
		return false, err
	}
	if err := json.Unmarshal(data, value); err != nil {
		return false, corrupt(key, "it can't be decoded: "+err.Error())
	}
	return true, nil
}

// read reads a job's record. If there is none, the error is [Absent].
func read(r core.Reader, id string) (*record, error) {
	rec, err := find(r, id)
	if err == nil && rec == nil {
		err = Absent(id)
	}
	return rec, err
}

// find is read, but returns nil for a job that doesn't exist.
func find(r core.Reader, id string) (*record, error) {
	if !validID(id) {
		return nil, nil
	}
	return records.Get(r, id)
}

// wellFormed reports whether the record has what its status needs.
func (rec *record) wellFormed() bool {
	if !validType(rec.Type) || !validStatus(rec.Status) || rec.Number == 0 || !core.ValidID(rec.UserID) {
		return false
	}
	switch rec.Status {
	case StatusQueued:
		return rec.StartedAt == nil && rec.CompletedAt == nil
	case StatusRunning:
		return rec.StartedAt != nil && rec.CompletedAt == nil && rec.NotBefore == nil && validID(rec.Holder) && rec.Epoch > 0
	}
	return rec.CompletedAt != nil && rec.NotBefore == nil && rec.Reason != ""
}

// readNumber reads a decimal number; 0 for none.
func readNumber(r core.Reader, key []byte) (uint64, error) {
	value, found, err := r.Get(key)
	if err != nil || !found {
		return 0, err
	}
	n, err := strconv.ParseUint(string(value), 10, 64)
	if err != nil {
		return 0, corrupt(key, "it is no number")
	}
	return n, nil
}

func putNumber(tx core.Tx, key []byte, n uint64) error {
	return tx.Put(key, strconv.AppendUint(nil, n, 10))
}

// corrupt is the error for a record that isn't what this program wrote.
func corrupt(key []byte, problem string) error { return records.Damaged(key, problem) }

// unlessCorrupt is an error, unless it says that a record is damaged, which a check reports.
func unlessCorrupt(err error) error {
	if table.Corrupt(err) {
		return nil
	}
	return err
}

package gate

import (
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/core/table"
	"github.com/reflectory/reflectory/sdk"
)

// OmegaRecorded is the result of recording factors.
type OmegaRecorded struct {
	MemoryID string `json:"memory_id"`
	// Seq counts how often factors of the memory were recorded, from 1.
	Seq int64 `json:"seq"`
}

// keptOmega is how the newest factors of a memory are stored.
type keptOmega struct {
	Seq  int64     `json:"seq"`
	At   time.Time `json:"at"`
	Note string    `json:"note,omitempty"`
	policypoint.OmegaFactors
}

// RecordOmega stores what is known about a memory of a namespace, replacing all that was
// known before: a factor that isn't given is absent afterwards.
func (Evidence) RecordOmega(tx *journal.Tx, namespace string, known *OmegaEvidence) (*OmegaRecorded, error) {
	if err := CheckOmega(known); err != nil {
		return nil, err
	}
	before, err := readOmega(tx, known.MemoryID)
	if err != nil && !table.Corrupt(err) { // a damaged one is replaced
		return nil, err
	}
	f := known.OmegaFactors
	kept := keptOmega{Seq: before.Seq + 1, At: tx.Now().UTC(), Note: known.Note, OmegaFactors: f}
	if err := tx.Put(omegaKey(known.MemoryID), jsontext.MustEncode(kept)); err != nil {
		return nil, err
	}
	event := journal.OmegaEvidenceRecorded{
		AgentID: tx.Caller().Label, MemoryID: known.MemoryID, Seq: kept.Seq, UpstreamStatus: f.UpstreamStatus,
		CodebaseVerification: f.CodebaseVerification, RuntimeUtilityTrend: f.RuntimeUtilityTrend, Note: noteDigest(known.Note),
	}
	return &OmegaRecorded{MemoryID: known.MemoryID, Seq: kept.Seq}, tx.Append(journal.NamespaceStream(namespace), event)
}

// noteDigest is the digest of a note; "" for none.
func noteDigest(note string) string {
	if note == "" {
		return ""
	}
	return core.Digest([]byte(note))
}

// readOmega reads the newest factors of a memory; there are none if none were recorded, or if they
// are damaged.
func readOmega(r core.Reader, memory string) (keptOmega, error) {
	kept, err := omegas.Get(r, memory)
	if kept == nil {
		kept = &keptOmega{}
	}
	return *kept, err
}

// above returns the factors, with the ones that the caller gives in place of the stored
// ones.
func (k *keptOmega) above(given policypoint.OmegaFactors) policypoint.OmegaFactors {
	pick := func(given, kept *float64) *float64 {
		if given != nil {
			return given
		}
		return kept
	}
	return policypoint.OmegaFactors{
		UpstreamStatus:       pick(given.UpstreamStatus, k.UpstreamStatus),
		CodebaseVerification: pick(given.CodebaseVerification, k.CodebaseVerification),
		RuntimeUtilityTrend:  pick(given.RuntimeUtilityTrend, k.RuntimeUtilityTrend),
	}
}

// CheckOmega refuses factors outside 0 to 1, and a record without any factor.
func CheckOmega(known *OmegaEvidence) error {
	var p problems
	p.in("memory_id").id(known.MemoryID, "memory_id")
	p.factors(known.OmegaFactors)
	p.in("note").text(known.Note, "note")
	if (known.OmegaFactors == policypoint.OmegaFactors{}) {
		p.in("upstream_status").add("give upstream_status, codebase_verification or runtime_utility_trend, from 0 to 1", "no factor is given")
	}
	return p.err()
}

// ReadOmega reads what is known about a memory from a JSON object. It refuses unknown
// keys, and everything that [Evidence.RecordOmega] would refuse.
func ReadOmega(data []byte) (*OmegaEvidence, error) {
	const keys = "memory_id, upstream_status, codebase_verification, runtime_utility_trend, note"
	dec, err := newDecoder(data)
	if err != nil {
		return nil, err
	}
	if key := jsontext.RepeatedKey(data); key != "" {
		return nil, sdk.Errorf(sdk.Invalid, "evidence_invalid", "the key %q is there twice", core.Cut(key)).WithHint("its keys are %s", keys)
	}
	var known OmegaEvidence
	if err := dec.Decode(&known); err != nil {
		return nil, notJSON("the factors", keys, dec.onLine(0, err))
	}
	if err := atEnd(dec); err != nil {
		return nil, err
	}
	known.Note = strings.TrimSpace(known.Note)
	return &known, CheckOmega(&known)
}

// OmegaEvidence has the factors that a caller or plugin knows about a memory, for the
// gate.
type OmegaEvidence struct {
	MemoryID string `json:"memory_id"`
	policypoint.OmegaFactors
	// Note is a line that names the source of the factors.
	Note string `json:"note,omitempty"`
}

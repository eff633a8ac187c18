package core

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/reflectory/reflectory/sdk"
)

// MemoryKind is the kind of a memory.
type MemoryKind string

// The kinds of memories.
const (
	KindObservation  MemoryKind = "observation"
	KindReflection   MemoryKind = "reflection"
	KindSemantic     MemoryKind = "semantic"
	KindProcedural   MemoryKind = "procedural"
	KindNotification MemoryKind = "notification"
)

// MemoryState is the stage of a memory's life.
type MemoryState string

// The states of memories.
const (
	StateOpen              MemoryState = "open"
	StateActive            MemoryState = "active"
	StateCooling           MemoryState = "cooling"
	StateRevalidatePending MemoryState = "revalidate_pending"
	StateArchived          MemoryState = "archived"     // dormant, reversible
	StateConsolidated      MemoryState = "consolidated" // merged into another, reversible
	StatePurged            MemoryState = "purged"       // removed; only its event is kept
	StatePromoted          MemoryState = "promoted"     // became knowledge
)

// MemoryStates lists every state, in the order of a memory's life.
func MemoryStates() []MemoryState {
	return []MemoryState{
		StateOpen, StateActive, StateCooling, StateRevalidatePending,
		StateArchived, StateConsolidated, StatePurged, StatePromoted,
	}
}

// Live reports whether a memory in this state is in use: it is recalled, its state
// follows its signals, and no other memory can have its title.
func (s MemoryState) Live() bool {
	return s == StateOpen || s == StateActive || s == StateCooling || s == StateRevalidatePending
}

// Recallable reports whether recall may return a memory in this state: a live memory, or
// a promoted memory.
func (s MemoryState) Recallable() bool { return s.Live() || s == StatePromoted }

// MaxIDBytes is the longest id of a memory or session.
const MaxIDBytes = 128

// ValidID reports whether id can name a memory or a session: 1 to 128 of A-Z a-z 0-9
// _ : . @ - without two dots in a row.
func ValidID(id string) bool {
	if id == "" || len(id) > MaxIDBytes || strings.Contains(id, "..") {
		return false
	}
	for _, c := range []byte(id) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune("_:.@-", rune(c)) {
			return false
		}
	}
	return true
}

// Memory is something that an agent knows: short-term, operational, retractable.
type Memory struct {
	ID        string     `json:"id"`
	Namespace string     `json:"namespace"`
	AgentID   string     `json:"agent_id"`
	Kind      MemoryKind `json:"kind"`
	Title     string     `json:"title"`
	Content   string     `json:"content"`
	Tags      []string   `json:"tags,omitempty"`
	// Priority is 1 to 10; Importance and Confidence are 0 to 1.
	Priority   int     `json:"priority"`
	Importance float64 `json:"importance"`
	Confidence float64 `json:"confidence"`
	// ReflectionDepth is 0 for an observed memory; for a reflection it is one more than
	// the depth of its deepest source.
	ReflectionDepth int `json:"reflection_depth"`
	// AccessCount counts the recalls that returned it.
	AccessCount int64 `json:"access_count"`
	// Metadata is a JSON object.
	Metadata json.RawMessage `json:"metadata,omitempty"`
	State    MemoryState     `json:"state"`
	// StateBefore is the state in which it began to wait for the gate; "" if it doesn't
	// wait.
	StateBefore MemoryState `json:"state_before,omitempty"`
	// EmbeddingModel names the model of its vector, which is stored next to it; "" means
	// no vector.
	EmbeddingModel string `json:"embedding_model,omitempty"`
	// OccurredAt is when the described event happened, if its writer gave a time, and
	// OccurredTurn is the namespace's turn at that time, as estimated from the memories
	// written before.
	OccurredAt   *time.Time `json:"occurred_at,omitempty"`
	OccurredTurn int64      `json:"occurred_turn,omitempty"`
	CreatedAt    time.Time  `json:"created_at"`
	UpdatedAt    time.Time  `json:"updated_at"`
	// LastAccessedAt is when recall last returned it; nil for never.
	LastAccessedAt *time.Time `json:"last_accessed_at,omitempty"`
	// CreatedTurn is the namespace's turn counter at its creation.
	CreatedTurn int64   `json:"created_turn"`
	Signals     Signals `json:"signals"`
	// MergedInto is the memory that a consolidated memory was merged into, and PromotedTo
	// the knowledge that a promoted memory became.
	MergedInto string `json:"merged_into,omitempty"`
	PromotedTo string `json:"promoted_to,omitempty"`
	// Version counts its changes, from 1.
	Version int64 `json:"version"`
	// Salt keys the digests of its title and content in events. It is only in the record,
	// so that nothing can be guessed from the digests once the record is gone.
	Salt string `json:"-"`
}

// MemoryTexts are the members of a memory, by their JSON names, in which its writer may say anything: a
// purge removes them wherever they are.
func MemoryTexts() []string { return []string{"title", "content", "tags", "metadata"} }

// Attributes are what a caller may say about a new memory, however it is made. Missing ones have
// defaults.
type Attributes struct {
	// AgentID is the agent whose memory it is; "" is the caller's label. It may differ from the
	// caller, since an import brings what others learned.
	AgentID    string          `json:"agent_id,omitempty"`
	Tags       []string        `json:"tags,omitempty"`
	Priority   *int            `json:"priority,omitempty"`
	Importance *float64        `json:"importance,omitempty"`
	Confidence *float64        `json:"confidence,omitempty"`
	Metadata   json.RawMessage `json:"metadata,omitempty"`
	// OccurredAt is when the described event happened: RFC 3339 with an offset, and not
	// in the future.
	OccurredAt string `json:"occurred_at,omitempty"`
}

// AgeTurns are the turns of its namespace, at a given turn, since the described event
// happened, or else since the memory was written.
func (m *Memory) AgeTurns(turn int64) int64 {
	if m.OccurredAt != nil {
		return turn - m.OccurredTurn
	}
	return turn - m.CreatedTurn
}

// Window is a memory's last offers, the oldest first: of each subject those since its tenth-last use, at
// most 40 in all. First comes w with the subject that wrote it, if that is known. Each is a letter (o for an
// offer that wasn't used, s, p and f for a use that succeeded, succeeded partly and failed) and five letters
// for the subject whose turn it was, which don't show its name.
type Window string

// Signals are what the use of a memory has shown. Only turns change them, never time
// alone.
type Signals struct {
	// HitCount counts the turns that reported it used, and MissStreak the relevant turns
	// in a row without a use that succeeded, at least partially.
	HitCount   int64 `json:"hit_count"`
	MissStreak int64 `json:"miss_streak"`
	// LastHitTurn is the namespace's turn of the last hit or retain.
	LastHitTurn int64 `json:"last_hit_turn"`
	// HitRate moves by a tenth toward what each relevant turn earned, starting at 0. It
	// includes the effect of that start, which [policypoint.RetentionInput.CorrectedHitRate] removes.
	HitRate float64 `json:"hit_rate_ewma"`
	// Utility moves by a tenth toward what each use earned, starting at .5.
	Utility float64 `json:"utility_score"`
	Q       float64 `json:"q_value"`
	// TTLScore is the last score from the retention policy.
	TTLScore float64 `json:"ttl_score"`
	// Revalidation is the utility that the gate's last decision found: how certain it is
	// that the memory is still true. nil before the first decision.
	Revalidation *float64 `json:"revalidation_score,omitempty"`
	Successes    int64    `json:"success_count"`
	Partials     int64    `json:"partial_count"`
	Failures     int64    `json:"failure_count"`
	// Assumed counts the uses that weren't named: the host assumed them because a prompt
	// referred to the recall. AssumedFailures counts the assumed uses that failed.
	Assumed         int64 `json:"assumed_count,omitempty"`
	AssumedFailures int64 `json:"assumed_failure_count,omitempty"`
	// Shared counts the named uses of turns that named other memories too, which may be what helped.
	Shared int64 `json:"shared_count,omitempty"`
	// RelevantTurns counts the turns in which recall returned it.
	RelevantTurns int64 `json:"relevant_turns"`
	// CooledAt is how many relevant turns it had when it last cooled, CoolingWait how
	// many more it needs before it may be active again (0 means 10), and WarmedAt how
	// many it had when it last became active again.
	CooledAt    int64 `json:"cooled_at_turn,omitempty"`
	CoolingWait int64 `json:"cooling_wait,omitempty"`
	WarmedAt    int64 `json:"warmed_at_turn,omitempty"`
	// Gated is whether the gate ever decided on it, GatedAt the relevant turns at that
	// time, GateRest how many more it needs before the gate decides again (0 means 10),
	// and GateEvidence a digest that identifies the evidence which the gate saw.
	Gated        bool   `json:"gated,omitempty"`
	GatedAt      int64  `json:"gated_at,omitempty"`
	GateRest     int64  `json:"gate_rest,omitempty"`
	GateEvidence string `json:"gate_evidence,omitempty"`
	// Sessions counts the sessions that used it, and AssumedSessions the sessions that
	// never named a use.
	Sessions        int64 `json:"sessions"`
	AssumedSessions int64 `json:"assumed_sessions,omitempty"`
	// Window is what happened to it lately.
	Window Window `json:"window,omitempty"`
	// LastOutcomeError is whether its last use failed.
	LastOutcomeError bool `json:"last_outcome_error,omitempty"`
	// RecentUses are the last turns that used it, the oldest first, at most 20. Recent
	// are the turns that recalled it before its first use.
	RecentUses []TurnRef `json:"recent_uses,omitempty"`
	Recent     []TurnRef `json:"recent,omitempty"`
}

// Uses counts the turns in which the memory was used.
func (s *Signals) Uses() int64 { return s.Successes + s.Partials + s.Failures }

// Named counts the named uses.
func (s *Signals) Named() int64 { return s.Uses() - s.Assumed }

// RidesAlong reports whether most uses may be other memories' merit: they were shared, assumed or inferred.
func (s *Signals) RidesAlong() bool { return 2*(s.Shared+s.Assumed) > s.Uses() }

// NamedFailures counts the named uses that failed.
func (s *Signals) NamedFailures() int64 { return s.Failures - s.AssumedFailures }

// NamedSessions counts the sessions that named a use.
func (s *Signals) NamedSessions() int64 { return s.Sessions - s.AssumedSessions }

// TurnRef names a turn of a session.
type TurnRef struct {
	Session string `json:"session"`
	Turn    int64  `json:"turn"`
}

// Link is a directed relation between two memories.
type Link struct {
	From     string `json:"from"`
	Relation string `json:"relation"`
	To       string `json:"to"`
	// Position numbers, from 0, the links of the relation that were made together: a
	// reflection's are in the order of its sources.
	Position  int             `json:"position,omitempty"`
	CreatedAt time.Time       `json:"created_at"`
	Metadata  json.RawMessage `json:"metadata,omitempty"`
}

// The relations that Reflectory itself writes or knows. Other relations have any name of
// 1 to 64 of a-z, 0-9 and underscore.
const (
	RelationReflectsOn       = "reflects_on" // stays acyclic
	RelationSupersedes       = "supersedes"
	RelationContradicts      = "contradicts"
	RelationDerivedFrom      = "derived_from"
	RelationConsolidatedFrom = "consolidated_from"
	RelationRelatedTo        = "related_to"
)

// Knowledge is what a promoted memory became: long-term and stable. It never changes, but
// another entry may supersede it, and it falls if the memory keeps failing.
type Knowledge struct {
	ID        string `json:"id"`
	Namespace string `json:"namespace"`
	Title     string `json:"title"`
	Content   string `json:"content"`
	// Summary is the reusable pattern: a model's text, or the title with the first 280
	// characters of the content.
	Summary      string `json:"reusable_pattern_summary"`
	PromotedFrom string `json:"promoted_from"`
	DecisionID   string `json:"decision_id"`
	// SupersededBy is the entry that replaced it.
	SupersededBy string `json:"superseded_by,omitempty"`
	// DemotedBy is the gate's decision by which it fell, since the memory that it came from kept failing.
	DemotedBy string    `json:"demoted_by,omitempty"`
	CreatedAt time.Time `json:"created_at"`
}

// Holds reports whether nothing replaced the entry, and it didn't fall.
func (k *Knowledge) Holds() bool { return k.SupersededBy == "" && k.DemotedBy == "" }

// Recaller recalls memories for plugins, read only.
type Recaller interface {
	// Recall returns the memories of the run's namespace that match best. It refuses ""
	// and a run without a namespace.
	Recall(ctx context.Context, runID string, r *sdk.RecallRequest) (*sdk.RecallResponse, error)
}

// Memories are the operations on memories for workflows and other surfaces.
type Memories interface {
	Observe(ctx context.Context, r *ObserveRequest) (*Memory, error)
	Reflect(ctx context.Context, r *ReflectRequest) (*ReflectResult, error)
	Recall(ctx context.Context, r *RecallRequest) (*RecallResult, error)
	Feedback(ctx context.Context, r *FeedbackRequest) (*FeedbackResult, error)
}

// Purged reports whether a memory was purged. Nil is for a store without memories: none was.
type Purged func(r Reader, memoryID string) (bool, error)

// Any reports whether one of the memories was purged.
func (p Purged) Any(r Reader, ids ...string) (gone bool, err error) {
	for i := 0; p != nil && err == nil && !gone && i < len(ids); i++ {
		gone, err = p(r, ids[i])
	}
	return gone, err
}

// Forgetter holds contents of memories outside their records, such as what a run
// recalled.
type Forgetter interface {
	// Forget removes a memory's content, in the transaction that purges it, and returns the
	// ids of the runs that received it, in any order. The data that it deletes and
	// overwrites is removed from the store's files together with the memory.
	Forget(tx Tx, memoryID string) (runs []string, err error)
}

// GivenTo lists what was derived from a purged memory. A purge doesn't find text that a
// model wrote from the memory; this list shows where to look for such text.
type GivenTo struct {
	MemoryID string `json:"memory_id"`
	// Runs are the runs whose nodes recalled or wrote the memory, and Reflections the
	// memories that reflect on it, both sorted. A plugin's own recalls aren't recorded.
	Runs        []string `json:"runs"`
	Reflections []string `json:"reflections"`
	// RetainedIn names what keeps the memory's data outside of this program's reach until it is
	// recycled there: "wal", "standby" and "backup" of a database. Empty for a data folder.
	RetainedIn []string `json:"retained_in,omitempty"`
}

// Embedder makes vectors of texts, so that texts with similar meaning have similar
// vectors.
type Embedder interface {
	// Model identifies how the vectors are made. Vectors of different models are never
	// compared.
	Model() string
	// Embed returns a vector of unit length for each text, all of one dimension. A text
	// with nothing to embed gets the zero vector.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// EmbedderWithWeight is an embedder that knows the weight of its vectors in a recall,
// next to the words, in (0,1). For other embedders it is one half.
type EmbedderWithWeight interface {
	Embedder
	Weight() float64
}

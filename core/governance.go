package core

// DefaultMaxReflectionDepth is the depth cap where no namespace sets one.
const DefaultMaxReflectionDepth = 3

// DefaultLanguage is the language where no namespace sets one.
const DefaultLanguage = "english"

// Languages are the languages that words can be stemmed by, and "none", which stems
// nothing and leaves no word out.
func Languages() []string {
	return []string{"english", "french", "hungarian", "none", "norwegian", "russian", "spanish", "swedish"}
}

// NamespaceLimits bound what a namespace holds; 0 is no limit.
type NamespaceLimits struct {
	MaxMemories       int64 `json:"max_memories"`
	MaxBytes          int64 `json:"max_bytes"`
	MaxLinksPerMemory int64 `json:"max_links_per_memory"`
}

// Governance is what holds in a namespace: each field from the most specific
// level of its chain that sets it, else the built-in default.
type Governance struct {
	Namespace string
	// MaxReflectionDepth is the cap; 0 forbids reflections.
	MaxReflectionDepth int
	// DecidedBy is the level that gave the cap: a namespace, "*" or "default".
	DecidedBy string
	// DepthLocked is whether a level of the chain locks the cap.
	DepthLocked bool
	// RequireApprovalAbove is the depth above which a reflection waits for an
	// approval; nil for none.
	RequireApprovalAbove *int
	Retention            RetentionWeights
	// MinGateConfidence is what a purge or promotion needs at least: 0.7 or more.
	MinGateConfidence float64
	Limits            NamespaceLimits
	// Reflection says when what was observed is reflected on.
	Reflection ReflectionThresholds
	// Language is what the words of memories are stemmed by, one of [Languages].
	Language string
	// SetBy is the level that set each field, by the field's name, such as
	// "limits.max_memories". Fields that have their built-in default aren't in it.
	SetBy map[string]string
	// Failure is why the stored settings can't be read: the cap is then 0, and no
	// memory of the namespace changes its state. nil where all is well.
	Failure error
}

// ReflectionThresholds say how much has to be observed since the last reflection until the
// next one is due. Each is enough, and 0 switches one off.
type ReflectionThresholds struct {
	// Importance is of the sum of ten times the importance of each memory, Observations of
	// their number, and Hours of the time.
	Importance, Observations, Hours float64
}

// DefaultReflectionThresholds are those that hold where no namespace sets them.
func DefaultReflectionThresholds() ReflectionThresholds {
	return ReflectionThresholds{Importance: 150, Observations: 100, Hours: 24}
}

// Governor tells what holds in a namespace.
type Governor interface {
	// Resolve reads within the caller's transaction, so that the settings can't
	// change underneath it. Settings that can't be read aren't an error here: they
	// fail closed, see [Governance.Failure]. An error is one of the store.
	Resolve(r Reader, namespace string) (*Governance, error)
}

package core

import "time"

// DefaultMaxReflectionDepth is the depth limit if no namespace sets one.
const DefaultMaxReflectionDepth = 3

// DefaultMinGateConfidence is the least confidence of a purge or promotion.
const DefaultMinGateConfidence = 0.7

// Whose turns count for the order in which a subject recalls memories: everybody's, within bounds, or its
// own where it has some, for a namespace whose users need opposite things.
const (
	CreditShared     = "shared" // the default
	CreditPerSubject = "per_subject"
)

// Whether memories under test are left out of turns by chance, to see what they contribute.
const (
	ExperimentOn  = "on"
	ExperimentOff = "off" // the default
)

// DefaultLanguage is the language if no namespace sets one.
const DefaultLanguage = "auto"

// Languages are the languages in which words can be stemmed; "auto", which reads each text in the
// language that its words show; and "none", which stems nothing and omits no words.
func Languages() []string {
	return []string{
		"arabic", "auto", "danish", "dutch", "english", "finnish", "french", "german", "hungarian", "italian", "none", "norwegian",
		"portuguese", "romanian", "russian", "spanish", "swedish", "tamil", "turkish",
	}
}

// DefaultMinP and DefaultInjectionMinP are the lowest p of what is relevant if no namespace sets them.
const (
	DefaultMinP          = 0.15
	DefaultInjectionMinP = 0.3
	// DefaultCut is the share of the best below which nothing is returned. At 0.5 recall loses .02 of what
	// it finds in make recall-quality.
	DefaultCut = 0.4
)

// NamespaceLimits bound the contents of a namespace; 0 is no limit.
type NamespaceLimits struct {
	MaxMemories       int64 `json:"max_memories"`
	MaxBytes          int64 `json:"max_bytes"`
	MaxLinksPerMemory int64 `json:"max_links_per_memory"`
}

// The limits that are quotas.
const (
	QuotaMemories = "max_memories"
	QuotaBytes    = "max_bytes"
)

// Quota bounds what a namespace and everything below it hold together. A level above the
// tenants, "*" or "users", bounds each tenant that sets nothing itself: see [Tenant].
type Quota struct {
	// Namespace is the namespace whose contents are counted, with what is below it.
	Namespace string
	// Limit is [QuotaMemories] or [QuotaBytes], Most is its value, and Level is where it was set.
	Limit string
	Most  int64
	Level string
}

// Governance has the settings in force in a namespace: each field from the most specific
// level of its chain that sets it, else the built-in default.
type Governance struct {
	Namespace string
	// MaxReflectionDepth is the depth limit; 0 forbids reflections.
	MaxReflectionDepth int
	// DecidedBy is the level that sets the limit: a namespace, "*" or "default".
	DecidedBy string
	// DepthLocked is whether a level of the chain locks the limit.
	DepthLocked bool
	// RequireApprovalAbove is the depth above which a reflection waits for an approval;
	// nil means no approvals.
	RequireApprovalAbove *int
	Retention            RetentionWeights
	// MinGateConfidence is the least confidence of a purge or promotion: 0.7 or more.
	MinGateConfidence float64
	// Limits are the values in force in the namespace itself. Quotas are what its memories count
	// towards: its own limits, and the limits of the levels above it.
	Limits NamespaceLimits
	Quotas []Quota
	// Reflection has the thresholds at which a reflection on what was observed is due.
	Reflection ReflectionThresholds
	// Language is the language in which the words of memories are stemmed, one of
	// [Languages].
	Language string
	// Credit is [CreditShared] or [CreditPerSubject].
	Credit string
	// Experiment is [ExperimentOn] or [ExperimentOff], and RegretBudget how many successes the trial of a
	// memory may cost.
	Experiment   string
	RegretBudget float64
	// MaxStaleness is how long a recall may rely on its last look at what other hosts
	// committed; 0 makes each recall look again.
	MaxStaleness time.Duration
	// MinP is the lowest p at which a memory counts as relevant in a recall, and InjectionMinP the lowest
	// at which it goes into a prompt; 0 counts all.
	MinP, InjectionMinP float64
	// Cut is the share of the best one's score, and of the best similarity, below both of which a recall
	// returns nothing more; 0 returns all.
	Cut float64
	// SetBy is the level that set each field, by the field's name, such as
	// "limits.max_memories". It doesn't have fields with their built-in default.
	SetBy map[string]string
	// Failure is the reason why the stored settings can't be read: the depth limit is then
	// 0, and no memory of the namespace changes its state. nil if the settings can be read.
	Failure error
}

// RetentionWeights are the settings of the retention formula.
type RetentionWeights struct {
	Hit, Utility, Miss, Stale      float64
	Active, Revalidate, Hysteresis float64
}

// DefaultRetentionWeights are the weights if no namespace sets them.
func DefaultRetentionWeights() RetentionWeights {
	return RetentionWeights{Hit: 0.5, Utility: 0.5, Miss: 0.03, Stale: 0.005, Active: 0.35, Revalidate: 0.15, Hysteresis: 0.15}
}

// ReflectionThresholds determine when the next reflection is due, by what was observed
// since the last one. Reaching one threshold is enough, and 0 switches a threshold off.
type ReflectionThresholds struct {
	// Importance is the threshold for the sum of ten times the importance of each memory,
	// Observations for their number, and Hours for the time.
	Importance, Observations, Hours float64
}

// DefaultReflectionThresholds are the thresholds if no namespace sets them.
func DefaultReflectionThresholds() ReflectionThresholds {
	return ReflectionThresholds{Importance: 150, Observations: 100, Hours: 24}
}

// Governor returns the settings in force in a namespace.
type Governor interface {
	// Resolve reads within the caller's transaction, so that the settings can't change
	// during it. Unreadable settings aren't an error here, but give safe values, see
	// [Governance.Failure]. An error comes from the store.
	Resolve(r Reader, namespace string) (*Governance, error)
}

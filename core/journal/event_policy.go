package journal

// PolicyStream is the stream of what happens to the policies themselves.
const PolicyStream = "policy"

// DecisionStream is the stream of the decisions of a policy point.
func DecisionStream(point string) string { return "decision/" + point }

// PolicyDecided says what a policy decided. What it decided on, and the texts of
// its answer, are content: they are in a record of their own, of which this
// holds the digest.
type PolicyDecided struct {
	// ID is the decision's, which names its record.
	ID        string `json:"id"`
	Namespace string `json:"namespace,omitempty"`
	// File and Digest are the policy's, Rule and Path the match's.
	File   string `json:"file"`
	Digest string `json:"digest"`
	Rule   string `json:"rule,omitempty"`
	Path   string `json:"path,omitempty"`
	// Outcome is what of the answer is no content: numbers, yes and no, and words
	// of a fixed set.
	Outcome map[string]any `json:"outcome,omitempty"`
	Cost    uint64         `json:"cost"`
	Latency int64          `json:"latency_ns"`
	// Failure is the code of why no policy could decide.
	Failure string `json:"failure,omitempty"`
	// Masked are the inputs that the record lacks.
	Masked []string `json:"masked,omitempty"`
	// Skipped counts the decisions of the point that weren't recorded since the
	// last one, since they change nothing; Lost the decisions of all points that couldn't
	// be.
	Skipped uint64 `json:"skipped,omitempty"`
	Lost    uint64 `json:"lost,omitempty"`
	// Differs is whether a shadow policy would have decided otherwise.
	Differs bool `json:"differs,omitempty"`
	// Record is the digest of the record.
	Record string `json:"record"`
}

// DecisionsSkipped says how many decisions of each point weren't recorded at a
// host's end, since the last one that was: they change nothing.
type DecisionsSkipped struct {
	Points map[string]uint64 `json:"points"`
}

// PolicyReloaded says that another set of policies decides.
type PolicyReloaded struct {
	// Digest is the set's, Previous the digest of the one before.
	Digest   string `json:"digest"`
	Previous string `json:"previous"`
	// Files is how many policies decide, the defaults aside.
	Files int `json:"files"`
}

// PolicyReloadRefused says that the policy folder was changed to what can't
// decide.
type PolicyReloadRefused struct {
	// Digest is the digest of the set that goes on deciding.
	Digest string `json:"digest"`
	// Code is the refusal's, Problems how many there are, and First the place of
	// the first one, as file:line:column.
	Code     string `json:"code"`
	Problems int    `json:"problems"`
	First    string `json:"first,omitempty"`
}

func (PolicyDecided) eventType() string       { return "agent.policy.decision" }
func (DecisionsSkipped) eventType() string    { return "agent.policy.decisions_skipped" }
func (PolicyReloaded) eventType() string      { return "agent.policy.reloaded" }
func (PolicyReloadRefused) eventType() string { return "agent.policy.reload_refused" }

// policyEvents has one of each type above, for the catalogue.
func policyEvents() []Event {
	return []Event{PolicyDecided{}, DecisionsSkipped{}, PolicyReloaded{}, PolicyReloadRefused{}}
}

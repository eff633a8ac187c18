package journal

// PolicyStream is the stream of changes to the policies themselves.
const PolicyStream = "policy"

// DecisionStream is the stream of the decisions of a policy point.
func DecisionStream(point string) string { return "decision/" + point }

// PolicyDecided records what a policy decided. The inputs of the decision, and the texts of
// its outcome, are content: they are in their own record, whose digest is in the
// event.
type PolicyDecided struct {
	// ID is the decision's id, which names its record.
	ID        string `json:"id"`
	Namespace string `json:"namespace,omitempty"`
	// File and Digest identify the policy, Rule and Path the rule that matched.
	File   string `json:"file"`
	Digest string `json:"digest"`
	Rule   string `json:"rule,omitempty"`
	Path   string `json:"path,omitempty"`
	// Outcome is the part of the outcome that isn't content: numbers, booleans, and words
	// of a fixed set.
	Outcome map[string]any `json:"outcome,omitempty"`
	Cost    uint64         `json:"cost"`
	Latency int64          `json:"latency_ns"`
	// Failure is the code of the reason why no policy could decide.
	Failure string `json:"failure,omitempty"`
	// Masked are the inputs that were left out of the record.
	Masked []string `json:"masked,omitempty"`
	// Skipped counts the point's decisions since the last recorded one that weren't
	// recorded because they change nothing. Lost counts the decisions of all points that
	// couldn't be recorded.
	Skipped uint64 `json:"skipped,omitempty"`
	Lost    uint64 `json:"lost,omitempty"`
	// Differs is whether a shadow policy would have decided differently.
	Differs bool `json:"differs,omitempty"`
	// Record is the digest of the record.
	Record string `json:"record"`
}

// DecisionsSkipped records, at the end of a host, how many decisions of each point
// weren't recorded since the last one that was: they change nothing.
type DecisionsSkipped struct {
	Points map[string]uint64 `json:"points"`
}

// PolicyReloaded records that another set of policies is now in force.
type PolicyReloaded struct {
	// Digest is the digest of the set, and Previous the digest of the previous one.
	Digest   string `json:"digest"`
	Previous string `json:"previous"`
	// Files is how many policies are in force, without the defaults.
	Files int `json:"files"`
}

// PolicyReloadRefused records that the policy folder was changed to a set that can't be
// used.
type PolicyReloadRefused struct {
	// Digest is the digest of the set that stays in force.
	Digest string `json:"digest"`
	// Code is the code of the refusal, Problems is how many there are, and First is the
	// position of the first one, as file:line:column.
	Code     string `json:"code"`
	Problems int    `json:"problems"`
	First    string `json:"first,omitempty"`
}

// PoliciesPushed records that a set of policies was stored for all hosts of the store, and
// decides from this commit on.
type PoliciesPushed struct {
	// Epoch counts the pushes from 1.
	Epoch uint64 `json:"epoch"`
	// Digest is the digest of the set, and Previous the digest of the previous one, "" for
	// the defaults.
	Digest   string `json:"digest"`
	Previous string `json:"previous,omitempty"`
	// Files is how many policies the set has.
	Files int `json:"files"`
	// Record is the digest of the stored set.
	Record string `json:"record"`
	// Unusable is the reason why the previous set couldn't be used, such as
	// policies_unusable; "" if it could. In that case no policy decided who may push, and
	// only the local operator could push.
	Unusable string `json:"unusable,omitempty"`
}

func (PoliciesPushed) eventType() string      { return "agent.policy.pushed" }
func (PolicyDecided) eventType() string       { return "agent.policy.decision" }
func (DecisionsSkipped) eventType() string    { return "agent.policy.decisions_skipped" }
func (PolicyReloaded) eventType() string      { return "agent.policy.reloaded" }
func (PolicyReloadRefused) eventType() string { return "agent.policy.reload_refused" }

// policyEvents has one event of each type above, for the catalogue.
func policyEvents() []Event {
	return []Event{PolicyDecided{}, DecisionsSkipped{}, PolicyReloaded{}, PolicyReloadRefused{}, PoliciesPushed{}}
}

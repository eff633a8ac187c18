package operation

import (
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/decisions"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy"
	"github.com/reflectory/reflectory/sdk"
)

// policies are the operations on policies.
func policies() []Operation {
	return []Operation{
		define(Operation{
			Name: "policy_list", main: true, Method: "GET", Path: "/v1/policies", Scope: core.ScopePolicy, ReadOnly: true, Idempotent: true,
			Doc: "List the policies that are in force.",
		}, everywhere[PolicyList], policyList),
		define(Operation{
			Name: host.PushOperation, main: true, Method: "PUT", Path: "/v1/policies", Scope: core.ScopePolicy, Idempotent: true,
			Doc: "Put a set of policies in force for all hosts that share the store.",
		}, everywhere[PolicyPush], policyPush),
		define(Operation{
			Name: "policy_replay", Method: "POST", Path: "/v1/policies/replay", Scope: core.ScopePolicy, ReadOnly: true, Idempotent: true, Long: true, Job: job.Workflow,
			Doc: "Repeat recorded decisions with candidate policies, and show what would change.",
		}, onHost[PolicyReplay], policyReplay),
	}
}

// everywhere is the place of a request whose result covers all namespaces.
func everywhere[In any](context.Context, *Call, *In) (place, error) {
	return place{namespaces: []string{"**"}}, nil
}

// PolicyList asks for the policies that decide.
type PolicyList struct{}

// Policies are the policies in force, from the folder or pushed to a shared store, sorted
// by file. If there are none, the built-in defaults decide.
type Policies struct {
	// Digest is the digest of their files.
	Digest string `json:"digest"`
	// Epoch counts the sets that were pushed; 0 if none was pushed, or if the policies come
	// from a folder.
	Epoch uint64 `json:"epoch,omitempty"`
	Page[Policy]
	// PromptFiles are the prompt policies and role mixes that are in force, sorted by file: from
	// the same place as the policies and, unless hosts share the store, from the data folder.
	PromptFiles []PromptFile `json:"prompt_files"`
}

// PromptFile is a prompt policy or a role mix.
type PromptFile struct {
	// File is its name with its folder, such as prompt-policies/no-keys.yaml.
	File string `json:"file"`
	// Digest is the digest of its text.
	Digest string `json:"digest"`
}

// PromptFilesOf describes prompt policies and role mixes, given their texts by name.
func PromptFilesOf(texts map[string]string) []PromptFile {
	list := []PromptFile{}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		list = append(list, PromptFile{name, core.Digest([]byte(texts[name]))})
	}
	return list
}

// Policy is a policy that is in force.
type Policy struct {
	File      string            `json:"file"`
	Point     policypoint.Point `json:"point"`
	Namespace string            `json:"namespace"`
	Shadow    bool              `json:"shadow,omitempty"`
	// Optional is whether it leaves some cases to the next less specific policy.
	Optional bool `json:"optional,omitempty"`
	// Cost is the highest cost of a decision. Tracked is whether the cost is measured
	// during each decision, because it may be high.
	Cost    uint64 `json:"cost"`
	Tracked bool   `json:"tracked,omitempty"`
}

// PolicyOf describes a policy.
func PolicyOf(p *policy.Policy) Policy {
	return Policy{p.File(), p.Point(), p.Namespace(), p.Shadow(), p.Optional(), p.Cost(), p.Tracked()}
}

func policyList(ctx context.Context, c *Call, _ *PolicyList) (*Policies, error) {
	texts, err := c.Host.Prompts.Files(ctx)
	if err != nil {
		return nil, err
	}
	set := c.Host.Policies.Set()
	var list []Policy
	for _, p := range set.Files() {
		list = append(list, PolicyOf(p))
	}
	active, _ := c.Host.Policies.Active()
	return &Policies{Digest: set.Digest(), Epoch: active.Epoch, Page: *allOf(list), PromptFiles: PromptFilesOf(texts)}, nil
}

// PolicyPush has a set of policies.
type PolicyPush struct {
	// Files are the texts of its policies, of their cases, of prompt policies and of role mixes,
	// by names such as gate/strict.yaml and prompt-policies/no-keys.yaml.
	Files map[string]string `json:"files"`
}

func policyPush(ctx context.Context, c *Call, in *PolicyPush) (*host.Pushed, error) {
	return c.Host.Copies.PushPolicies(ctx, in.Files)
}

// PolicyReplay has candidate policies, and selects the decisions to replay.
type PolicyReplay struct {
	// Files are the candidate's folder: texts by names such as gate/strict.yaml.
	Files map[string]string `json:"files"`
	// Since leaves out earlier decisions; the zero time selects all.
	Since time.Time `json:"since,omitzero"`
}

// PolicyReplayed lists the decisions that would change, in the namespaces that the caller
// reaches.
type PolicyReplayed struct {
	*policy.Replay
	// Pruned are the points whose decisions since then have partly been pruned.
	Pruned []DecisionsPruned `json:"pruned,omitempty"`
}

// DecisionsPruned is the time until which the decisions of a point were pruned.
type DecisionsPruned struct {
	Point policypoint.Point `json:"point"`
	Until time.Time         `json:"until"`
}

func policyReplay(ctx context.Context, c *Call, in *PolicyReplay) (*PolicyReplayed, error) {
	set, err := c.Host.Policies.Points.LoadFiles(in.Files)
	if err != nil {
		return nil, err
	}
	out := &PolicyReplayed{}
	if out.Pruned, err = c.pruned(ctx, in.Since); err != nil {
		return nil, err
	}
	out.Replay, err = set.Replay(ctx, c.recorded(ctx, in.Since), policy.ReplayOptions{Since: in.Since, Engine: host.Engine})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// recorded yields the recorded decisions from a time on that the caller may see: the
// decisions in namespaces that it reaches and, if it reaches all namespaces, the
// decisions for the host itself.
func (c *Call) recorded(ctx context.Context, since time.Time) iter.Seq2[*policy.Record, error] {
	return func(yield func(*policy.Record, error) bool) {
		var done int64
		for stored, err := range decisions.List(ctx, c.Host.Store, "", since) {
			var record *policy.Record
			if err == nil {
				record, err = policy.DecodeRecord(stored.Value)
			}
			if err == nil && !c.reaches("**") && !c.reaches(record.Namespace) {
				continue
			}
			if !yield(record, sdk.Wrap("read the recorded decisions", err)) || err != nil {
				return
			}
			done++
			c.progress(Progress{What: "decisions", Done: done})
		}
	}
}

// pruned lists the points whose decisions since a time have partly been pruned.
func (c *Call) pruned(ctx context.Context, since time.Time) (list []DecisionsPruned, err error) {
	err = c.Host.Store.View(ctx, func(r core.Reader) error {
		list = nil
		for _, point := range policypoint.Points() {
			seal, err := journal.ReadSeal(r, journal.DecisionStream(string(point)))
			if err != nil {
				return err
			}
			if seal.Seq > 0 && !seal.To.Before(since) {
				list = append(list, DecisionsPruned{Point: point, Until: seal.To})
			}
		}
		return nil
	})
	return list, err
}

package memory

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

// depthCap is how deep a reflection may be, and the level of the settings that decides
// it.
type depthCap struct {
	most      int
	decidedBy string
	// failure is the reason why the level's settings can't be read.
	failure error
}

// capOf is a namespace's own cap. It is 0 if the namespace's settings can't be read.
func capOf(g *core.Governance) depthCap {
	if g.Failure != nil {
		return depthCap{0, g.DecidedBy, g.Failure}
	}
	return depthCap{g.MaxReflectionDepth, g.DecidedBy, nil}
}

// resolveCap finds the cap of the reflection: the cap of its own namespace, or a smaller
// cap that is locked in the namespace of a source. Unreadable settings of a source's
// namespace might lock a cap, so they count as a locked cap of 0.
func (a *reflectTx) resolveCap() (err error) {
	if a.space, err = a.memories.space(a.t, a.memory.Namespace); err != nil {
		return err
	}
	a.cap = capOf(a.space.governance)
	seen := map[string]bool{a.memory.Namespace: true}
	for _, source := range a.sources {
		if seen[source.Namespace] {
			continue
		}
		seen[source.Namespace] = true
		g, err := a.memories.records.Governance(a.t, source.Namespace)
		if err != nil {
			return err
		}
		if own := capOf(g); (g.DepthLocked || g.Failure != nil) && own.most < a.cap.most {
			a.cap = own
		}
	}
	return nil
}

// askPolicy asks the reflect policy, which may deny the reflection. It is asked before the
// depth is checked.
func (a *reflectTx) askPolicy(ctx context.Context) error {
	if a.memories.options.Reflection == nil {
		return nil
	}
	in := &policypoint.ReflectInput{
		Namespace: a.memory.Namespace, AgentID: a.memory.AgentID, Kind: string(a.memory.Kind), Title: a.memory.Title,
		Tags: a.memory.Tags, Depth: int64(a.memory.ReflectionDepth), Cap: int64(a.cap.most),
		Priority: int64(a.memory.Priority), Confidence: a.memory.Confidence, SourceIDs: a.draft.request.SourceIDs,
	}
	for _, source := range a.sources {
		in.SourceNamespaces = append(in.SourceNamespaces, source.Namespace)
		in.SourceKinds = append(in.SourceKinds, string(source.Kind))
	}
	said := a.memories.options.Reflection.Reflect(ctx, a.t, in)
	if a.decision = said.Decision; said.Allow {
		return nil
	}
	err := sdk.Errorf(sdk.Denied, "policy_veto", "the reflect policy denies the reflection: %s (%s)", said.Reason, said.Code).
		WithHint("policy %s decided; see which policy is in force", said.Decision.File).
		WithAction("policy explain", "point", string(policypoint.Reflect)).
		WithDetail("code", said.Code).WithDetail("reason", said.Reason).
		WithDetail("policy", said.Decision.File).WithDetail("rule", said.Decision.Rule)
	if said.Decision.Failure != nil {
		err = err.WithDetail("failure", said.Decision.Failure)
	}
	return err
}

// checkDepth refuses a reflection whose depth is larger than the cap. A depth equal to the
// cap is allowed.
func (a *reflectTx) checkDepth() error {
	depth := a.memory.ReflectionDepth
	if depth <= a.cap.most {
		return nil
	}
	salt, err := a.t.NewSalt() // not stored, so the refused title can't be guessed from its digest
	if err != nil {
		return err
	}
	e := &journal.DepthExceeded{
		AgentID: a.memory.AgentID, Attempted: depth, Cap: a.cap.most, Namespace: a.memory.Namespace,
		DecidedBy: a.cap.decidedBy, Title: record.Keyed(salt, a.memory.Title), SourceIDs: a.draft.request.SourceIDs,
		Failure: sdk.ReasonOf(a.cap.failure),
	}
	if a.draft.approved != nil {
		e.PendingID = a.draft.approved.ID
	}
	a.exceeded = e
	refusal := sdk.Errorf(sdk.Denied, "depth_exceeded", "reflection depth %d would exceed namespace max_reflection_depth %d (namespace='%s')",
		depth, a.cap.most, a.memory.Namespace).
		WithHint("%s sets this limit; see the settings in force", a.cap.decidedBy).
		WithAction("governance explain", "namespace", a.memory.Namespace).
		WithDetail("attempted", depth).WithDetail("cap", a.cap.most).
		WithDetail("namespace", a.memory.Namespace).WithDetail("decided_by", a.cap.decidedBy)
	if a.cap.failure != nil {
		refusal = refusal.WithHint("the settings of %s can't be read, so no memory may be reflected on: %s", a.cap.decidedBy, a.cap.failure).
			WithDetail("failure", sdk.ReasonOf(a.cap.failure))
	}
	return refusal
}

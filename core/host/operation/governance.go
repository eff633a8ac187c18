package operation

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/governance"
)

// governances are the operations on the settings of namespaces.
func governances() []Operation {
	return []Operation{
		define(Operation{
			Name: "governance_get", Method: "GET", Path: "/v1/governance/{namespace}", Scope: core.ScopeMemoryRead, ReadOnly: true, Idempotent: true,
			Doc: "Show what one level itself sets.",
		}, ofLevel(func(in *GovernanceGet) *string { return &in.Namespace }), governanceGet),
		define(Operation{
			Name: "governance_explain", Method: "GET", Path: "/v1/governance/{namespace}/explain", Scope: core.ScopeMemoryRead, ReadOnly: true, Idempotent: true,
			Doc: "Show the settings in force in a namespace, and the level that set each.",
		}, ofLevel(func(in *GovernanceExplain) *string { return &in.Namespace }), governanceExplain),
		define(Operation{
			Name: "governance_set", Method: "PUT", Path: "/v1/governance/{namespace}", Scope: core.ScopeOperate, Idempotent: true,
			Doc: "Set fields of a level; the others stay as they are.",
		}, fromLevel(func(in *GovernanceSet) *string { return &in.Namespace }), governanceSet),
		define(Operation{
			Name: "governance_unset", Method: "DELETE", Path: "/v1/governance/{namespace}", Scope: core.ScopeOperate, Idempotent: true,
			Doc: "Unset fields of a level, or all of them, so that the levels above decide.",
		}, fromLevel(func(in *GovernanceUnset) *string { return &in.Namespace }), governanceUnset),
	}
}

// ofLevel is the place of a request that names a level: a namespace, or "*" for all. The
// governor checks whether the name is valid, since it must be possible to remove settings
// that are stored under an invalid name.
func ofLevel[In any](of func(*In) *string) func(context.Context, *Call, *In) (place, error) {
	return func(_ context.Context, _ *Call, in *In) (place, error) {
		level := *of(in)
		if level == core.EveryNamespace {
			level = "**"
		}
		return place{namespaces: []string{level}}, nil
	}
}

// fromLevel is ofLevel for a change. A level's settings apply to all namespaces below it,
// so the caller has to reach these too.
func fromLevel[In any](of func(*In) *string) func(context.Context, *Call, *In) (place, error) {
	return func(_ context.Context, _ *Call, in *In) (place, error) {
		level := *of(in)
		if level == core.EveryNamespace {
			return place{namespaces: []string{"**"}}, nil
		}
		return place{namespaces: []string{level + below}}, nil
	}
}

// GovernanceGet names a level.
type GovernanceGet struct {
	Namespace string `json:"namespace"`
}

func governanceGet(ctx context.Context, c *Call, in *GovernanceGet) (*governance.Record, error) {
	record, err := c.Host.Governance.Get(ctx, in.Namespace)
	if err == nil && record == nil {
		record = &governance.Record{Namespace: in.Namespace}
	}
	return record, err
}

// GovernanceExplain names a namespace.
type GovernanceExplain struct {
	Namespace string `json:"namespace"`
}

func governanceExplain(ctx context.Context, c *Call, in *GovernanceExplain) (*governance.Explanation, error) {
	return c.Host.Governance.Explain(ctx, in.Namespace)
}

// GovernanceSet has the assignments for a level: see [governance.Governor.Set].
type GovernanceSet struct {
	Namespace string `json:"namespace"`
	// Assignments are texts such as "max_reflection_depth=2", 1 to 100.
	Assignments []string `json:"assignments"`
	// IfVersion is the version that the level must have: see [EntityVersion]. "" accepts
	// any.
	IfVersion string `json:"if_version,omitempty"`
}

func (in *GovernanceSet) check() error {
	return governance.CheckSet(in.Namespace, in.Assignments...)
}

func (in *GovernanceUnset) check() error {
	return governance.CheckUnset(in.Namespace, in.Fields...)
}

func governanceSet(ctx context.Context, c *Call, in *GovernanceSet) (*governance.Record, error) {
	record, err := c.Host.Governance.SetIf(ctx, in.Namespace, in.IfVersion, in.Assignments...)
	if err != nil {
		return nil, err
	}
	return record, c.Host.Copies.CopySettings(ctx, in.Namespace)
}

// GovernanceUnset has the fields to remove from a level; none means all.
type GovernanceUnset struct {
	Namespace string   `json:"namespace"`
	Fields    []string `json:"fields,omitempty"`
	// IfVersion is the version that the level must have: see [EntityVersion]. "" accepts
	// any.
	IfVersion string `json:"if_version,omitempty"`
}

func governanceUnset(ctx context.Context, c *Call, in *GovernanceUnset) (*governance.Record, error) {
	record, err := c.Host.Governance.UnsetIf(ctx, in.Namespace, in.IfVersion, in.Fields...)
	if err != nil {
		return nil, err
	}
	return record, c.Host.Copies.CopySettings(ctx, in.Namespace)
}

package policy

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy/program"
)

func reflectPoint() point[policypoint.ReflectInput, policypoint.Permission] {
	type in = policypoint.ReflectInput
	return point[in, policypoint.Permission]{
		definition: denying(policypoint.Reflect, "agent_id", "Whether a reflection may be written. Whatever a policy decides, the namespace's depth cap applies.", true),
		inputs: []input[in]{
			text("ns", "where the reflection goes", func(x *in) *string { return &x.Namespace }, namespaceSize),
			text("agent_id", "who reflects", func(x *in) *string { return &x.AgentID }, wordSize),
			text("kind", "reflection, semantic or procedural", func(x *in) *string { return &x.Kind }, wordSize),
			text("title", "its title", func(x *in) *string { return &x.Title }, titleSize),
			computed("tags", "list(string)", "its tags", func(x *in) program.Value { return program.Any(x.Tags) }, tagCount, wordSize),
			whole("depth", "its depth: 1 if all its sources are observations", func(x *in) *int64 { return &x.Depth }),
			whole("cap", "the greatest depth that the namespace allows", func(x *in) *int64 { return &x.Cap }),
			whole("priority", "1 to 10", func(x *in) *int64 { return &x.Priority }),
			decimal("confidence", "0 to 1", func(x *in) *float64 { return &x.Confidence }),
			computed("source_ids", "list(string)", "what it reflects on", func(x *in) program.Value { return program.Any(x.SourceIDs) }, listCount, wordSize),
			computed("source_namespaces", "list(string)", "the sources' namespaces, one for each", func(x *in) program.Value { return program.Any(x.SourceNamespaces) }, listCount, namespaceSize),
			computed("source_kinds", "list(string)", "the sources' kinds, one for each", func(x *in) program.Value { return program.Any(x.SourceKinds) }, listCount, wordSize),
		},
		fields: permission(),
	}
}

// Reflect implements [policypoint.ReflectPolicy].
func (p *Policies) Reflect(ctx context.Context, r core.Reader, in *policypoint.ReflectInput) (out policypoint.Permission) {
	out, out.Decision = decide(ctx, r, p, p.points.reflect, in.Namespace, in)
	return out
}

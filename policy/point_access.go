package policy

import (
	"context"

	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy/program"
)

func accessPoint() point[policypoint.AccessInput, policypoint.Permission] {
	type in = policypoint.AccessInput
	return point[in, policypoint.Permission]{
		definition: denying(policypoint.Access, "operation", "Whether a caller may use an operation in a namespace.", false),
		inputs: []input[in]{
			text("subject", "who was authorised: a token's subject, or operator on the command line", func(x *in) *string { return &x.Subject }, wordSize),
			truth("local", "whether the request comes from the command line on this machine", func(x *in) *bool { return &x.Local }),
			text("operation", "what is to be done, such as memory_reflect", func(x *in) *string { return &x.Operation }, wordSize),
			text("scope", "what a token needs for it, such as memory:write", func(x *in) *string { return &x.Scope }, wordSize),
			text("ns", "the namespace; empty for what belongs to the host", func(x *in) *string { return &x.Namespace }, namespaceSize),
			computed("scopes", "list(string)", "the token's scopes; * is all", func(x *in) program.Value { return program.Any(x.Scopes) }, tagCount, wordSize),
			computed("namespaces", "list(string)", "the token's namespaces: a/b, a/**, **", func(x *in) program.Value { return program.Any(x.Namespaces) }, tagCount, namespaceSize),
		},
		fields: permission(),
	}
}

// accessKey appends all of an input to some bytes, which differ for different inputs.
func accessKey(to []byte, in *policypoint.AccessInput) []byte {
	if in.Local {
		to = append(to, 'l') // no number of texts
	}
	return appendTexts(appendTexts(appendTexts(to, in.Subject, in.Operation, in.Scope, in.Namespace), in.Scopes...), in.Namespaces...)
}

// Access decides whether a caller may do something.
func (p *Policies) Access(ctx context.Context, in *policypoint.AccessInput) (out policypoint.Permission) {
	out, out.Decision = decide(ctx, nil, p, p.points.access, in.Namespace, in)
	return out
}

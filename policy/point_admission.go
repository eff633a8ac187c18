package policy

import (
	"context"

	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy/program"
)

func admissionPoint() point[policypoint.AdmissionInput, policypoint.Permission] {
	type in = policypoint.AdmissionInput
	return point[in, policypoint.Permission]{
		definition: denying(policypoint.Admission, "plugin", "Whether a plugin may run. It is decided before each run's first call of the plugin, and again after an instance of it has ended.", true),
		inputs: []input[in]{
			text("ns", "the namespace in which it is to run", func(x *in) *string { return &x.Namespace }, namespaceSize),
			text("plugin", "publisher/name", func(x *in) *string { return &x.Plugin }, wordSize),
			text("version", "its version", func(x *in) *string { return &x.Version }, wordSize),
			text("digest", "sha256:… of its files", func(x *in) *string { return &x.Digest }, wordSize),
			computed("kinds", "list(string)", "evaluator, generator, corrector", func(x *in) program.Value { return program.Any(x.Kinds) }, 8, wordSize),
			text("runtime", "process or wasm", func(x *in) *string { return &x.Runtime }, wordSize),
			computed("capabilities", "list(string)", "what it was granted: network:host:port, fs:path, env:NAME, host:service", func(x *in) program.Value { return program.Any(x.Capabilities) }, tagCount, namespaceSize),
			truth("shipped", "whether it came with the host", func(x *in) *bool { return &x.Shipped }),
			truth("locked", "whether a lock pins it", func(x *in) *bool { return &x.Locked }),
		},
		fields: permission(),
	}
}

// Admission decides whether a plugin may run.
func (p *Policies) Admission(ctx context.Context, in *policypoint.AdmissionInput) (out policypoint.Permission) {
	out, out.Decision = decide(ctx, nil, p, p.points.admission, in.Namespace, in)
	return out
}

package policy

import (
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy/program"
)

// input is a variable of a point's policies, with a function that gets it from the
// point's Go input.
type input[I any] struct {
	name, kind, doc string
	get             func(*I) program.Value
	// sizes are as in [program.Variable].
	sizes []uint64
	// set puts a recorded value into the Go input. nil is for what follows from other inputs, and
	// for what no rule of the host reads.
	set func(in *I, recorded any)
}

// text, whole, decimal and truth are variables that are a field of the Go input.

func text[I any](name, doc string, at func(*I) *string, size uint64) input[I] {
	return input[I]{
		name: name, kind: "string", doc: doc, sizes: []uint64{size}, get: func(in *I) program.Value { return program.Text(*at(in)) },
		set: func(in *I, v any) { *at(in), _ = v.(string) },
	}
}

func whole[I any](name, doc string, at func(*I) *int64) input[I] {
	return input[I]{
		name: name, kind: "int", doc: doc, get: func(in *I) program.Value { return program.Int(*at(in)) },
		set: func(in *I, v any) { *at(in) = int64(number(v)) },
	}
}

func decimal[I any](name, doc string, at func(*I) *float64) input[I] {
	return input[I]{
		name: name, kind: "double", doc: doc, get: func(in *I) program.Value { return program.Double(*at(in)) },
		set: func(in *I, v any) { *at(in) = number(v) },
	}
}

func truth[I any](name, doc string, at func(*I) *bool) input[I] {
	return input[I]{
		name: name, kind: "bool", doc: doc, get: func(in *I) program.Value { return program.Bool(*at(in)) },
		set: func(in *I, v any) { *at(in) = v == true },
	}
}

// factor is a variable for a number that may be absent; get has what counts in its place.
func factor[I any](name, doc string, get func(*I) float64, at func(*I) **float64) input[I] {
	return input[I]{
		name: name, kind: "double", doc: doc, get: func(in *I) program.Value { return program.Double(get(in)) },
		set: func(in *I, v any) { *at(in) = new(number(v)) },
	}
}

// computed is a variable that isn't a field of the Go input.
func computed[I any](name, kind, doc string, get func(*I) program.Value, sizes ...uint64) input[I] {
	return input[I]{name: name, kind: kind, doc: doc, get: get, sizes: sizes}
}

// number is a recorded number, whole or not; 0 if it isn't one.
func number(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	}
	return 0
}

// Sizes of texts, for the static cost.
const (
	namespaceSize = 512
	titleSize     = 512
	wordSize      = 128 // ids, kinds, tags
	tagCount      = 50
	listCount     = 1000
)

// facts are the inputs that describe a memory.
func facts[I any](of func(*I) *policypoint.MemoryFacts) []input[I] {
	return []input[I]{
		text("memory_id", "the memory's id", func(x *I) *string { return &of(x).MemoryID }, wordSize),
		text("kind", "observation, reflection, semantic, procedural or notification", func(x *I) *string { return &of(x).Kind }, wordSize),
		text("agent_id", "who wrote it", func(x *I) *string { return &of(x).AgentID }, wordSize),
		computed("tags", "list(string)", "its tags", func(x *I) program.Value { return program.Any(of(x).Tags) }, tagCount, wordSize),
		whole("priority", "1 to 10", func(x *I) *int64 { return &of(x).Priority }),
		decimal("importance", "0 to 1", func(x *I) *float64 { return &of(x).Importance }),
		decimal("confidence", "0 to 1: how sure its author was", func(x *I) *float64 { return &of(x).Confidence }),
		whole("reflection_depth", "its depth: 0 for an observation", func(x *I) *int64 { return &of(x).ReflectionDepth }),
		decimal("revalidation_score", "utility that the gate's last decision found, if gated", func(x *I) *float64 { return &of(x).Revalidation }),
	}
}

// denying is the definition of a point that allows or denies, and denies if it fails.
// subject is the input that names the subject of a decision; everything is whether
// permissions are logged too.
func denying(name policypoint.Point, subject, doc string, everything bool) definition {
	return definition{
		name: name, subject: subject, doc: doc, failure: "deny",
		safe:    func(named) []any { return []any{false, "policy_failed", "the policy failed"} },
		notable: func(_ named, out []any) bool { return everything || out[0] == false },
	}
}

// permission are the fields of a point that allows or denies.
func permission() []field[policypoint.Permission] {
	return []field[policypoint.Permission]{
		{"allow", "bool", "whether it is allowed", func(o *policypoint.Permission, v any) { o.Allow = v.(bool) }, nil, false},
		{"code", "string", "a name for the refusal, in snake_case", func(o *policypoint.Permission, v any) { o.Code = v.(string) }, nil, true},
		{"reason", "string", "a line that says why", func(o *policypoint.Permission, v any) { o.Reason = v.(string) }, nil, true},
	}
}

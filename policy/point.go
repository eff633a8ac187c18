package policy

import (
	"fmt"
	"sync"

	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy/defaults"
	"github.com/reflectory/reflectory/policy/format"
	"github.com/reflectory/reflectory/policy/program"
)

// field is a field of a point's outcome, with a function that sets it. Values have the Go
// type of the field's CEL type; nil means that it was left out.
type field[O any] struct {
	name, kind, doc string
	set             func(*O, any)
	values          []string
	optional        bool
}

// point is a policy point with the Go types of its input and outcome.
type point[I, O any] struct {
	definition
	inputs []input[I]
	fields []field[O]
	gets   []func(*I) program.Value
}

// definition is a policy point without its Go types.
type definition struct {
	name policypoint.Point
	doc  string
	// failure describes what safe does.
	failure string
	// safe returns the outcome's fields if no policy could decide.
	safe func(named) []any
	// subject is the input that names the subject of a decision.
	subject string
	// ranges are the ranges of the outcome's numbers, by field.
	ranges map[string]program.Range
	// notable is whether a decision is always logged. nil means never.
	notable func(in named, fields []any) bool

	env *program.Env
	// base decides if no file does. It always has an output. It is compiled when it is
	// first needed, which takes milliseconds.
	base func() *Policy
}

// named looks inputs up by their names.
type named struct {
	env *program.Env
	in  program.Inputs
}

func (n named) get(name string) any { return n.in.Input(n.env.Index(name)).Go() }

// bound is a Go input as the variables of its point.
type bound[I any] struct {
	in   *I
	gets []func(*I) program.Value
}

// Input implements [program.Inputs].
func (b *bound[I]) Input(i int) program.Value { return b.gets[i](b.in) }

// recorded is the Go input of a recorded decision, and whether the record has all of it, texts
// aside: an older record lacks some, and so does a policy's that masks them.
func (p *point[I, O]) recorded(values map[string]any) (in *I, whole bool) {
	in, whole = new(I), true
	for i := range p.inputs {
		if set := p.inputs[i].set; set != nil {
			value, known := values[p.inputs[i].name]
			whole = whole && (known || p.inputs[i].kind == "string")
			set(in, value)
		}
	}
	return in, whole
}

// build completes a point from its tables. A mistake in them is a defect.
func (p *point[I, O]) build() *definition {
	var o program.Options
	for _, v := range p.inputs {
		o.Variables = append(o.Variables, program.Variable{Name: v.name, Type: v.kind, Doc: v.doc, Sizes: v.sizes})
		p.gets = append(p.gets, v.get)
	}
	for _, f := range p.fields {
		field := program.Field{Name: f.name, Type: f.kind, Doc: f.doc, Values: f.values, Optional: f.optional}
		if limits, limited := p.ranges[f.name]; limited {
			field.Range = &limits
		}
		o.Fields = append(o.Fields, field)
	}
	var err error
	if p.env, err = program.NewEnv(o); err != nil {
		panic(fmt.Sprintf("policy: environment of point %s: %v", p.name, err))
	}
	p.base = sync.OnceValue(p.compileDefault)
	return &p.definition
}

// compileDefault compiles the point's default file. A mistake in it is a defect,
// which the file's own test finds.
func (d *definition) compileDefault() *Policy {
	text, err := defaults.Files.ReadFile(string(d.name) + ".yaml")
	if err != nil {
		panic(fmt.Sprintf("policy: default of point %s: %v", d.name, err))
	}
	parsed, found := format.Parse(defaults.Name(string(d.name)), text)
	compiled := program.Compile(d.env, parsed, found)
	if compiled == nil || compiled.Optional() {
		panic(fmt.Sprintf("policy: default of point %s leaves cases open or doesn't compile: %v", d.name, found.Err()))
	}
	return &Policy{point: d, program: compiled}
}

// outcome makes the Go outcome from fields.
func (p *point[I, O]) outcome(fields []any) O {
	var out O
	for i, f := range p.fields {
		if fields[i] != nil {
			f.set(&out, fields[i])
		}
	}
	return out
}

// Points are the policy points of the host: the inputs and outputs of their policies, and
// what decides if no file does. It is immutable.
type Points struct {
	retention *point[policypoint.RetentionInput, policypoint.RetentionOutcome]
	gate      *point[policypoint.GateInput, policypoint.GateOutcome]
	reflect   *point[policypoint.ReflectInput, policypoint.Permission]
	loop      *point[policypoint.LoopInput, policypoint.LoopOutcome]
	injection *point[policypoint.InjectionInput, policypoint.InjectionOutcome]
	routing   *point[policypoint.RoutingInput, policypoint.RoutingOutcome]
	admission *point[policypoint.AdmissionInput, policypoint.Permission]
	access    *point[policypoint.AccessInput, policypoint.Permission]

	list    []*definition
	folders []TextFolder
}

// AllPoints returns the points. It makes them once for the whole process, since an
// environment of CEL takes about as long to make as all else that a host does to open.
func AllPoints() *Points { return points() }

var points = sync.OnceValue(func() *Points {
	p := &Points{}
	p.retention = add(p, retentionPoint())
	p.gate = add(p, gatePoint())
	p.reflect = add(p, reflectPoint())
	p.loop = add(p, loopPoint())
	p.injection = add(p, injectionPoint())
	p.routing = add(p, routingPoint())
	p.admission = add(p, admissionPoint())
	p.access = add(p, accessPoint())
	return p
})

// add completes a point and lists it.
func add[I, O any](all *Points, p point[I, O]) *point[I, O] {
	all.list = append(all.list, p.build())
	return &p
}

// Names lists the points.
func (p *Points) Names() []policypoint.Point {
	var names []policypoint.Point
	for _, d := range p.list {
		names = append(names, d.name)
	}
	return names
}

// find returns a point by its name.
func (p *Points) find(name policypoint.Point) (*definition, error) {
	for _, d := range p.list {
		if d.name == name {
			return d, nil
		}
	}
	return nil, unknownPoint(name, p.pointNames())
}

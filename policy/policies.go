package policy

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy/program"
)

// Options are what [New] needs.
type Options struct {
	// Set decides at first. nil means the defaults.
	Set *Set
	// Source returns the set that decides: within a transaction, the one that its reader
	// finds; the reader is nil outside of transactions. If it fails, the decision is the
	// point's safe outcome. nil means the set in Set, or the set of the last Replace.
	Source func(context.Context, core.Reader) (*Set, error)
	// Log is called with each decision that is to be recorded, in the goroutine that
	// decides; for a decision in a transaction, after the transaction's end, if
	// its reader is a [policypoint.Asking]. nil records nothing.
	Log func(context.Context, *Record)
	// Decided is called with the point and the outcome of each decision, recorded or not: the
	// outcome's word, such as "allow", or "failed" if no policy could decide. It must be safe for
	// concurrent use and return soon. It may be nil.
	Decided func(point policypoint.Point, word string)
	// Clock gives the times of records. nil means the system clock.
	Clock core.Clock
	// SampleEvery means that one in this number of decisions that change nothing is
	// recorded: 0 means 100, that is 1 %.
	SampleEvery uint64
	// SampleFrom is the number at which counting begins. It should be random, so that
	// programs with few decisions record the same share on average.
	SampleFrom uint64
}

// Policies decide at all points, with a set that can be replaced as a whole. It
// implements the policy interfaces of core, and is safe for concurrent use.
type Policies struct {
	points  *Points
	current atomic.Pointer[Set]
	source  func(context.Context, core.Reader) (*Set, error)
	log     *sampler
	decided func(policypoint.Point, string)
	clock   core.Clock
}

// New returns policies that decide with a set.
func New(points *Points, o Options) *Policies {
	p := &Policies{points: points, source: o.Source, decided: o.Decided, clock: o.Clock}
	if p.clock == nil {
		p.clock = core.SystemClock{}
	}
	if o.Log != nil {
		p.log = newSampler(points, &o)
	}
	if o.Set == nil {
		o.Set = points.Defaults()
	}
	p.current.Store(o.Set)
	return p
}

// Set returns the set in force outside transactions: the first set, or the set of the last
// Replace.
func (p *Policies) Set() *Set { return p.current.Load() }

// deciding is the set that decides now. If its source fails, it is a set that still knows
// what a record must leave out.
func (p *Policies) deciding(ctx context.Context, r core.Reader) (*Set, error) {
	if p.source == nil {
		return p.current.Load(), nil
	}
	set, err := p.source(ctx, r)
	if err != nil {
		return p.current.Load(), err
	}
	return set, nil
}

// Replace puts another set in force. Decisions in progress use the old one.
func (p *Policies) Replace(set *Set) { p.current.Store(set) }

// worded is an outcome with a word for it.
type worded interface{ Word() string }

// decide decides at a point with Go types. r is the reader of the transaction; nil if there is
// none.
func decide[I any, O worded](ctx context.Context, r core.Reader, p *Policies, at *point[I, O], namespace string, in *I) (O, policypoint.Decision) {
	inputs := named{at.env, &bound[I]{in, at.gets}}
	set, err := p.deciding(ctx, r)
	var began time.Time
	if p.log != nil {
		began = p.clock.Now()
	}
	var made decided
	if err == nil {
		made = decideOnce(ctx, set, at, namespace, inputs, in)
	} else {
		made = at.undecided(namespace, inputs, err)
	}
	if p.log != nil {
		ended := p.clock.Now()
		made.Latency = ended.Sub(began)
		p.log.log(ctx, r, set, &at.definition, made, inputs, ended)
	}
	out := at.outcome(made.fields)
	if p.decided != nil {
		p.decided(made.Point, wordOf(out, made.Failure))
	}
	return out, made.Decision
}

// decideOnce is [Set.decide], unless the set has decided about equal inputs before: see [kept].
func decideOnce[I, O any](ctx context.Context, set *Set, at *point[I, O], namespace string, inputs named, in *I) decided {
	access, keeps := any(in).(*policypoint.AccessInput)
	if !keeps || ctx.Err() != nil { // a call that has ended gets the safe outcome
		return set.decide(ctx, &at.definition, namespace, inputs)
	}
	var space [256]byte
	key := accessKey(space[:0], access)
	made, known := set.kept.get(key)
	if !known {
		made = set.decide(ctx, &at.definition, namespace, inputs)
		set.kept.put(key, made)
	}
	return made
}

// undecided is the decision if there is no usable set of policies.
func (d *definition) undecided(namespace string, in named, err error) decided {
	base := d.base()
	return decided{policy: base, fields: d.safe(in), Decision: policypoint.Decision{
		Point: d.name, Namespace: namespace, File: base.File(), Digest: base.Digest(), Failure: core.NewErrorInfo(err), Unread: err,
	}}
}

// decided is a decision with the outcome's fields.
type decided struct {
	policypoint.Decision
	fields []any
	policy *Policy
}

// wordOf is an outcome in a word.
func wordOf(out worded, failure *core.ErrorInfo) string {
	if failure != nil {
		return "failed"
	}
	return out.Word()
}

// decide asks the policies of a point that apply to a namespace until one has an output.
// If a policy fails, the result is the point's safe outcome: a policy that can't be
// evaluated never lets a laxer policy decide.
func (s *Set) decide(ctx context.Context, d *definition, namespace string, in named) decided {
	for policy := range s.chain(d, namespace) {
		made, ok := policy.decide(ctx, namespace, in)
		if ok {
			return made
		}
	}
	panic("policy: the default of point " + string(d.name) + " left a case open") // build checks that it can't
}

// decide asks one policy. ok is false if the policy has no output, so that the next policy
// is asked.
func (p *Policy) decide(ctx context.Context, namespace string, in named) (made decided, ok bool) {
	result, err := p.program.Run(ctx, in.in)
	if err == nil && !result.Decided {
		return decided{}, false
	}
	made = p.made(namespace, result)
	if err != nil {
		made.Failure = core.NewErrorInfo(err)
		made.fields = p.point.safe(in)
	}
	return made, true
}

func (p *Policy) made(namespace string, result program.Result) decided {
	source := p.program.Policy()
	return decided{policy: p, fields: result.Fields, Decision: policypoint.Decision{
		Point: p.point.name, Namespace: namespace, File: source.File, Digest: source.Digest,
		Rule: result.Match.Rule, Path: result.Match.Path, Condition: result.Match.Condition,
		Explanation: result.Explanation, Cost: result.Cost,
	}}
}

// Package operation has everything that a caller can ask a host to do, in one table. The
// command line, HTTP, MCP and the web pages use it, so that a request gives the same
// result, and the same refusal, wherever it comes from.
//
// A file has the operations of a noun, and each function is a verb. What all operations
// share is done here, before the function is called: checking who may do it (the caller's
// scopes and namespaces, then the access policy, whose decision is recorded), completing
// short ids, and limiting how long it may take. Nothing above this package decides any of
// this.
package operation

import (
	"context"
	"io"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/sdk"
)

// Operation is one thing that a caller can ask a host to do.
type Operation struct {
	// Name is a noun and a verb, such as memory_get. It is stable.
	Name string
	// Method and Path are its route over HTTP, such as GET and /v1/memories/{id}. A name
	// in braces is a field of the request, by its JSON name.
	Method, Path string
	// Doc describes it in one line.
	Doc string
	// Scope is the scope that a caller must have, unless it has one of Or: see
	// [Operation.May].
	Scope core.Scope
	Or    []core.Scope
	// ReadOnly is whether it changes nothing, except counts and records of its use.
	ReadOnly bool
	// Destructive is whether it removes something.
	Destructive bool
	// Idempotent is whether a second call with the same request changes nothing more.
	Idempotent bool
	// Long is whether it may take more than [Deadline].
	Long bool
	// Job is the type of the jobs that do it for callers that don't wait: see
	// [Operation.AsJob]. "" means that it is always done within its request.
	Job job.Type
	// Secret is whether its result has a secret, which is returned once: it is never
	// stored, not even for a repeated request, and never logged.
	Secret bool
	// NoStore is whether it needs no store, so that none is opened for it.
	NoStore bool
	// Body is whether the call's Body is part of the request, and Sink whether a part of
	// the result is written to its Sink.
	Body, Sink bool

	// main is whether it concerns the host itself, or data of which each database of tenants has a
	// copy, so that the main database does it. listed is whether it lists what several databases
	// have, one after the other. See [Call.spread].
	main, listed bool
	// named is whether what it makes carries the name of a call with an idempotency key, so that the
	// call may be repeated after a crash: see [Call.named].
	named bool

	in, out reflect.Type
	// where returns the place of a request, and completes its short ids.
	where func(context.Context, *Call, any) (place, error)
	do    func(context.Context, *Call, any) (any, error)
}

// Deadline is the time limit of an operation that isn't Long, measured from the moment when
// the store is open. It is longer than any such operation needs, and shorter than callers
// wait.
const Deadline = 10 * time.Second

// In is the type of the request, a struct to which [Do] takes a pointer.
func (o *Operation) In() reflect.Type { return o.in }

// Out is the type of the result.
func (o *Operation) Out() reflect.Type { return o.out }

// Scopes are the scopes of which a caller needs one, the usual one first.
func (o *Operation) Scopes() []core.Scope { return append([]core.Scope{o.Scope}, o.Or...) }

// May reports whether a caller has a scope that the operation needs.
func (o *Operation) May(c core.Caller) bool {
	return c.Has(o.Scope) || slices.ContainsFunc(o.Or, c.Has)
}

// Call is a call without its request. Its caller is in the context.
type Call struct {
	// Host does the operation.
	Host *host.Host
	// Queue lets a job do long work, for a caller that doesn't wait for a model: the result is
	// then a [JobQueued], at once. Work without a model, such as a check against a schema, and
	// an operation that is never a job, is done within the call.
	Queue bool
	// Events is called with what happens during the call, in order; nil drops it. Pieces
	// includes the pieces of outputs, also while the call waits for a run or a job of this host.
	Events func(core.Event)
	Pieces bool
	// Progress is called with the call's progress; nil drops it.
	Progress func(Progress)
	// Body is the part of a request that is too large for a field, such as an import; nil
	// means empty. Sink takes such a part of a result, for example an export.
	Body io.Reader
	Sink io.Writer
	// IdempotencyKey makes sure that an operation that writes is done only once: a second
	// call with the same key and request gets the outcome of the first for
	// [idempotency.Lifetime], and a different request is refused. "" means no key. See
	// package idempotency for what is guaranteed after a crash. Replayed, if set, is set
	// to whether the outcome is an earlier call's.
	IdempotencyKey string
	Replayed       *bool
	// Stopping ends once the caller's server stops: a request that waits is then answered with the
	// state so far. Nil means never.
	Stopping context.Context
	// By, if not nil, receives the host that does the call: the host of one of the databases,
	// see [host.Databases.All].
	By **host.Host
	// Local is whether the caller is a process of the operator on this machine: the program
	// itself, or a command over the socket. A call over the network isn't local, whatever its
	// token.
	Local bool

	caller    core.Caller
	operation *Operation
	// chosen is whether Host is already the host of the database that the call concerns.
	chosen bool
	// runID is the id of the run that a job starts; "" for a new id.
	runID string
	// runSession is the session of the run whose nodes call, by its name in the store.
	runSession string
	// from is the run as the previous host held it, if a run is taken over; otherwise nil.
	from *run.Held
	// memory is the memory that the request names, which was read to find its namespace.
	memory *core.Memory
	// links are the links of that memory, if the request asks for them.
	links memory.Links
	// name is the name of what a call with an idempotency key makes; "" without a key.
	name string
	// loaded is what [loaded] read from the request; nil if nothing.
	loaded any
}

// Progress is the progress of a long operation.
type Progress struct {
	// Doing is the current step, such as "checking", if there are several.
	Doing string
	// What is what is counted, such as "memories", and Done how many are done.
	What string
	Done int64
	// Total is how many there are; 0 if that isn't known.
	Total int64
	// Bytes is how many bytes were moved; 0 if they aren't counted.
	Bytes int64
}

// progress reports the call's progress.
func (c *Call) progress(p Progress) {
	if c.Progress != nil {
		c.Progress(p)
	}
}

// place is where a request is done: the namespaces that it concerns.
type place struct {
	// namespaces are all namespaces that it reads or changes. A namespace with [below] at its
	// end includes everything below it. None means the host itself.
	namespaces []string
	// absent makes the error for a caller that may not know that the thing with the request's id
	// exists; nil if the request names the namespace itself. See [absence].
	absent func() error
}

// Table lists the operations, sorted by name.
func Table() []Operation {
	return sorted(
		memories(), knowledge(), pending(), runs(), evaluations(), gated(), evidence(), governances(), policies(),
		audit(), stores(), plugins(), tokens(), logins(), statuses(), decided(), histories(), attempts(), sessions(), discoveries(), dreams(), dreamPasses(), jobs(), jobResults(), reflections(), stats(), snapshots(), hosts(),
	)
}

// define makes an operation from a function.
func define[In, Out any](o Operation, where func(context.Context, *Call, *In) (place, error), do func(context.Context, *Call, *In) (*Out, error)) Operation {
	o.in, o.out = reflect.TypeFor[In](), reflect.TypeFor[Out]()
	o.where = func(ctx context.Context, c *Call, in any) (place, error) { return where(ctx, c, in.(*In)) }
	o.do = func(ctx context.Context, c *Call, in any) (any, error) {
		out, err := do(ctx, c, in.(*In))
		if out == nil {
			return nil, err // not an interface that holds nil
		}
		return out, err
	}
	return o
}

// named are the operations by name, made at the first use: making the table takes longer
// than many calls. They can't be made at the start, since operations look up others.
var named struct {
	sync.Once
	list map[string]Operation
}

// Find returns the operation with a name.
func Find(name string) (Operation, error) {
	named.Do(func() {
		named.list = map[string]Operation{}
		for _, o := range Table() {
			named.list[o.Name] = o
		}
	})
	if o, known := named.list[name]; known {
		return o, nil
	}
	return Operation{}, sdk.Errorf(sdk.NotFound, "operation_not_found", "there is no operation %.100q", name)
}

// Do calls an operation. in is a pointer to its request, and the returned value is a
// pointer to its result, or nil. Both a result and an error may be returned, for example by
// a purge that is done although some files still hold its data.
func Do(ctx context.Context, c Call, name string, in any) (any, error) {
	o, err := Find(name)
	if err != nil {
		return nil, err
	}
	return o.Do(ctx, c, in)
}

// Do is [Do] for an operation of the table.
func (o *Operation) Do(ctx context.Context, c Call, in any) (any, error) {
	if reflect.TypeOf(in) != reflect.PointerTo(o.in) {
		return nil, sdk.Errorf(sdk.Internal, "request_type", "operation %s takes a *%s, not a %T", o.Name, o.in.Name(), in)
	}
	c.caller, c.operation = core.CallerOf(ctx), o
	if f, is := in.(interface{ local(is bool) }); is && !c.chosen { // a job's was checked when it was queued
		f.local(c.Local)
	}
	long := o.Long
	if c.Queue && o.Job != "" {
		if c.mayTakeLong(o, in) {
			queued, _ := o.AsJob()
			c.Queue = false
			return queued.Do(ctx, c, in)
		}
		long = false // what asks no model takes no longer than other operations
	}
	if w, is := in.(waiter); is && w.waits() {
		long = true
	}
	keyed, err := c.keyed(o)
	if err != nil {
		return nil, err
	}
	if err := c.scoped(o); err != nil {
		return nil, err
	}
	if err := c.problems(o, in); err != nil {
		return nil, err
	}
	if mayBeApart(&c, o, in) {
		calls, err := c.spread(ctx, o, in)
		if err != nil {
			return nil, err
		}
		if len(calls) > 1 {
			return o.list(ctx, calls, in)
		}
		c = *calls[0]
	}
	if c.By != nil {
		*c.By = c.Host
	}
	if !long {
		if !o.NoStore {
			if err := c.Host.Ready(ctx); err != nil && !c.replacesPolicies(o) { // waiting for a lock doesn't count towards the operation's time
				return nil, err
			}
		}
		bounded := withLimit(ctx, Deadline)
		defer bounded.end()
		ctx = bounded
		if !c.Local {
			done, err := c.Host.Limits.Turn(ctx, c.caller)
			if err != nil {
				return nil, err
			}
			defer done()
		}
	}
	var out any
	if keyed {
		out, err = c.once(ctx, o, in)
	} else if _, err = c.reached(ctx, o, in); err == nil {
		out, err = o.do(ctx, &c, in)
	}
	c.chosenNames(out)
	return out, err
}

// Allow refuses what [Operation.Do] would refuse to the context's caller, and does nothing
// else. A surface uses it for something that isn't in the table but needs the rights of an
// operation.
func (o *Operation) Allow(ctx context.Context, c Call, in any) error {
	c.caller, c.operation = core.CallerOf(ctx), o
	return c.check(ctx, o, in)
}

// check refuses a call that the caller may not make.
func (c *Call) check(ctx context.Context, o *Operation, in any) error {
	if err := c.scoped(o); err != nil {
		return err
	}
	calls, err := c.spread(ctx, o, in)
	for i := 0; err == nil && i < len(calls); i++ {
		_, err = calls[i].reached(ctx, o, in)
	}
	return err
}

// reached finds the place of a request, and refuses a caller that may not do it there.
func (c *Call) reached(ctx context.Context, o *Operation, in any) (place, error) {
	at, err := o.where(ctx, c, in)
	if err != nil {
		return at, err
	}
	if err := c.allowed(ctx, o, at); err != nil {
		return at, err
	}
	for _, namespace := range at.namespaces {
		if tenant, one := core.TenantOfPattern(namespace); one && tenant != core.EveryNamespace {
			if err := c.Host.Tenants.Holds(tenant); err != nil {
				return at, err
			}
		}
	}
	return at, nil
}

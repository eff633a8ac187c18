package operation

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/idempotency"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// A caller whose connection broke doesn't know whether a call was done. With an
// idempotency key it can repeat the call safely. Package idempotency says what that
// guarantees; this file applies it to every operation that writes, so that no operation
// has to know about it.
//
// The key is looked up before the things that the request names, since a second call to
// erase a memory, or to approve a reflection, wouldn't find the memory or the reflection
// any more. An outcome is returned only to the subject that owns the key, with the same
// namespaces as at the first call, and after asking the access policy again.
//
// The keys in the requests of memory_observe and memory_reflect are different. They
// belong to the memory: they are written with it, proven by the journal and valid for
// ever. Each item of a batch has its own key, and so does each node of a run. So an
// import that is repeated a week later stores nothing twice. A call's key can't promise
// that, since it is valid for only a day, but it covers everything that the call did.

// saved is the stored form of an outcome.
type saved struct {
	Result json.RawMessage `json:"result,omitempty"`
	// Run is the id of a result that is a run. Only the id is kept, because the run itself
	// is stored, and a purge finds it there. The caller gets the run in its present state.
	Run string `json:"run,omitempty"`
	// Snapshot is in the same way the id of a result that is a snapshot, and Duplicate is a part of
	// that result.
	Snapshot  string      `json:"snapshot,omitempty"`
	Duplicate bool        `json:"duplicate,omitempty"`
	Error     *savedError `json:"error,omitempty"`
}

// savedError is an error, reduced to what callers see of it.
type savedError struct {
	Code    sdk.Code       `json:"code"`
	Reason  string         `json:"reason,omitempty"`
	Message string         `json:"message"`
	Hint    string         `json:"hint,omitempty"`
	Try     *sdk.Action    `json:"try,omitempty"`
	Details map[string]any `json:"details,omitempty"`
	// FromPlugin is whether a plugin chose the code.
	FromPlugin bool `json:"from_plugin,omitempty"`
}

// UnmarshalJSON implements [json.Unmarshaler], with the details as [core.DecodeDetails]
// returns them, so that a surface shows the same bytes as for the error of the first call.
func (e *savedError) UnmarshalJSON(data []byte) error {
	type plain savedError
	read := struct {
		*plain
		Details map[string]json.RawMessage `json:"details"`
	}{plain: (*plain)(e)}
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	var err error
	e.Details, err = core.DecodeDetails(read.Details)
	return err
}

// keyed reports whether a call must be done only once because of its key. A key has no
// effect on an operation that changes nothing.
func (c *Call) keyed(o *Operation) (bool, error) {
	if c.IdempotencyKey == "" || o.ReadOnly {
		return false, nil
	}
	why := ""
	switch {
	case c.Body != nil || o.Name == "store_import":
		why = "it sends a file, or replaces the store"
	case o.Secret:
		why = "its result contains a secret, which is never stored"
	default:
		return true, nil
	}
	return false, sdk.Errorf(sdk.Invalid, "idempotency_key_refused", "%s takes no idempotency key: %s", o.Name, why).
		WithHint("leave the key out").WithDetail("field", "idempotency_key")
}

// once does an operation, unless an earlier call with the key did it: then it returns
// that call's outcome.
func (c *Call) once(ctx context.Context, o *Operation, in any) (any, error) {
	request := c.keyRequest(o, in)
	if first, err := c.Host.Keys.Find(ctx, request); err != nil {
		return nil, err
	} else if first != nil {
		return c.again(ctx, o, in, first)
	}
	at, err := c.reached(ctx, o, in)
	if err != nil {
		return nil, err // it wasn't done, so it has no outcome
	}
	claim, first, err := c.Host.Keys.Begin(ctx, request, at.namespaces)
	if err != nil {
		return nil, err
	}
	if first != nil { // another call was faster
		return c.again(ctx, o, in, first)
	}
	defer claim.Abandon() // if it panics
	c.name = claim.Name()
	out, err := o.do(claim.Context(ctx), c, in)
	// The call is done, and its caller gets the result, even if the outcome can't be
	// recorded. The claim then shows that the call was done.
	_ = claim.End(ctx, ending(in, out, err))
	return out, err
}

// keyRequest is a request with its key, made before short ids in it are completed.
func (c *Call) keyRequest(o *Operation, in any) *idempotency.Request {
	patterns := slices.Compact(slices.Sorted(slices.Values(c.caller.Namespaces)))
	r, is := in.(modelled)
	return &idempotency.Request{
		Subject: c.caller.Account(), Key: c.IdempotencyKey, Operation: o.keyName(), Repeatable: o.Idempotent || o.named || is && !r.asksModel(c), Body: jsontext.MustEncode([]any{patterns, in}),
	}
}

// named is the idempotency key of one of the things that a call makes: its own key, otherwise one from
// the call's name. i tells the things of a call apart.
func (c *Call) named(own string, i int) string {
	if own != "" || c.name == "" {
		return own
	}
	return c.name + "/" + strconv.Itoa(i)
}

// keyName is the operation's name for its keys. The result of an operation differs from the
// answer if a job does it, so the two have different names.
func (o *Operation) keyName() string {
	if o.Job != "" && !o.Long {
		return o.Name + " as a job"
	}
	return o.Name
}

// ending is the stored form of how a call ended.
func ending(in, out any, err error) idempotency.Ending {
	e := idempotency.Ending{Memories: memoriesIn(in, out), Again: passes(err)}
	var s saved
	switch out := out.(type) {
	case nil:
	case *RunEnded:
		s.Run = out.ID
	case *inject.Built:
		if out != nil && out.Snapshot != nil {
			s.Snapshot, s.Duplicate = out.SnapshotID, out.Duplicate
		}
	default:
		s.Result = jsontext.MustEncode(out)
	}
	if err != nil {
		cause := sdk.AsError(err)
		s.Error = &savedError{cause.Code, cause.Reason, err.Error(), cause.Hint, cause.Try, cause.Details, cause.FromPlugin}
	}
	e.Data = jsontext.MustEncode(s)
	return e
}

// passes reports whether an error is temporary, so that the same call may succeed later.
func passes(err error) bool {
	switch sdk.CodeOf(err) {
	case sdk.Unavailable, sdk.Timeout, sdk.Cancelled, sdk.Exhausted:
		return true
	default:
		return false
	}
}

// again returns the outcome of an earlier call, if the caller may still do what that call
// did.
func (c *Call) again(ctx context.Context, o *Operation, in any, first *idempotency.Outcome) (any, error) {
	if err := c.allowed(ctx, o, place{namespaces: first.Namespaces}); err != nil {
		if _, now := c.reached(ctx, o, in); now != nil {
			err = now // as in a call without a key
		}
		return nil, err
	}
	var s saved
	err := json.Unmarshal(first.Data, &s)
	var out any
	switch {
	case err != nil:
	case s.Run != "":
		var run *core.Run
		if run, err = c.Host.Runs.Get(ctx, s.Run); err == nil {
			out = &RunEnded{run}
		}
	case s.Snapshot != "":
		var snapshot *inject.Snapshot
		if snapshot, err = c.Host.Snapshots.Get(ctx, s.Snapshot); err == nil {
			out = &inject.Built{Snapshot: snapshot, Prompt: snapshot.Prompt(), Duplicate: s.Duplicate}
		}
	case len(s.Result) > 0:
		result := reflect.New(o.out)
		err, out = json.Unmarshal(s.Result, result.Interface()), result.Interface()
	}
	if err != nil {
		return nil, sdk.Wrap("give the outcome of the first call", err)
	}
	if c.Replayed != nil {
		*c.Replayed = true
	}
	if e := s.Error; e != nil {
		return out, &sdk.Error{
			Code: e.Code, Reason: e.Reason, Message: e.Message, Hint: e.Hint, Try: e.Try, Details: e.Details, FromPlugin: e.FromPlugin,
		}
	}
	return out, nil
}

// memoriesIn lists the memories whose texts may be in a request or its result: purging one of
// them removes the stored outcome. Decisions of the gate have no such texts, and results
// of runs aren't stored.
func memoriesIn(in, out any) (ids []string) {
	switch in := in.(type) {
	case *memory.LinkRequest: // a link's metadata is removed with either of its memories
		ids = append(ids, in.From, in.To)
	case *EvidenceOmega: // the note is removed with the memory
		ids = append(ids, in.MemoryID)
	case *inject.BuildRequest:
		for i := range in.Blocks {
			ids = append(ids, in.Blocks[i].MemoryID)
		}
	}
	switch out := out.(type) {
	case *core.Memory:
		ids = append(ids, out.ID)
	case *core.ReflectResult:
		ids = append(ids, out.ID)
	case *MemoryObservedAll:
		ids = append(ids, out.ids...)
	case *Recalled:
		for i := range out.Memories {
			ids = append(ids, out.Memories[i].ID)
		}
	case *inject.Built:
		for i := range out.BlocksUsed {
			ids = append(ids, out.BlocksUsed[i].MemoryID)
		}
	case *core.Knowledge:
		ids = append(ids, out.PromotedFrom)
	case *memory.Pending:
		ids = append(ids, out.Request.SourceIDs...)
	}
	return slices.DeleteFunc(ids, func(id string) bool { return id == "" })
}

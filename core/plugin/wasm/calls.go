package wasm

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/abi"
	"github.com/reflectory/reflectory/sdk/check"
)

// Prepare has the plugin check a config, and keeps the state after that.
func (i *instance) Prepare(ctx context.Context, kind sdk.Kind, c plugin.Config) error {
	return i.exchange(ctx, &request{op: abi.OpPrepare, kind: kind, config: c}, func(reply []byte, _ int64) (bool, error) {
		_, err := decodeReply[struct{}](reply)
		return false, err
	})
}

// Evaluate judges a batch.
func (i *instance) Evaluate(ctx context.Context, c plugin.Config, reqs []*sdk.EvaluateRequest) ([]sdk.EvaluateResult, error) {
	r := &request{op: abi.OpEvaluate, kind: sdk.KindEvaluator, config: c}
	for _, req := range reqs {
		item := *req
		item.Call = i.visibleCall(item.Call)
		if err := r.add(item, item.RunID); err != nil {
			return nil, err
		}
	}
	results, err := batch(ctx, i, r, refuseVerdict, func(r *abi.Evaluated) *map[string]string { return &r.Metadata })
	if err != nil {
		return nil, err
	}
	out := make([]sdk.EvaluateResult, len(results))
	for n, r := range results {
		if out[n].Err = r.Err; r.Response != nil {
			out[n].Response = &r.Response.EvaluateResponse
		}
	}
	return out, nil
}

// refuseVerdict refuses what doesn't say whether it is valid, and what no plugin
// may answer.
func refuseVerdict(r *abi.Evaluated) error {
	if r.Instead != "" {
		return check.NoVerdict(r.Instead)
	}
	return check.EvaluateResponse(&r.EvaluateResponse)
}

// Generate makes a batch of outputs. Emit functions are called on the caller's
// goroutine.
func (i *instance) Generate(ctx context.Context, c plugin.Config, reqs []*sdk.GenerateRequest) ([]sdk.GenerateResult, error) {
	r := &request{op: abi.OpGenerate, kind: sdk.KindGenerator, config: c}
	for _, req := range reqs {
		item := abi.Generate{GenerateRequest: *req, Emit: req.Emit != nil}
		item.Call = i.visibleCall(item.Call)
		if err := r.add(item, item.RunID); err != nil {
			return nil, err
		}
		if req.Emit != nil {
			r.emit = emitTo(reqs)
		}
	}
	return batch(ctx, i, r, check.GenerateResponse, func(r *sdk.GenerateResponse) *map[string]string { return &r.Metadata })
}

// Correct repairs a batch of outputs.
func (i *instance) Correct(ctx context.Context, c plugin.Config, reqs []*sdk.CorrectRequest) ([]sdk.CorrectResult, error) {
	r := &request{op: abi.OpCorrect, kind: sdk.KindCorrector, config: c}
	for _, req := range reqs {
		item := *req
		item.Call = i.visibleCall(item.Call)
		if err := r.add(item, item.RunID); err != nil {
			return nil, err
		}
	}
	return batch(ctx, i, r, check.CorrectResponse, func(r *sdk.CorrectResponse) *map[string]string { return &r.Metadata })
}

// visibleCall is what the plugin may know of its place in a run: a pure one doesn't know
// what would make equal calls differ.
func (i *instance) visibleCall(c sdk.Call) sdk.Call {
	if i.pure {
		c.RunID, c.IdempotencyKey = "", ""
	}
	return c
}

// add encodes one item, of a run. The request is of that run if all items are:
// services don't learn of another's.
func (r *request) add(item any, runID string) error {
	if len(r.items) == 0 {
		r.runID = runID
	} else if r.runID != runID {
		r.runID = ""
	}
	b, err := encode(item)
	r.items = append(r.items, b)
	return err
}

func emitTo(reqs []*sdk.GenerateRequest) func(int, string) {
	return func(item int, piece string) {
		if item < len(reqs) && reqs[item].Emit != nil {
			reqs[item].Emit(piece)
		}
	}
}

// decodeReply reads a reply whose results are of one kind. The error is the
// call's own, or reports what is wrong with the reply.
func decodeReply[R any](reply []byte) (*abi.Reply[R], error) {
	if err := check.JSON(reply); err != nil {
		return nil, check.ResponseInvalid("the reply %w", err)
	}
	var out abi.Reply[R]
	if err := json.Unmarshal(reply, &out); err != nil {
		return nil, check.ResponseInvalid("the reply is not the JSON that was asked for: %w", err)
	}
	if out.Error != nil {
		return nil, check.PluginError(out.Error.SDK())
	}
	return &out, nil
}

// batch makes a call whose reply has a result for each of its items.
func batch[R any](ctx context.Context, i *instance, r *request, refuse func(*R) error, metadata func(*R) *map[string]string) (results []sdk.Result[R], err error) {
	err = i.exchange(ctx, r, func(reply []byte, fuel int64) (keep bool, err error) {
		results, keep, err = decodeAll(reply, len(r.items), fuel, refuse, metadata)
		return keep, err
	})
	return results, err
}

// decodeAll reads the results of a batch and checks each. The fuel of the call
// goes into the metadata of the first response. Keep means that none failed.
func decodeAll[R any](reply []byte, want int, fuel int64, refuse func(*R) error,
	metadata func(*R) *map[string]string,
) (results []sdk.Result[R], keep bool, err error) {
	out, err := decodeReply[R](reply)
	if err != nil {
		return nil, false, err
	}
	if len(out.Results) != want {
		return nil, false, check.ResponseInvalid("%d results for %d requests", len(out.Results), want)
	}
	keep = true
	results = make([]sdk.Result[R], want)
	for n, r := range out.Results {
		var failure error
		switch {
		case r.Error != nil:
			failure = check.PluginError(r.Error.SDK())
		case r.Response == nil:
			failure = check.ResponseInvalid("a result without a response or an error")
		default:
			failure = refuse(r.Response)
		}
		if failure != nil {
			keep = false
			results[n].Err = failure
			continue
		}
		if fuel > 0 {
			setFuel(metadata(r.Response), fuel)
			fuel = 0
		}
		results[n].Response = r.Response
	}
	return results, keep, nil
}

// MetadataFuel is the entry of a response's metadata that holds the units of
// fuel that its call used, all items of its batch together.
const MetadataFuel = "fuel"

func setFuel(metadata *map[string]string, fuel int64) {
	if *metadata == nil {
		*metadata = map[string]string{}
	}
	(*metadata)[MetadataFuel] = strconv.FormatInt(fuel, 10)
}

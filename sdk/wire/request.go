package wire

import (
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/wire/wirepb"
)

func encodeEvaluateRequest(r *sdk.EvaluateRequest) *wirepb.EvaluateRequest {
	return &wirepb.EvaluateRequest{
		RunId: text(r.RunID), Node: text(r.Node), Iteration: int64(r.Iteration),
		Role: text(string(r.Role)), IdempotencyKey: text(r.IdempotencyKey),
		State: r.State, Output: r.Output,
	}
}

func decodeEvaluateRequest(pb *wirepb.EvaluateRequest) *sdk.EvaluateRequest {
	return &sdk.EvaluateRequest{Call: decodeCall(pb), State: pb.GetState(), Output: pb.GetOutput()}
}

func encodeGenerateRequest(r *sdk.GenerateRequest) *wirepb.GenerateRequest {
	return &wirepb.GenerateRequest{
		RunId: text(r.RunID), Node: text(r.Node), Iteration: int64(r.Iteration),
		Role: text(string(r.Role)), IdempotencyKey: text(r.IdempotencyKey),
		State: r.State, Emit: r.Emit != nil,
	}
}

// decodeGenerateRequest doesn't set Emit; the code that serves the call does.
func decodeGenerateRequest(pb *wirepb.GenerateRequest) *sdk.GenerateRequest {
	return &sdk.GenerateRequest{Call: decodeCall(pb), State: pb.GetState()}
}

func encodeCorrectRequest(r *sdk.CorrectRequest) *wirepb.CorrectRequest {
	return &wirepb.CorrectRequest{
		RunId: text(r.RunID), Node: text(r.Node), Iteration: int64(r.Iteration),
		Role: text(string(r.Role)), IdempotencyKey: text(r.IdempotencyKey),
		State: r.State, Output: r.Output,
		Errors: encodeFindings(r.Errors), Feedback: text(r.Feedback),
	}
}

func decodeCorrectRequest(pb *wirepb.CorrectRequest) *sdk.CorrectRequest {
	return &sdk.CorrectRequest{
		Call: decodeCall(pb), State: pb.GetState(), Output: pb.GetOutput(),
		Errors: decodeFindings(pb.GetErrors()), Feedback: pb.GetFeedback(),
	}
}

// callFields are the fields of every request for its place in a run.
type callFields interface {
	GetRunId() string
	GetNode() string
	GetIteration() int64
	GetRole() string
	GetIdempotencyKey() string
}

func decodeCall(pb callFields) sdk.Call {
	return sdk.Call{
		RunID: pb.GetRunId(), Node: pb.GetNode(), Iteration: int(pb.GetIteration()),
		Role: sdk.Role(pb.GetRole()), IdempotencyKey: pb.GetIdempotencyKey(),
	}
}

// commonRun is the run of a batch, or "" if its items don't belong to one run.
func commonRun[R any](reqs []*R, run func(*R) string) string {
	if len(reqs) == 0 {
		return ""
	}
	id := run(reqs[0])
	for _, r := range reqs[1:] {
		if run(r) != id {
			return ""
		}
	}
	return id
}

func evaluateRun(r *sdk.EvaluateRequest) string { return r.RunID }
func generateRun(r *sdk.GenerateRequest) string { return r.RunID }
func correctRun(r *sdk.CorrectRequest) string   { return r.RunID }

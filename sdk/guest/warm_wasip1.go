package guest

import (
	"encoding/json"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/abi"
)

// warm makes package json learn the messages. The host restores a guest's memory before
// each call, so anything not learned before the first call would be learned again in
// every call, which is nine tenths of a small call's time.
func warm() {
	findings := []sdk.Finding{{Message: "m"}}
	raw := json.RawMessage("{}")
	verdict := sdk.Verdict{Errors: findings, Output: raw, Children: map[string]sdk.Verdict{"c": {}}}
	metadata := map[string]string{"k": "v"}
	learn(abi.Request{Op: "o", Kind: "k", Config: &abi.Config{JSON: raw}, Items: raw})
	learn([]sdk.EvaluateRequest{{Call: sdk.Call{RunID: "r"}, Output: raw}})
	learn([]abi.Generate{{GenerateRequest: sdk.GenerateRequest{State: raw}, Emit: true}})
	learn([]sdk.CorrectRequest{{Output: raw, Errors: findings}})
	learn(abi.ServiceRequest{Service: "s", Body: raw})
	learn(abi.Result[json.RawMessage]{Response: &raw})
	learn(sdk.CacheRequest{Op: "o", Key: "k", Value: raw})
	learn(sdk.CacheResponse{Value: raw})
	learn(sdk.LogRequest{Message: "m", Fields: map[string]any{"k": "v"}})
	learn(abi.Reply[struct{}]{Error: abi.NewError(sdk.Errorf(sdk.Internal, "", "m"))})
	learn(abi.Reply[sdk.EvaluateResponse]{Results: []abi.Result[sdk.EvaluateResponse]{{
		Response: &sdk.EvaluateResponse{Verdict: verdict, Metadata: metadata},
	}}})
	learn(abi.Reply[sdk.GenerateResponse]{Results: []abi.Result[sdk.GenerateResponse]{{
		Response: &sdk.GenerateResponse{Output: raw, Metadata: metadata},
	}}})
	learn(abi.Reply[sdk.CorrectResponse]{Results: []abi.Result[sdk.CorrectResponse]{{
		Response: &sdk.CorrectResponse{Output: raw, Metadata: metadata},
	}}})
}

// learn writes a message and reads it back. It ignores failures, since the same failure
// would appear in every call.
func learn[T any](message T) {
	b, _ := json.Marshal(message)
	var back T
	_ = json.Unmarshal(b, &back)
}

// Command embed is an agent in Go that contains a host: a loop of functions that uses a
// memory and learns from the outcome, as the policies say.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/sdk"
)

func main() {
	ctx, ns := core.WithCaller(context.Background(), core.Operator("embed")), "guesses"
	h := must(host.Open(ctx, host.Config{Settings: must(config.Load(config.Sources{Flags: map[string]string{"data-dir": "data"}}))}))
	defer h.Close()
	must(h.Memories.Observe(ctx, &core.ObserveRequest{Namespace: ns, Content: "6", Title: "a good first guess", IdempotencyKey: "first"}))
	turn := must(h.Memories.Recall(ctx, &core.RecallRequest{Session: "s", Query: "first guess", RecallFilter: core.RecallFilter{Namespace: ns}}))
	guess := func(_ context.Context, r *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
		return &sdk.GenerateResponse{Output: must(json.Marshal(turn.Memories[0].Content + fmt.Sprint(r.Iteration)))}, nil
	}
	judge := func(_ context.Context, r *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
		return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Valid: string(r.Output) == `"62"`}}, nil
	}
	done := must(loop.Run(ctx, &loop.Options{Generator: sdk.GeneratorFunc(guess), Evaluator: sdk.EvaluatorFunc(judge), Policy: h.Policies, Namespace: ns}))
	learned := must(h.Memories.Feedback(ctx, &core.FeedbackRequest{Session: "s", Turn: turn.Turn, Outcome: core.OutcomeSuccess, Used: []string{turn.Memories[0].ID}}))
	fmt.Println(done.Status, string(done.Output), "and the memory went from", learned.Items[0].Before, "to", learned.Items[0].After)
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Panic(err) // a panic still closes the host
	}
	return v
}

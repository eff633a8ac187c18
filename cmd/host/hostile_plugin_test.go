//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/process"
)

// hostiles are programs that are no good plugins, by the names they are
// installed under. Those from the liar on never come to serve.
var hostiles = map[string]func(){
	"hostile": func() { process.Main(hostile()) },
	"stubborn": func() {
		p := hostile()
		p.Manifest.Name = "stubborn"
		_ = process.Serve(context.Background(), p, process.Options{})
		<-time.After(time.Hour) // it was asked to end
	},
	"liar": func() {
		p := hostile()
		p.Manifest.Name = "schema-eval"
		process.Main(p)
	},
	"exit-at-start": func() {
		fmt.Fprintln(os.Stderr, "no licence \x1b[2Jfound")
		os.Exit(3)
	},
	"garbage-at-start": func() {
		fmt.Println("hello, I am a plugin")
		<-time.After(time.Hour)
	},
	"endless-at-start": func() {
		flood := []byte(strings.Repeat("x", 4096))
		for {
			_, _ = os.Stdout.Write(flood)
		}
	},
}

// hostile is a plugin that serves, and misbehaves in the way that its config
// names.
func hostile() sdk.Plugin {
	return sdk.Plugin{
		Manifest: sdk.Manifest{Name: "hostile", Version: "1.0.0"},
		Evaluator: func(_ context.Context, config json.RawMessage) (sdk.Evaluator, error) {
			var c struct {
				Do string `json:"do"`
			}
			if err := json.Unmarshal(config, &c); err != nil {
				return nil, err
			}
			return sdk.EvaluatorFunc(func(context.Context, *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
				return misbehave(c.Do)
			}), nil
		},
	}
}

func misbehave(how string) (*sdk.EvaluateResponse, error) {
	r := &sdk.EvaluateResponse{Verdict: sdk.Verdict{Valid: true, Score: 1}}
	switch how {
	case "exit":
		fmt.Fprintln(os.Stderr, "out of cheese")
		os.Exit(4)
	case "crash":
		go func() { panic("cheese crash") }()
		<-time.After(time.Hour)
	case "hang":
		<-time.After(time.Hour)
	case "fork":
		// The children outlive whoever only waits for the plugin.
		for range 5 {
			if err := exec.Command("sleep", "1000").Start(); err != nil {
				return nil, err
			}
		}
	case "error":
		return nil, &sdk.Error{Code: "made_up", Reason: "a\x1b[31m b", Message: "an \x1b[2Jerror", Hint: "a \x1b]0;hint\a"}
	case "huge":
		r.Verdict.Feedback = strings.Repeat("x", 9<<20)
	case "nan":
		r.Verdict.Score = math.NaN()
	case "infinite":
		r.Verdict.Score = math.Inf(1)
	case "not JSON":
		r.Verdict.Output = json.RawMessage(`{"a":`)
	case "deep":
		r.Verdict.Output = json.RawMessage(strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000))
	case "findings":
		r.Verdict.Errors = make([]sdk.Finding, 100_000)
	case "tokens":
		r.Usage.TokensIn = math.MaxInt64
	case "cost":
		r.Usage.CostUSD = math.MaxFloat64
	case "flood":
		for i := range 20_000 {
			slog.Error("flood \x1b[2J", "n", i)
		}
	case "escapes":
		r.Verdict.Valid = false
		r.Verdict.Errors = []sdk.Finding{{Message: "\x1b[2Jfinding\u009b", Path: "/\x1b[31m"}}
		r.Verdict.Output = json.RawMessage(`"an \u001b[2Joutput"`)
	}
	return r, nil
}

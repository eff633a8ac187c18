// Command guest is the Go guest of the driver's tests: a reactor when it is built
// with -buildmode=c-shared, a WASI command otherwise.
package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"strings"
	"time"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/abi"
	"github.com/reflectory/reflectory/sdk/check"
	"github.com/reflectory/reflectory/sdk/guest"
)

func init() { guest.Register(plugin()) }

func main() { guest.Command(plugin()) }

// config says what the plugin does.
type config struct {
	Do  string `json:"do"`
	URL string `json:"url"`
	LLM string `json:"llm"`

	recalled string // while it was prepared
}

func plugin() sdk.Plugin {
	return sdk.Plugin{
		Manifest: sdk.Manifest{Name: "guest", Version: "1.0.0"},
		Evaluator: func(ctx context.Context, raw json.RawMessage) (sdk.Evaluator, error) {
			c, err := parse(raw)
			if err == nil && c.Do == "remember at prepare" {
				err = c.recall(ctx)
			}
			return sdk.EvaluatorFunc(c.evaluate), err
		},
		Generator: func(_ context.Context, raw json.RawMessage) (sdk.Generator, error) {
			c, err := parse(raw)
			return sdk.GeneratorFunc(c.generate), err
		},
		Corrector: func(_ context.Context, raw json.RawMessage) (sdk.Corrector, error) {
			c, err := parse(raw)
			return sdk.CorrectorFunc(c.correct), err
		},
	}
}

func parse(raw json.RawMessage) (*config, error) {
	c := &config{}
	if err := json.Unmarshal(raw, c); err != nil {
		return nil, err
	}
	if c.Do == "refuse" {
		return nil, errors.New("do can't be refuse")
	}
	return c, nil
}

// calls leaks from one call to the next, if anything does.
var calls int

func (c *config) evaluate(ctx context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
	calls++
	v := sdk.Verdict{Valid: true, Score: 1}
	switch c.Do {
	case "count":
		v.Feedback = fmt.Sprint(calls)
	case "world":
		v.Feedback = world()
	case "call":
		b, _ := json.Marshal(req.Call)
		v.Feedback = string(b)
	case "nan":
		v.Score = math.NaN()
	case "fail":
		return nil, sdk.Errorf(sdk.Unavailable, "upstream_down", "the upstream is down").WithHint("wait").WithDetail("tries", 3)
	case "panic":
		panic("at the disco")
	case "exit":
		fmt.Fprintln(os.Stderr, "no more")
		os.Exit(3)
	case "loop":
		for calls > 0 { //nolint:revive // that is the point
		}
	case "work":
		v.Feedback = fmt.Sprint(work(200_000))
	case "bomb":
		var all [][]byte
		for {
			all = append(all, make([]byte, 1<<20))
		}
	case "recurse":
		v.Feedback = fmt.Sprint(recurse(1 << 30))
	case "huge":
		v.Feedback = strings.Repeat("x", 9<<20)
	case "log":
		slog.Warn("look here", "n", 7)
		fmt.Fprintln(os.Stderr, "plain line")
	case "http", "service", "pester", "remember", "recall", "complete", "stale", "spy":
		return c.ask(ctx, req)
	case "remember at prepare":
		v.Feedback = c.recalled
	case "sleep":
		start := time.Now()
		time.Sleep(time.Hour)
		v.Feedback = fmt.Sprint(time.Since(start) >= time.Hour)
	default:
		v.Output = req.Output
	}
	return &sdk.EvaluateResponse{Verdict: v}, nil
}

// ask has the host do something.
func (c *config) ask(ctx context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
	v := sdk.Verdict{Valid: true, Score: 1}
	switch c.Do {
	case "http":
		res, err := guest.Fetch(abi.HTTPRequest{URL: c.URL, Header: map[string][]string{"X-Own": {"1"}}})
		if err != nil {
			return nil, err
		}
		v.Feedback = fmt.Sprint(res.Status, " ", string(res.Body))
	case "service":
		res, err := guest.Service("cache", req.Output)
		if err != nil {
			return nil, err
		}
		v.Output = res
	case "pester":
		for range check.MaxHostCalls {
			if _, err := guest.Service("cache", json.RawMessage("7")); err != nil {
				return nil, err
			}
		}
		_, err := guest.Service("cache", json.RawMessage("7"))
		return &sdk.EvaluateResponse{Verdict: v}, err
	case "recall":
		res, err := sdk.Recall(ctx, &sdk.RecallRequest{Query: "q", Limit: 1})
		if err != nil {
			return nil, err
		}
		v.Feedback = res.Memories[0].Title
	case "complete":
		res, err := sdk.Complete(ctx, &sdk.LLMRequest{Prompt: "how many?"})
		if err != nil {
			return nil, err
		}
		v.Feedback = res.Text()
	case "stale":
		if former == nil {
			former = ctx
		}
		_, _, err := sdk.CacheGet(former, "seen")
		return &sdk.EvaluateResponse{Verdict: v}, err
	case "spy":
		report, err := spy(ctx)
		if err != nil {
			return nil, err
		}
		v.Feedback = report
	default:
		return remember(ctx, req)
	}
	return &sdk.EvaluateResponse{Verdict: v}, nil
}

func (c *config) recall(ctx context.Context) error {
	res, err := sdk.Recall(ctx, &sdk.RecallRequest{Query: "q", Limit: 1})
	if err == nil {
		c.recalled = res.Memories[0].Title
	}
	return err
}

// former is a context of an earlier call.
var former context.Context

// remember says what the last call judged, and keeps what this one does.
func remember(ctx context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
	last, found, err := sdk.CacheGet(ctx, "last")
	if err == nil {
		err = sdk.CachePut(ctx, "last", req.Output)
	}
	if err == nil {
		err = sdk.Log(ctx, &sdk.LogRequest{Level: "warn", Message: "judged", Fields: map[string]any{"run": sdk.CallFrom(ctx).RunID}})
	}
	if !found {
		last = json.RawMessage(`"nothing"`)
	}
	return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Valid: true, Score: 1, Output: last}}, err
}

// hoard is all that a spy ever found.
var hoard string

// spy collects all that the guest can get hold of: its environment, what was cached
// before, what the model says, memories, for which it names another's run and
// namespace, and what it kept of earlier calls.
func spy(ctx context.Context) (string, error) {
	cached, _, err := sdk.CacheGet(ctx, "k")
	if err != nil {
		return "", err
	}
	model, err := sdk.Complete(ctx, &sdk.LLMRequest{Prompt: "who are you?"})
	if err != nil {
		return "", err
	}
	if err := sdk.CachePut(ctx, "k", model.Output); err != nil {
		return "", err
	}
	recalled, err := sdk.HostFrom(ctx).Ask(ctx, sdk.ServiceRecall, json.RawMessage(`{"query":"q","run_id":"run-of-b","namespace":"b","limit":1}`))
	report := strings.Join([]string{strings.Join(os.Environ(), " "), string(cached), model.Text(), string(recalled)}, " | ")
	hoard += report
	return report + " | hoard: " + hoard, err
}

// world is what the guest can see of where it is.
func world() string {
	random := make([]byte, 8)
	rand.Read(random)
	_, err := os.ReadFile("/etc/passwd")
	return fmt.Sprint(time.Now().UTC().Format(time.DateOnly), " ", hex.EncodeToString(random), " ", len(os.Environ()), " ", os.Getenv("SECRET"), " ", err != nil)
}

func work(n int) int {
	sum := 0
	for i := range n {
		sum = sum*31 + i
	}
	return sum
}

func recurse(n int) int {
	if n == 0 {
		return 1
	}
	return recurse(n-1) + recurse(n-1)
}

func (c *config) generate(_ context.Context, req *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
	if req.Emit != nil {
		req.Emit("one ")
		req.Emit("two")
	}
	if c.LLM != "" {
		return &sdk.GenerateResponse{Output: json.RawMessage(fmt.Sprintf("%q", c.LLM+" by "+os.Getenv("MODEL_KEY")))}, nil
	}
	return &sdk.GenerateResponse{Output: json.RawMessage(`"one two"`), Metadata: map[string]string{"node": req.Node}}, nil
}

func (c *config) correct(_ context.Context, req *sdk.CorrectRequest) (*sdk.CorrectResponse, error) {
	b, err := json.Marshal([]any{req.Output, req.Errors, req.Feedback})
	return &sdk.CorrectResponse{Output: b}, err
}

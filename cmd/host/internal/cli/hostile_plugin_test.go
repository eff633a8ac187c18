//go:build linux

package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/process"
)

// hostiles are programs that are no good plugins, by the names they are
// installed under. The liar and those after it never get to serve.
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
	"hang-at-start": func() {
		fmt.Fprintln(os.Stderr, "still loading")
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
			var c misdeed
			if err := json.Unmarshal(config, &c); err != nil {
				return nil, err
			}
			return sdk.EvaluatorFunc(func(context.Context, *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
				r := &sdk.EvaluateResponse{Verdict: sdk.Verdict{Valid: true, Score: 1}}
				if err := cmp.Or(c.act(), c.spend(r)); err != nil {
					return nil, err
				}
				c.answer(r)
				return r, nil
			}), nil
		},
	}
}

// misdeed is what the hostile plugin does, and to what.
type misdeed struct {
	Do string `json:"do"`
	// File, Variable and Address are the host's.
	File     string `json:"file"`
	Variable string `json:"variable"`
	Address  string `json:"address"`
}

// act does what goes beyond a bad answer.
func (m misdeed) act() error {
	switch m.Do {
	case "exit":
		fmt.Fprintln(os.Stderr, "out of cheese")
		os.Exit(4)
	case "crash":
		go func() { panic("cheese crash") }()
		<-time.After(time.Hour)
	case "hang":
		<-time.After(time.Hour)
	case "pry":
		return m.pry()
	case "error":
		return &sdk.Error{Code: "made_up", Reason: "a\x1b[31m b", Message: "an \x1b[2Jerror", Hint: "a \x1b]0;hint\a"}
	case "flood":
		for i := range 20_000 {
			slog.Error("flood \x1b[2J", "n", i)
		}
	}
	return nil
}

// spend uses up all that there is of something. It stops by itself where a system might not
// refuse.
func (m misdeed) spend(r *sdk.EvaluateResponse) error {
	switch m.Do {
	case "fork":
		// The children outlive the plugin if the host waits for the plugin only.
		return forks(5)
	case "fork on":
		_ = forks(300) // it continues until it is refused
		<-time.After(time.Hour)
	case "loop":
		for odd := uint(1); odd != 0; odd += 2 {
		}
	case "recurse":
		r.Verdict.Score = float64(recurse(math.MaxInt))
	case "recurse twice":
		r.Verdict.Score = float64(recurse(200))
	case "bomb":
		var all [][]byte
		for range 1 << 10 {
			all = append(all, bytes.Repeat([]byte{1}, 1<<20))
		}
		r.Verdict.Feedback = fmt.Sprint(len(all))
	}
	return nil
}

func forks(n int) error {
	for range n {
		if err := exec.Command("sleep", "1000").Start(); err != nil {
			return err
		}
	}
	return nil
}

// answer makes the answer a bad one.
func (m misdeed) answer(r *sdk.EvaluateResponse) {
	switch m.Do {
	case "huge":
		r.Verdict.Feedback = strings.Repeat("x", 9<<20)
	case "nan":
		r.Verdict.Score = math.NaN()
	case "infinite":
		r.Verdict.Score = math.Inf(1)
	case "beyond":
		r.Verdict.Score = 7
	case "below":
		r.Verdict.Score = -3
	case "not UTF-8":
		r.Verdict.Output = json.RawMessage("\"\xff\xfe\"")
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
	case "escapes":
		r.Verdict.Valid = false
		r.Verdict.Errors = []sdk.Finding{{Message: "\x1b[2Jfinding\u009b", Path: "/\x1b[31m"}}
		r.Verdict.Output = json.RawMessage(`"an \u001b[2Joutput"`)
	}
}

// recurse calls itself 2ⁿ times, n deep.
func recurse(n int) int {
	if n == 0 {
		return 1
	}
	return recurse(n-1) + recurse(n-1)
}

// pry looks for what is the host's, and says what it found.
func (m misdeed) pry() error {
	for _, path := range []string{m.File, fmt.Sprintf("/proc/%d/environ", os.Getppid())} {
		if text, err := os.ReadFile(path); err == nil {
			return fmt.Errorf("%s says %q", path, text)
		}
	}
	if value, ok := os.LookupEnv(m.Variable); ok {
		return fmt.Errorf("%s is %q", m.Variable, value)
	}
	if conn, err := net.Dial("tcp", m.Address); err == nil {
		return errors.Join(fmt.Errorf("%s answers", m.Address), conn.Close())
	}
	return nil
}

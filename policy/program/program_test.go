package program_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/policy/format"
	"github.com/reflectory/reflectory/policy/program"
	"github.com/reflectory/reflectory/sdk"
)

// inputs are the members of a JSON object, typed as the environment says.
type inputs struct {
	variables []program.Variable
	values    map[string]any
	// asked counts how often each was asked for.
	asked map[string]int
}

func (in *inputs) Input(i int) program.Value {
	name := in.variables[i].Name
	in.asked[name]++
	v := in.values[name]
	if n, ok := v.(int64); ok && in.variables[i].Type == "double" {
		return program.Double(float64(n))
	}
	return program.Any(v)
}

func newInputs(t testing.TB, env *program.Env, text string) *inputs {
	t.Helper()
	v, err := jsontext.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return &inputs{variables: env.Variables(), values: v.(map[string]any), asked: map[string]int{}}
}

// newEnv reads lines such as "input x int 50 128", "field ok bool" and
// "field state string? open|closed".
func newEnv(t testing.TB, text string) *program.Env {
	t.Helper()
	var o program.Options
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if words[0] == "input" {
			v := program.Variable{Name: words[1], Type: words[2]}
			for _, size := range words[3:] {
				var n uint64
				if _, err := fmt.Sscan(size, &n); err != nil {
					t.Fatal(err)
				}
				v.Sizes = append(v.Sizes, n)
			}
			o.Variables = append(o.Variables, v)
			continue
		}
		f := program.Field{Name: words[1], Type: strings.TrimSuffix(words[2], "?"), Optional: strings.HasSuffix(words[2], "?"), Doc: "see the manual"}
		if len(words) > 3 {
			f.Values = strings.Split(words[3], "|")
		}
		o.Fields = append(o.Fields, f)
	}
	env, err := program.NewEnv(o)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// Each documented behaviour of the format is a case in testdata.
func TestFormat(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var env *program.Env
		var compiled *program.Program
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "env":
				env = newEnv(t, d.Input)
				return ""
			case "policy":
				policy, found := format.Parse("p.yaml", []byte(d.Input))
				if compiled = program.Compile(env, policy, found); compiled == nil {
					return sprint(found)
				}
				if compiled.Optional() {
					return "optional\n"
				}
				return "compiled\n"
			case "run":
				return runCase(t, env, compiled, d.Input)
			}
			d.Fatalf(t, "there is no command %q", d.Cmd)
			return ""
		})
	})
}

func sprint(found *format.Problems) string {
	var out strings.Builder
	for _, p := range found.List() {
		fmt.Fprintln(&out, p)
	}
	return out.String()
}

// runCase runs each line of input.
func runCase(t *testing.T, env *program.Env, p *program.Program, input string) string {
	var out strings.Builder
	for line := range strings.Lines(input) {
		result, err := p.Run(context.Background(), newInputs(t, env, line))
		switch {
		case err != nil:
			fmt.Fprintf(&out, "%s: %v\n", sdk.ReasonOf(err), err)
		case !result.Decided:
			fmt.Fprintln(&out, "none")
		default:
			fmt.Fprintf(&out, "%s by %s", outputOf(t, env, result), result.Match.Path)
			if result.Match.Rule != "" {
				fmt.Fprintf(&out, " of %s", result.Match.Rule)
			}
			if result.Match.Condition != "" {
				fmt.Fprintf(&out, " [%s]", result.Match.Condition)
			}
			if result.Explanation != "" {
				fmt.Fprintf(&out, ": %s", result.Explanation)
			}
			fmt.Fprintln(&out)
		}
	}
	return out.String()
}

func outputOf(t *testing.T, env *program.Env, result program.Result) string {
	t.Helper()
	value := result.Value
	if fields := env.Fields(); len(fields) > 0 {
		object := map[string]any{}
		for i, f := range fields {
			if result.Fields[i] != nil {
				object[f.Name] = result.Fields[i]
			}
		}
		value = object
	}
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

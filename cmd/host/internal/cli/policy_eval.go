package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy"
	"github.com/reflectory/reflectory/sdk"
)

// policyFlags are the flags of explain and eval.
type policyFlags struct {
	policies, namespace, input, log string
}

func policyExplainCommand(a *App) *cobra.Command {
	var f policyFlags
	c := &cobra.Command{
		Use: "explain POINT", Short: "Say which policies are in force in a namespace, and how they decide",
		Long: `Show which policies are in force in a namespace, the most specific first. A policy that
gives no output leaves the decision to the next one. With --input, also show how they
decide: every condition that was evaluated, every variable, and the cost.`,
		Example: `  reflectory policy explain gate --namespace finance/ledger --policies examples/policy-folder/policies
  reflectory policy explain gate --input examples/policy-folder/memory.json --policies examples/policy-folder/policies`,
		RunE: func(c *cobra.Command, args []string) error {
			return policyExplain(c.Context(), a, policypoint.Point(args[0]), f)
		},
	}
	policiesFlag(c, &f.policies)
	c.Flags().StringVar(&f.namespace, "namespace", "", "the namespace (default: the input's ns)")
	c.Flags().StringVar(&f.input, "input", "", "JSON object `file` of inputs, or -")
	return c
}

func policyExplain(ctx context.Context, a *App, point policypoint.Point, f policyFlags) error {
	set, err := currentPolicies(ctx, a, host.PolicyPoints(), f.policies)
	if err != nil {
		return err
	}
	if f.input == "" {
		return policyChain(a.out, set, point, f.namespace)
	}
	inputs, err := policyInputs(a, f)
	if err != nil {
		return err
	}
	e, err := set.Explain(ctx, point, inputs)
	if err != nil {
		return err
	}
	if a.out.json {
		return a.out.printJSON(e)
	}
	for i := range e.Asked {
		printEvaluation(a.out, &e.Asked[i])
	}
	for _, file := range e.Rest {
		fmt.Fprintf(a.out.Stdout, "%s wasn't asked\n", term.Clean(file))
	}
	if e.Shadow != "" {
		fmt.Fprintf(a.out.Stdout, "%s decides too, and only logs\n", term.Clean(e.Shadow))
	}
	return nil
}

func policyChain(out *output, set *policy.Set, point policypoint.Point, namespace string) error {
	chain, err := set.Chain(point, namespace)
	if err != nil {
		return err
	}
	files := make([]operation.Policy, len(chain))
	rows := make([][]string, len(chain))
	for i, p := range chain {
		files[i] = operation.PolicyOf(p)
		why := "always decides"
		if p.Optional() {
			why = "decides, or leaves it to the next"
		}
		rows[i] = []string{p.File(), p.Namespace(), why}
	}
	if out.json {
		return out.printJSON(map[string]any{"point": point, "namespace": namespace, "policies": files})
	}
	return out.table([]string{"POLICY", "NAMESPACE", "WHY"}, rows)
}

// printEvaluation prints how one policy decided.
func printEvaluation(out *output, e *policy.Evaluation) {
	fmt.Fprintf(out.Stdout, "%s\n", term.Clean(e.File))
	for _, s := range e.Steps {
		word, condition := "no ", s.Condition
		if s.Holds {
			word = "yes"
		}
		if condition == "" {
			condition = "(always)"
		}
		fmt.Fprintf(out.Stdout, "  %s  line %d  %s\n", word, s.Line, term.Clean(condition))
	}
	for _, v := range e.Variables {
		fmt.Fprintf(out.Stdout, "  variables.%s = %s\n", v.Name, term.Cut(string(jsontext.MustEncode(v.Value)), 100))
	}
	switch {
	case e.Failure != nil:
		fmt.Fprintf(out.Stdout, "  failed: %s\n", term.Clean(e.Failure.Message))
	case !e.Decided:
		fmt.Fprintf(out.Stdout, "  leaves it open (cost %d)\n", e.Cost)
		return
	}
	if e.Explanation != "" {
		fmt.Fprintf(out.Stdout, "  because %s\n", term.Clean(e.Explanation))
	}
	fmt.Fprintf(out.Stdout, "  → %s (cost %d)\n", outputLine(e.Output), e.Cost)
}

// outputLine is an outcome on one line.
func outputLine(output map[string]any) string {
	line := ""
	for _, name := range slices.Sorted(maps.Keys(output)) {
		if line != "" {
			line += ", "
		}
		line += name + " " + term.Cut(string(jsontext.MustEncode(output[name])), 100)
	}
	return line
}

func policyEvalCommand(a *App) *cobra.Command {
	var f policyFlags
	c := &cobra.Command{
		Use: "eval POINT", Short: "Decide once, for the inputs in a file",
		Long: `Decide once, for the inputs in a file: a JSON object with the inputs that policy
describe lists. Missing inputs are empty. --log appends the decision to a log that
policy replay reads. Exit codes: 0 decided, 4 the decision is a refusal.`,
		Example: `  reflectory policy eval gate --input examples/policy-folder/memory.json
  reflectory policy eval gate --input examples/policy-folder/memory.json --policies examples/policy-folder/policies`,
		RunE: func(c *cobra.Command, args []string) error {
			return policyEval(c.Context(), a, policypoint.Point(args[0]), f)
		},
	}
	policiesFlag(c, &f.policies)
	c.Flags().StringVar(&f.namespace, "namespace", "", "the namespace (default: the input's ns)")
	c.Flags().StringVar(&f.input, "input", "", "JSON object `file` of inputs, or - (required)")
	c.Flags().StringVar(&f.log, "log", "", "decision log `file` to append to")
	required(c, "input")
	return c
}

func policyEval(ctx context.Context, a *App, point policypoint.Point, f policyFlags) error {
	set, err := currentPolicies(ctx, a, host.PolicyPoints(), f.policies)
	if err != nil {
		return err
	}
	inputs, err := policyInputs(a, f)
	if err != nil {
		return err
	}
	record, err := set.Decide(ctx, point, inputs, core.SystemClock{})
	if err != nil {
		return err
	}
	if f.log != "" {
		if err := appendRecord(ctx, f.log, record); err != nil {
			return err
		}
	}
	if a.out.json {
		err = a.out.printJSON(record)
	} else {
		printRecord(a.out, record)
	}
	if err == nil && record.Output["allow"] == false {
		err = statusError{exitDenied}
	}
	return err
}

func printRecord(out *output, r *policy.Record) {
	fmt.Fprintf(out.Stdout, "%s\nby %s", outputLine(r.Output), term.Clean(r.File))
	if r.Path != "" {
		fmt.Fprintf(out.Stdout, ", %s", r.Path)
	}
	if r.Condition != "" {
		fmt.Fprintf(out.Stdout, ": %s", term.Clean(r.Condition))
	}
	fmt.Fprintln(out.Stdout)
	if r.Explanation != "" {
		fmt.Fprintf(out.Stdout, "because %s\n", term.Clean(r.Explanation))
	}
	if r.Failure != nil {
		fmt.Fprintf(out.Stdout, "the safe outcome, since the policy failed: %s\n", term.Clean(r.Failure.Message))
	}
	if r.Shadow != nil {
		fmt.Fprintf(out.Stdout, "shadow %s would have said %s\n", term.Clean(r.Shadow.File), outputLine(r.Shadow.Output))
	}
}

// appendRecord adds a record to a decision log.
func appendRecord(ctx context.Context, file string, record *policy.Record) (err error) {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return sdk.Errorf(sdk.Unavailable, "decision_log_broken", "the decision log can't be opened: %w", err).
			WithHint("check the path and its permissions")
	}
	defer closing(&err, f)
	log := policy.NewLog(f)
	log.Record(ctx, record)
	return log.Err()
}

// policyInputs reads the inputs, with the namespace that the flag names.
func policyInputs(a *App, f policyFlags) (map[string]any, error) {
	text, err := a.input.value(f.input, true)
	if err != nil {
		return nil, err
	}
	v, err := jsontext.Decode(text)
	if err == nil {
		if inputs, ok := v.(map[string]any); ok {
			if f.namespace != "" {
				inputs["ns"] = f.namespace
			}
			return inputs, nil
		}
		err = errors.New("it isn't a JSON object")
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		err = fmt.Errorf("at byte %d: %w", syntax.Offset, err)
	}
	return nil, sdk.Errorf(sdk.Invalid, "policy_input_invalid", "the inputs of %s can't be used: %w", f.input, err).
		WithHint("write a JSON object with the input names that policy describe lists")
}

package operation

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/discover"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/sdk"
)

// MaxIntent is the longest intent, in characters.
const MaxIntent = 2000

// moreRanked is how many candidates are ranked: the access policy may refuse some of them.
const moreRanked = 4 * discover.MaxCandidates

// discoveries are the operations that find tools, plugins and workflows.
func discoveries() []Operation {
	return []Operation{
		define(Operation{
			Name: "discover", Method: "POST", Path: "/v1/discover", Scope: core.ScopeMemoryRead, ReadOnly: true, Idempotent: true,
			Doc: "Find the tool, plugin or workflow that fits an intent, and say how sure the match is.",
		}, inNamespace(func(in *Discover) *string { return &in.Namespace }), discoverDo),
	}
}

// Discover asks what fits an intent.
type Discover struct {
	// Intent is what the caller wants to do, in up to [MaxIntent] characters.
	Intent string `json:"intent"`
	// Namespace is where the caller wants to do it; "" is the configured one.
	Namespace string `json:"namespace,omitempty"`
}

func (in *Discover) check() error {
	var problems []error
	add := func(format string, args ...any) {
		problems = append(problems, sdk.Errorf(sdk.Invalid, "intent_invalid", format, args...).WithDetail("field", "intent"))
	}
	switch n := utf8.RuneCountInString(in.Intent); {
	case strings.TrimSpace(in.Intent) == "":
		add("intent is blank")
	case !utf8.ValidString(in.Intent):
		add("intent isn't UTF-8")
	case n > MaxIntent:
		add("intent has %d characters (limit %d)", n, MaxIntent)
	}
	return core.JoinErrors(append(problems, checkNamespace(in.Namespace))...)
}

func discoverDo(ctx context.Context, c *Call, in *Discover) (answer *discover.Answer, err error) {
	var best []discover.Ranked
	err = c.withSet(func(set *install.Set) error {
		key := core.Digest(jsontext.MustEncode([]any{in.Intent, in.Namespace, c.caller.Subject, c.caller.Scopes, c.caller.Namespaces, locked(set)}))
		ranked, err := c.Host.Discoveries.Rank(ctx, key, in.Intent, moreRanked, func(ctx context.Context) ([]discover.Candidate, error) {
			list, err := candidates(ctx, c, set)
			own := c.Host.Config.Settings.Phrases()
			for i := range list {
				list[i].Examples = slices.Concat(list[i].Examples, own[list[i].Name])
			}
			return list, err
		})
		if err == nil {
			best, err = usable(ctx, c, set, in.Namespace, ranked)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	confidence := discover.Low
	if seen := discover.RoutingInput(in.Namespace, best); seen != nil {
		confidence = c.Host.Policies.Routing(ctx, seen).Confidence
	}
	return discover.NewAnswer(in.Intent, confidence, best), ctx.Err()
}

// Callable is a result that names operations. Each surface says in its own words how they are called.
type Callable interface {
	WithCalls(call func(operation string, arguments map[string]any) string) any
}

// CallArgs are the arguments of a call, sorted by their names.
func CallArgs(arguments map[string]any) (args sdk.Args) {
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		args = append(args, sdk.Arg{Name: name, Value: arguments[name]})
	}
	return args
}

// locked are the installed plugins with their digests.
func locked(set *install.Set) (list [][2]string) {
	for _, p := range set.Plugins() {
		list = append(list, [2]string{p.Name + "@" + p.Version, p.Digest()})
	}
	return list
}

// usable are the best candidates that the access policy lets the caller use; plugins must
// also be admitted by the admission policy. Policies change, so they are asked each time.
func usable(ctx context.Context, c *Call, set *install.Set, namespace string, ranked []discover.Ranked) (best []discover.Ranked, err error) {
	for _, r := range ranked {
		if len(best) == discover.MaxCandidates {
			break
		}
		o, err := Find(r.Usage.Operation)
		if err != nil {
			return nil, err
		}
		if r.Kind == discover.Plugin {
			if p := set.Find(r.Name); p == nil || !c.Host.Plugins.Admits(ctx, set, p, namespace) {
				continue
			}
		}
		if c.policyAllows(ctx, &o, namespace) == nil {
			best = append(best, r)
		}
	}
	return best, nil
}

// candidates are the things for which the caller has the scopes: operations, installed
// plugins that can run, and workflows that were run in namespaces that the caller reaches.
func candidates(ctx context.Context, c *Call, set *install.Set) (list []discover.Candidate, err error) {
	said := phrases()
	for _, o := range Table() {
		if c.caller.Has(o.Scope) && o.Name != "discover" {
			list = append(list, discover.Candidate{Kind: discover.Tool, Name: o.Name, Description: o.Doc, Examples: said[o.Name], Usage: o.usage()})
		}
	}
	runs, judges := c.caller.Has(core.ScopeRun), c.caller.Has(core.ScopeEvaluate)
	if !runs && !judges {
		return list, nil
	}
	known, err := c.Host.Discoveries.FromRuns(ctx, c.reaches)
	if err != nil {
		return nil, err
	}
	for _, p := range set.Plugins() {
		usage, may := pluginUsage(p, runs, judges)
		if !may {
			continue
		}
		candidate := discover.Candidate{Kind: discover.Plugin, Name: p.Name, Description: p.Package.Description, Examples: p.Package.Examples, Usage: usage}
		if record := known.Plugins[p.Name]; record != nil {
			candidate.Runs, candidate.Successes = record.Runs, record.Successes
		}
		list = append(list, candidate)
	}
	if runs {
		list = append(list, known.Workflows...)
	}
	return list, nil
}

// usage is a call of the operation with its required fields.
func (o *Operation) usage() discover.Usage {
	u := discover.Usage{Operation: o.Name, Arguments: map[string]any{}}
	for _, field := range reflect.VisibleFields(o.in) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && name != "-" && !strings.Contains(options, "omit") {
			u.Arguments[name] = "<" + name + ">"
		}
	}
	return u
}

// pluginUsage is how a caller that may start runs, or judge single outputs, can use a plugin.
func pluginUsage(p *install.Plugin, runs, judges bool) (u discover.Usage, may bool) {
	if p.Problem != nil || p.Package == nil {
		return u, false
	}
	step := "plugin: " + p.Name + "\nconfig: {}\n"
	can := func(kind sdk.Kind) bool { return slices.Contains(p.Package.Kinds, kind) }
	switch {
	case judges && can(sdk.KindEvaluator):
		return discover.Usage{Operation: "evaluate", Arguments: map[string]any{"evaluator": step, "output": "<output>"}}, true
	case judges && can(sdk.KindCorrector):
		return discover.Usage{Operation: "correct", Arguments: map[string]any{"corrector": step, "output": "<output>", "errors": "<errors>"}}, true
	case runs:
		return discover.Usage{Operation: "run_start", Arguments: map[string]any{"workflow": "<a workflow with a step of " + p.Name + ">"}}, true
	}
	return u, false
}

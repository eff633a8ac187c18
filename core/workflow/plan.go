package workflow

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/sdk"
)

// DefaultStepLimit is how many nodes a run visits at most.
const DefaultStepLimit = 1000

// End is the target of a goto that ends the run.
const End = "end"

// Plan is a validated workflow. It is immutable and safe for concurrent use.
type Plan struct {
	// Name is the workflow's name; if the file has none, the file's base name without its
	// extension.
	Name string
	// Description and Examples describe what the workflow is for.
	Description string
	Examples    []string
	// State is the initial state: a JSON object.
	State json.RawMessage
	// StepLimit is how many nodes a run visits at most, skipped ones included:
	// settings.step_limit, default [DefaultStepLimit].
	StepLimit int
	// Digests is whether a run records only the digests of prompts: settings.record.
	Digests bool
	// LLM is settings.llm, a JSON object: the model that plugins may be allowed to call.
	// Nil if the file has none.
	LLM json.RawMessage
	// Nodes are in the file's order. There is at least one.
	Nodes []Node
	// Tools are the workflows that its models may call.
	Tools []ToolPlan

	plugins map[string]*pluginUse
}

// ToolPlan is the plan of a workflow that a model may call under a name. Plugins of the caller's plan
// include its plugins.
type ToolPlan struct {
	Name string
	Plan *Plan
}

// Node is one step of a plan.
type Node struct {
	Name string
	// ActionName is the action as the file names it, such as "reflection.loop".
	ActionName string
	Action     action.Spec
	// When decides whether the node runs; nil means always.
	When policypoint.Expression
	// Goto lists the nodes that may follow instead of the next one: the first entry whose
	// When is true is taken.
	Goto []Goto
}

// Goto is one way to leave a node.
type Goto struct {
	// When decides whether this way is taken; nil means always.
	When policypoint.Expression
	// To is a node's name, or [End].
	To string
}

// PluginUse is a plugin that a workflow needs.
type PluginUse struct {
	// Plugin is its name.
	Plugin string
	// Kinds are the kinds that it must have, sorted.
	Kinds []sdk.Kind
	// EnvNames are the environment variables that its configs name as api_key_env,
	// sorted. The host passes them to the plugin.
	EnvNames []string
	// URLs are the endpoints that its configs name as base_url, sorted.
	URLs []string
	// Keys are the variables with the endpoint to which each is sent, sorted.
	Keys []KeyUse
	// Versions are ranges in all of which its version must be, sorted: see [InRange].
	Versions []string
}

// KeyUse is a variable that a config names as api_key_env, and the base_url of the same config,
// where the variable's value is sent.
type KeyUse struct{ URL, EnvName string }

// pluginUse collects a PluginUse while the file is read.
type pluginUse struct {
	kinds map[sdk.Kind]bool
	env   map[string]bool
	urls  map[string]bool
	keys  map[KeyUse]bool
	// versions are ranges of versions.
	versions map[string]bool
}

// Plugins are the plugins that the workflow needs, sorted by name.
func (p *Plan) Plugins() []PluginUse { return sortedUses(p.plugins) }

// EnvNames are the environment variables that the configs of a plugin name,
// sorted.
func (p *Plan) EnvNames(plugin string) []string {
	if use := p.plugins[plugin]; use != nil {
		return slices.Sorted(maps.Keys(use.env))
	}
	return nil
}

func sortedUses(plugins map[string]*pluginUse) []PluginUse {
	var uses []PluginUse
	for _, name := range slices.Sorted(maps.Keys(plugins)) {
		use := plugins[name]
		uses = append(uses, PluginUse{
			Plugin:   name,
			Kinds:    slices.Sorted(maps.Keys(use.kinds)),
			EnvNames: slices.Sorted(maps.Keys(use.env)),
			URLs:     slices.Sorted(maps.Keys(use.urls)),
			Versions: slices.Sorted(maps.Keys(use.versions)),
			Keys: slices.SortedFunc(maps.Keys(use.keys), func(x, y KeyUse) int {
				return cmp.Or(strings.Compare(x.URL, y.URL), strings.Compare(x.EnvName, y.EnvName))
			}),
		})
	}
	return uses
}

// index returns a node's index in Nodes, or -1.
func (p *Plan) index(name string) int {
	return slices.IndexFunc(p.Nodes, func(n Node) bool { return n.Name == name })
}

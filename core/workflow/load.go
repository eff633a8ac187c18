package workflow

import (
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Options are what loading needs from outside.
type Options struct {
	// Expressions compiles conditions. Required.
	Expressions core.Expressions
}

// Single is a step that stands in a file of its own, for commands that run one
// without a workflow.
type Single struct {
	Step core.Step
	// Plugins are the plugins that it needs, sorted by name.
	Plugins []PluginUse
}

// Read reads a workflow file, or a file of a single step, and every file that
// it names.
func Read(path string) (core.Source, error) {
	return core.Source{}, sdk.Errorf(sdk.Internal, "not_built", "reading %s isn't built yet", path)
}

// Load checks a workflow and returns its plan. The error of a bad one is
// sdk.Invalid, reason "workflow_invalid", and lists all problems.
func Load(source core.Source, opts Options) (*Plan, error) {
	return nil, sdk.Errorf(sdk.Internal, "not_built", "loading %s isn't built yet", source.File)
}

// LoadEvaluator loads a file that holds what stands under evaluator:.
func LoadEvaluator(source core.Source, opts Options) (*Single, error) {
	return nil, sdk.Errorf(sdk.Internal, "not_built", "loading %s isn't built yet", source.File)
}

// LoadCorrector loads a file that holds what stands under corrector:.
func LoadCorrector(source core.Source, opts Options) (*Single, error) {
	return nil, sdk.Errorf(sdk.Internal, "not_built", "loading %s isn't built yet", source.File)
}

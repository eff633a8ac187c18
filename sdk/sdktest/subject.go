package sdktest

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/sdk"
)

// Subject is a plugin under test, wherever and however it runs. It must be safe
// for concurrent use.
type Subject interface {
	// Describe returns the plugin's description of itself.
	Describe(ctx context.Context) (*sdk.Manifest, error)
	// Prepare asks the plugin to check a config for one of its kinds. An error is the
	// plugin's refusal.
	Prepare(ctx context.Context, kind sdk.Kind, config json.RawMessage) (Prepared, error)
}

// Prepared is a plugin with a config that it accepted. It stays usable even if the
// instance that accepted the config has ended. The results are in the order of the
// requests, and an error means that the whole call failed.
type Prepared interface {
	Evaluate(ctx context.Context, reqs []*sdk.EvaluateRequest) ([]sdk.EvaluateResult, error)
	Generate(ctx context.Context, reqs []*sdk.GenerateRequest) ([]sdk.GenerateResult, error)
	Correct(ctx context.Context, reqs []*sdk.CorrectRequest) ([]sdk.CorrectResult, error)
}

// SubjectWithRestart is a [Subject] that can be restarted. For other subjects, the
// cases about restarts are skipped.
type SubjectWithRestart interface {
	Subject
	// Restart ends every instance of the plugin. Configs prepared earlier stay usable:
	// the host sends them again.
	Restart(ctx context.Context) error
}

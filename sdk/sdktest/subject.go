package sdktest

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/sdk"
)

// Subject is a plugin under test, wherever and however it runs. It must be safe
// for concurrent use.
type Subject interface {
	// Describe returns what the plugin says of itself.
	Describe(ctx context.Context) (*sdk.Manifest, error)
	// Prepare has the plugin check a config for one of its kinds. An error is
	// the plugin's refusal.
	Prepare(ctx context.Context, kind sdk.Kind, config json.RawMessage) (Prepared, error)
}

// Prepared is a plugin with a config that it took. It stays usable whatever
// becomes of the instance that took it. The results are in the order of the
// requests, and the error means that the whole call failed.
type Prepared interface {
	Evaluate(ctx context.Context, reqs []*sdk.EvaluateRequest) ([]sdk.EvaluateResult, error)
	Generate(ctx context.Context, reqs []*sdk.GenerateRequest) ([]sdk.GenerateResult, error)
	Correct(ctx context.Context, reqs []*sdk.CorrectRequest) ([]sdk.CorrectResult, error)
}

// SubjectWithRestart is a [Subject] that can lose what the plugin knows. Without
// it the cases about restarts are skipped.
type SubjectWithRestart interface {
	Subject
	// Restart ends every instance of the plugin. What was prepared before stays
	// usable: the host sends the config again.
	Restart(ctx context.Context) error
}

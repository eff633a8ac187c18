package action

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// Injector builds the snapshots of turns.
type Injector interface {
	// Inject builds a snapshot, or returns the one that its turn has. The request is JSON
	// with the fields {session, namespace, turn?, query?, policy?, blocks?, complexity?,
	// risk?}.
	Inject(ctx context.Context, request json.RawMessage) (any, error)
}

// inject runs an inject.snapshot. A request without a namespace or a session has the run's.
// One without a turn has the run's newest, unless it has a query, which begins the next.
func (a *Actions) inject(ctx context.Context, req *Request, s *SnapshotSpec) (any, error) {
	if a.Injector == nil {
		return nil, sdk.Errorf(sdk.Unavailable, "memory_not_available", "inject.snapshot: this host has no memories").
			WithHint("run the workflow where a memory is open").WithAction("run", "workflow", nil)
	}
	text, err := s.Request.Render(Variables{State: req.State})
	if err != nil {
		return nil, err
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(wholeNumbers(text), &fields); err != nil {
		return nil, sdk.Errorf(sdk.Internal, "snapshot_request_invalid", "the request isn't an object: %w", err)
	}
	setDefault(fields, "namespace", a.Namespace)
	setDefault(fields, "session", req.Session)
	if _, asks := fields["query"]; !asks && req.Turn.Turn > 0 {
		setDefault(fields, "turn", req.Turn.Turn)
	}
	return a.Injector.Inject(ctx, jsontext.MustEncode(fields))
}

// setDefault sets a field that the request doesn't have.
func setDefault(fields map[string]json.RawMessage, name string, value any) {
	if _, there := fields[name]; !there {
		fields[name] = jsontext.MustEncode(value)
	}
}

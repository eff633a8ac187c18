package plugin

import (
	"context"
	"encoding/json"
)

// Services answers what plugins ask of the host. A driver calls it only for
// services that the plugin was granted, and while one of its calls runs. It
// must be safe for concurrent use.
type Services interface {
	// Serve answers one request. The response and the error cross the plugin's
	// boundary: neither may hold a secret.
	Serve(ctx context.Context, request ServiceRequest) (json.RawMessage, error)
}

// ServiceRequest is a plugin's request of a host service.
type ServiceRequest struct {
	// Plugin is who asks.
	Plugin string
	// Service is what it asks for.
	Service Service
	// RunID is the run of the call during which it asks; "" where the plugin
	// isn't told of runs.
	RunID string
	// Body is what it sent: JSON whose shape is the service's own.
	Body json.RawMessage
}

package plugin

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Services answers what plugins ask the host for. A driver calls it through
// [Ask], while one of the plugin's calls runs. It must be safe for concurrent
// use.
type Services interface {
	// Serve answers one request. The context is the context of the plugin's call: it has the
	// call's [Scope], and through it [Charge] finds the call. The response and the error cross
	// the plugin's boundary: neither may hold a secret.
	Serve(ctx context.Context, request ServiceRequest) (json.RawMessage, error)
}

// ServiceRequest is a plugin's request of a host service.
type ServiceRequest struct {
	// Plugin is the plugin that asks. [Ask] sets it.
	Plugin string
	// Service is what it asks for.
	Service Service
	// RunID is the run of the call during which it asks: the scope's run, or else the run of
	// the call's requests. "" is none.
	RunID string
	// Body is the request: JSON in the form that the service documents.
	Body json.RawMessage
	// Redactor removes the plugin's secrets. [Ask] sets it if it is nil.
	Redactor *Redactor
	// Plugins made the plugin's call; the answer may need calls of other plugins. [Ask] sets
	// it if it is nil. It stays nil if no [Supervisor] made the call.
	Plugins core.Plugins
}

// Ask answers a plugin's request, if it was granted that service, and refuses it otherwise.
// Every driver passes its plugins' requests to it.
func Ask(ctx context.Context, services Services, p *Installed, r ServiceRequest) (json.RawMessage, error) {
	r.Plugin = p.Name
	if !slices.Contains(sdk.Services(), r.Service) {
		return nil, unknownService(p.Name, r.Service)
	}
	if !slices.Contains(p.Granted.Host, r.Service) {
		return nil, sdk.Errorf(sdk.Denied, "capability_missing", "plugin %s was not granted host:%s", p.Name, r.Service).
			WithHint("name it in the plugin's plugin.yaml (capabilities: {host: [%[1]s]}), add the plugin again and grant it host:%[1]s", r.Service).
			WithAction("plugin add", "path", nil, "grant", "host:"+string(r.Service)).
			WithDetail("plugin", p.Name).WithDetail("capability", "host:"+string(r.Service))
	}
	if services == nil {
		return nil, sdk.Errorf(sdk.Incompatible, "service_unsupported", "this host has no service %s", r.Service).
			WithHint("set up the driver with services")
	}
	if r.Redactor == nil {
		r.Redactor = NewRedactor(p.Env)
	}
	r.RunID = cmp.Or(ScopeOf(ctx).RunID, r.RunID)
	if m, ok := ctx.Value(meterKey{}).(*meter); ok && r.Plugins == nil {
		r.Plugins = m.plugins
	}
	return services.Serve(ctx, r)
}

func unknownService(plugin string, service Service) error {
	var names []string
	for _, s := range sdk.Services() {
		names = append(names, string(s))
	}
	return sdk.Errorf(sdk.Invalid, "service_unknown", "plugin %s asks for the host service %.64q; there are %s", plugin, service, strings.Join(names, ", ")).
		WithDetail("plugin", plugin).
		WithHint("%s", sdk.DidYouMean(string(service), names, "ask for one of these; a later host may have more"))
}

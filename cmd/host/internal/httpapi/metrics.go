package httpapi

import (
	"net/http"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
)

// scrape answers with the metrics if the caller may see the status. Metrics reveal which
// plugins are installed and how often policies deny, which only the operator should know.
// So they need a token with the scope operate, which Prometheus can send.
func (a *API) scrape(w http.ResponseWriter, r *request) {
	ctx := core.WithCaller(r.http.Context(), r.caller)
	if err := a.routes["status"].Allow(ctx, operation.Call{Host: a.config.Host}, &operation.StatusGet{}); err != nil {
		a.refuse(w, r, err)
		return
	}
	r.status = http.StatusOK
	a.metrics.ServeHTTP(w, r.http)
}

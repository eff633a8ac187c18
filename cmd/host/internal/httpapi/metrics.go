package httpapi

import (
	"net/http"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
)

// scrape answers with the metrics if the caller may read them. Metrics reveal which plugins are
// installed and how often policies deny, but no content. So they have a scope of their own, for
// a monitoring system that needs nothing else.
func (a *API) scrape(w http.ResponseWriter, r *request) {
	ctx := core.WithCaller(r.http.Context(), r.caller)
	scrape := operation.Scrape()
	if err := scrape.Allow(ctx, operation.Call{Host: a.config.Host}, &operation.StatusGet{}); err != nil {
		a.problems.refuse(w, r, err)
		return
	}
	r.status = http.StatusOK
	a.metrics.ServeHTTP(w, r.http)
}

package httpapi

import (
	"net/http"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
)

// scrape answers with the metrics, to those who may see the status. What they tell, such as
// which plugins are installed and how often policies deny, is the operator's business: so
// they need a token with the scope operate, as Prometheus can send one.
func (a *API) scrape(w http.ResponseWriter, r *request) {
	ctx := core.WithCaller(r.http.Context(), r.caller)
	if err := a.routes["status"].Allow(ctx, operation.Call{Host: a.config.Host}, &operation.StatusGet{}); err != nil {
		a.refuse(w, r, err)
		return
	}
	r.status = http.StatusOK
	a.metrics.ServeHTTP(w, r.http)
}

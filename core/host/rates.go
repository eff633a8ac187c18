package host

import (
	"github.com/reflectory/reflectory/core/rate"
)

// Rate returns a limiter of what each of many names may do, such as each subject's requests:
// perSecond on average, and burst at once. 0 and less is no limit. Hosts that share a store
// share the limit. There is one limiter of each thing in a host.
func (h *Host) Rate(what string, perSecond, burst float64) *rate.Limiter {
	o := rate.Options{What: what, PerSecond: perSecond, Burst: burst}
	if h.shared() {
		o.Store, o.Host = h.Store, h.id
	}
	return rate.New(o)
}

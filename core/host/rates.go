package host

import (
	"github.com/reflectory/reflectory/core/rate"
)

// Rate returns a limiter with a limit for each name, such as for each subject's requests:
// perSecond on average, and burst at once. A perSecond of 0 or less is no limit. Hosts that
// share a store share the limit. A host has one limiter for each what.
func (h *Host) Rate(what string, perSecond, burst float64) *rate.Limiter {
	o := rate.Options{What: what, PerSecond: perSecond, Burst: burst}
	if h.shared() {
		o.Store, o.Host = h.Store, h.id
	}
	return rate.New(o)
}

package metrics

import (
	"strconv"
	"time"
)

// Request is a request that was answered.
type Request struct {
	// Route is the path of the route as it is defined, such as /v1/memories/{id}; "" is none.
	Route  string
	Method string
	// Status is the answer's; 0 if the connection was closed without one.
	Status   int
	Duration time.Duration
}

// methods are those that have a label of their own; anybody may send others.
var methods = []string{"GET", "HEAD", "POST", "PUT", "DELETE"}

// Request counts a request.
func (m *Metrics) Request(r Request) {
	method := known(r.Method, methods)
	route := r.Route
	if route == "" {
		route = none
	}
	class := none
	if r.Status >= 100 && r.Status < 600 {
		class = strconv.Itoa(r.Status/100) + "xx"
	}
	m.requests.WithLabelValues(route, method, class).Inc()
	m.requestSeconds.WithLabelValues(method).Observe(r.Duration.Seconds())
}

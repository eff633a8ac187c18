package metrics

import (
	"strconv"
	"time"
)

// Request is an answered request.
type Request struct {
	// Route is the path of the route as it is defined, such as /v1/memories/{id}; "" is none.
	Route  string
	Method string
	// Model is whether it was for a model, whose replies take as long as they are.
	Model bool
	// Status is the answer's status; 0 if the connection was closed without an answer.
	Status   int
	Duration time.Duration
}

// methods are the methods with their own label; a client may send any others.
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
	if r.Model {
		m.modelSeconds.Observe(r.Duration.Seconds())
		return
	}
	m.requestSeconds.WithLabelValues(method).Observe(r.Duration.Seconds())
}

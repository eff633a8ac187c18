package operation

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
)

// statuses are the operations on the host itself.
func statuses() []Operation {
	return []Operation{
		define(Operation{
			Name: "status", main: true, Method: "GET", Path: "/v1/status", Scope: core.ScopeOperate, ReadOnly: true, Idempotent: true, NoStore: true,
			Doc: "Show what this host is, what it can do, and what is wrong with its parts.",
		}, onHost[StatusGet], func(_ context.Context, c *Call, _ *StatusGet) (*host.Status, error) { return c.Host.Status(), nil }),
	}
}

// Scrape is reading the metrics, which isn't in the table: a server answers it in the form that
// monitoring systems read. It gives the right to that, and does nothing.
func Scrape() Operation {
	return define(Operation{
		Name: "metrics", main: true, Method: "GET", Path: "/metrics", Scope: core.ScopeMetrics, Or: []core.Scope{core.ScopeOperate}, ReadOnly: true, Idempotent: true, NoStore: true,
		Doc: "Read the metrics of this host.",
	}, onHost[StatusGet], func(context.Context, *Call, *StatusGet) (*StatusGet, error) { return nil, nil })
}

// StatusGet asks for the host's status.
type StatusGet struct{}

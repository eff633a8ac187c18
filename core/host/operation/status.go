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

// StatusGet asks for the host's status.
type StatusGet struct{}

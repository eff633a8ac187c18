package process

import (
	"context"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

var (
	_ plugin.InstanceWithHealth    = (*instance)(nil)
	_ plugin.InstanceWithProcessor = (*instance)(nil)
)

// ProcessorTime is how long the instance's processes have used processors. A child that its
// parent didn't wait for is counted only while it lives.
func (i *instance) ProcessorTime() (time.Duration, error) { return i.cell.ProcessorTime(i.process.pid) }

// Healthy asks gRPC's health service. A plugin built with sdk/process answers by [sdk.Plugin]'s
// Health, another one as it likes; go-plugin's own server only shows that it serves. A program
// without that service counts as healthy while its connection works.
func (i *instance) Healthy(ctx context.Context) error {
	answer, err := grpc_health_v1.NewHealthClient(i.conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: goplugin.GRPCServiceName})
	switch code := status.Code(err); {
	case code == codes.Unimplemented || code == codes.NotFound:
		return nil
	case err != nil:
		return sdk.Errorf(sdk.Unavailable, "plugin_unhealthy", "plugin %s: health check: %s", i.installed.Name, status.Convert(err).Message())
	case answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING:
		return sdk.Errorf(sdk.Unavailable, "plugin_unhealthy", "plugin %s says that it is %s", i.installed.Name, answer.GetStatus())
	}
	return nil
}

package process

import (
	"context"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

var _ plugin.InstanceWithHealth = (*instance)(nil)

// Healthy asks gRPC's health service, which go-plugin's server has. A program without that
// service counts as healthy while its connection works.
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

package wire

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/check"
	"github.com/reflectory/reflectory/sdk/wire/wirepb"
)

func describe(ctx context.Context, rpc wirepb.PluginClient, o ClientOptions) (*sdk.Manifest, error) {
	pb, err := rpc.Describe(ctx, &wirepb.DescribeRequest{Contract: sdk.ContractVersion},
		grpc.MaxCallRecvMsgSize(check.MaxManifest))
	if err != nil {
		return nil, rpcError(o, "ask for its manifest", err)
	}
	m := decodeManifest(pb)
	if err := check.Manifest(o.Plugin, m); err != nil {
		return nil, err
	}
	return m, nil
}

// ErrLost is in the chain of every error that means that the stream ended during a
// call. The plugin may or may not have done its work.
var ErrLost = errors.New("the connection to the plugin was lost")

// rpcError turns an error of gRPC into an [sdk.Error]. All gRPC errors end the stream,
// so each of them has ErrLost in its chain.
func rpcError(o ClientOptions, doing string, err error) *sdk.Error {
	e := sdk.Errorf(sdk.Unavailable, "connection_lost", "plugin %s: could not %s: %s",
		o.Plugin, doing, status.Convert(err).Message())
	e.Err = errors.Join(ErrLost, err)
	switch status.Code(err) {
	case codes.ResourceExhausted:
		e.Code, e.Reason = sdk.Exhausted, "message_too_large"
		e.Hint = "the plugin ignored the cap on messages that the host gave it; report it to its author"
	case codes.Unimplemented:
		e.Code, e.Reason = sdk.Incompatible, "contract_mismatch"
		e.Hint = "the program doesn't serve this host's contract; rebuild it with this host's sdk"
	case codes.DeadlineExceeded:
		e.Code, e.Reason = sdk.Timeout, "start_timeout"
	case codes.Canceled:
		e.Code, e.Reason = sdk.Cancelled, ""
	}
	return e
}

package process

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/reflectory/reflectory/core/plugin/logs"
)

// go-plugin's server replaces a Go program's os.Stdout and os.Stderr by a gRPC stream, and its
// messages are private to it. Here both directions are read as empty messages, whose unknown fields
// hold the content.
const (
	stdioMethod    = "/plugin.GRPCStdio/StreamStdio"
	shutdownMethod = "/plugin.GRPCController/Shutdown"
	stdioData      = 2 // StdioData.data
	stdioChannel   = 1 // StdioData.channel: 1 is stdout, 2 stderr
)

// readStdio logs what the plugin prints, until the connection ends. A plugin
// without the service prints on its own pipes.
func readStdio(conn *grpc.ClientConn, l *logs.Log) {
	desc := &grpc.StreamDesc{StreamName: "StreamStdio", ServerStreams: true}
	stream, err := conn.NewStream(context.Background(), desc, stdioMethod)
	if err != nil || stream.SendMsg(new(emptypb.Empty)) != nil || stream.CloseSend() != nil {
		return
	}
	var channels [3]*logs.Writer
	for c := range channels {
		channels[c] = logs.NewWriter(l)
		defer channels[c].Flush()
	}
	for {
		msg := new(emptypb.Empty)
		if stream.RecvMsg(msg) != nil {
			return
		}
		channel, data := parseStdio(msg.ProtoReflect().GetUnknown())
		if channel < uint64(len(channels)) {
			_, _ = channels[channel].Write(data)
		}
	}
}

func parseStdio(b []byte) (channel uint64, data []byte) {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeField(b)
		if n < 0 {
			return channel, nil
		}
		_, _, tag := protowire.ConsumeTag(b)
		switch {
		case num == stdioChannel && typ == protowire.VarintType:
			channel, _ = protowire.ConsumeVarint(b[tag:])
		case num == stdioData && typ == protowire.BytesType:
			data, _ = protowire.ConsumeBytes(b[tag:])
		}
		b = b[n:]
	}
	return channel, data
}

// shutDown asks go-plugin's server to end. The answer is lost when it does.
func shutDown(ctx context.Context, conn *grpc.ClientConn) {
	_ = conn.Invoke(ctx, shutdownMethod, new(emptypb.Empty), new(emptypb.Empty))
}

package wire

import (
	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/reflectory/reflectory/sdk"
)

const (
	// maxElements is how many messages one frame may hold: enough for a batch of full
	// verdicts. Eight megabytes of empty messages, which would decode into hundreds of
	// megabytes, exceed it.
	maxElements = 100_000
	// countFrom is the size in bytes from which a frame's elements are counted. The
	// size of a smaller frame limits what it can decode into.
	countFrom = 64 << 10
)

// outbound is a frame that its caller has already encoded, so that a message that can't
// be sent fails only its own call and not the stream.
type outbound []byte

// inbound is a frame as it arrived. A bad frame, for which gRPC would end the stream,
// is reported by err, with as much of its id as can be read.
type inbound struct {
	msg proto.Message
	id  uint64
	err error
}

// codec is gRPC's protobuf codec with special handling of the two frame types.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(grpcproto.Name)} }

func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if b, ok := v.(outbound); ok {
		return mem.BufferSlice{mem.SliceBuffer(b)}, nil
	}
	return c.CodecV2.Marshal(v)
}

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	in, ok := v.(*inbound)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	buf := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buf.Free()
	in.decode(buf.ReadOnlyData())
	return nil
}

func (in *inbound) decode(b []byte) {
	if len(b) >= countFrom && countElements(in.msg.ProtoReflect().Descriptor(), b, 0) > maxElements {
		in.err = sdk.Errorf(sdk.Invalid, "frame_invalid", "holds more than %d messages", maxElements)
	} else if err := proto.Unmarshal(b, in.msg); err != nil {
		in.err = sdk.Errorf(sdk.Invalid, "frame_invalid", "is not a protobuf message of the contract: %w", err)
	}
	if in.err != nil {
		in.id = frameID(b)
	}
}

// frameID reads field 1 of a frame, or returns 0 if it can't.
func frameID(b []byte) uint64 {
	num, typ, n := protowire.ConsumeTag(b)
	if n < 0 || num != 1 || typ != protowire.VarintType {
		return 0
	}
	id, n := protowire.ConsumeVarint(b[n:])
	if n < 0 {
		return 0
	}
	return id
}

// countElements counts the messages inside b, which is a message of type md. It stops
// soon after maxElements. Invalid bytes end the count: decoding will refuse them.
func countElements(md protoreflect.MessageDescriptor, b []byte, count int) int {
	for len(b) > 0 && count <= maxElements {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return count
		}
		b = b[n:]
		if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
			return count
		}
		if fd := md.Fields().ByNumber(num); fd != nil && fd.Message() != nil && typ == protowire.BytesType {
			inner, _ := protowire.ConsumeBytes(b)
			count = countElements(fd.Message(), inner, count+1)
		}
		b = b[n:]
	}
	return count
}

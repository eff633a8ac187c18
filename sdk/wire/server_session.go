package wire

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/wire/wirepb"
)

// queuedJobs is how many calls may wait for a worker. Beyond that the stream
// waits, which a host with a pool never sees.
const queuedJobs = 1024

// session serves one stream: a reader, and workers that it starts as they are
// needed and that end with it.
type session struct {
	server *Server
	stream grpc.ServerStream
	jobs   chan *job
	group  sync.WaitGroup

	sending sync.Mutex

	mu      sync.Mutex
	running map[uint64]context.CancelFunc
	workers int
}

// job is one call that a worker is to run.
type job struct {
	ctx context.Context
	req *wirepb.Request
}

func newSession(s *Server, stream grpc.ServerStream) *session {
	return &session{
		server: s, stream: stream, jobs: make(chan *job, queuedJobs), running: map[uint64]context.CancelFunc{},
	}
}

// serve returns once the host has gone and every call has ended.
func (s *session) serve() error {
	ctx, cancel := context.WithCancel(s.stream.Context())
	defer s.group.Wait()
	defer close(s.jobs)
	defer cancel()
	for {
		in := &inbound{msg: new(wirepb.Request)}
		if err := s.stream.RecvMsg(in); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if in.err != nil {
			s.reply(in.id, errorReply(in.err))
			continue
		}
		s.accept(ctx, in.msg.(*wirepb.Request))
	}
}

func (s *session) accept(ctx context.Context, req *wirepb.Request) {
	if req.GetCancel() != nil {
		s.mu.Lock()
		cancel := s.running[req.GetId()]
		s.mu.Unlock()
		if cancel != nil {
			cancel()
		}
		return
	}
	var cancel context.CancelFunc
	if ms := req.GetTimeoutMs(); ms > 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(ms)*time.Millisecond)
	} else {
		ctx, cancel = context.WithCancel(ctx)
	}
	s.mu.Lock()
	s.running[req.GetId()] = cancel
	needed := s.workers < min(len(s.running), s.server.config.Parallel)
	if needed {
		s.workers++
	}
	s.mu.Unlock()
	if needed {
		s.group.Go(s.work)
	}
	s.jobs <- &job{ctx: ctx, req: req}
}

func (s *session) work() {
	for j := range s.jobs {
		s.reply(j.req.GetId(), s.server.run(j.ctx, j.req, s.chunk))
		s.finish(j.req.GetId())
	}
}

func (s *session) finish(id uint64) {
	s.mu.Lock()
	cancel := s.running[id]
	delete(s.running, id)
	s.mu.Unlock()
	cancel()
}

// chunk sends a piece of an output. One that doesn't fit is left out: the
// output that it is a piece of won't fit either, and says so.
func (s *session) chunk(id uint64, item int, piece string) {
	b, err := proto.Marshal(&wirepb.Reply{Id: id, Body: &wirepb.Reply_Chunk{
		Chunk: &wirepb.Chunk{Item: uint32(item), Text: text(piece)},
	}})
	if err == nil && len(b) <= s.server.config.MessageBytes {
		s.send(b)
	}
}

// reply sends a call's final frame, or why it can't be sent.
func (s *session) reply(id uint64, r *wirepb.Reply) {
	r.Id = id
	b, err := proto.Marshal(r)
	switch limit := s.server.config.MessageBytes; {
	case err != nil:
		err = sdk.Errorf(sdk.Internal, "encode", "encode the response: %w", err)
	case len(b) > limit:
		err = tooLarge("the response of plugin "+s.server.manifest.Name, len(b), limit)
	}
	if err != nil {
		r = errorReply(err)
		r.Id = id
		b, _ = proto.Marshal(r) // plain valid text
	}
	s.send(b)
}

// send returns an error to nobody: when the stream has ended, the reader sees it.
func (s *session) send(b []byte) {
	s.sending.Lock()
	defer s.sending.Unlock()
	_ = s.stream.SendMsg(outbound(b))
}

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
	"github.com/reflectory/reflectory/sdk/check"
	"github.com/reflectory/reflectory/sdk/wire/wirepb"
)

// session serves one stream. Its goroutines alternate: one reads a call and runs it,
// while the next one continues to read. So a call stays on one goroutine, unless Parallel
// calls are already running. Then the call is queued, and the reader continues to read, because
// a cancellation may arrive.
type session struct {
	server *Server
	stream grpc.ServerStream
	ctx    context.Context
	group  sync.WaitGroup

	sending sync.Mutex
	reading sync.Mutex

	mu      sync.Mutex
	cancels map[uint64]context.CancelFunc
	queue   []*job
	running int // calls, at most Parallel
	readers int // goroutines that read or wait to read
	err     error
	// questions are the questions to the host that wait for an answer.
	questions    map[uint64]chan<- *wirepb.HostReply
	lastQuestion uint64
}

// job is one call that was accepted.
type job struct {
	ctx context.Context
	req *wirepb.Request
}

func newSession(s *Server, stream grpc.ServerStream) *session {
	return &session{
		server: s, stream: stream, readers: 1,
		cancels: map[uint64]context.CancelFunc{}, questions: map[uint64]chan<- *wirepb.HostReply{},
	}
}

// serve returns once the host is gone and every call has ended.
func (s *session) serve() error {
	var cancel context.CancelFunc
	s.ctx, cancel = context.WithCancel(s.stream.Context())
	defer cancel()
	// The goroutine that reads the end of the stream cancels the calls.
	s.group.Go(func() { s.work(cancel) })
	s.group.Wait()
	if errors.Is(s.err, io.EOF) {
		return nil
	}
	return s.err
}

// work reads and runs calls until the stream ends.
func (s *session) work(cancel context.CancelFunc) {
	for {
		j := s.next()
		if j == nil {
			cancel()
			return
		}
		s.keepReading(cancel)
		for j != nil {
			ctx := sdk.WithHost(j.ctx, &callHost{session: s, job: j})
			s.reply(j.req.GetId(), s.server.run(ctx, j.req, s.chunk))
			j = s.finish(j)
		}
	}
}

// next reads until a call may run. It returns nil at the end of the stream.
func (s *session) next() *job {
	s.reading.Lock()
	defer s.reading.Unlock()
	for s.err == nil {
		in := &inbound{msg: new(wirepb.Request)}
		if s.err = s.stream.RecvMsg(in); s.err != nil {
			break
		}
		if in.err != nil {
			s.reply(in.id, errorReply(in.err))
			continue
		}
		if j := s.accept(in.msg.(*wirepb.Request)); j != nil {
			return j
		}
	}
	return nil
}

// accept returns the call of a request, if it may run now.
func (s *session) accept(req *wirepb.Request) *job {
	s.mu.Lock()
	defer s.mu.Unlock()
	if req.GetCancel() != nil {
		if cancel := s.cancels[req.GetId()]; cancel != nil {
			cancel()
		}
		return nil
	}
	if reply := req.GetHostReply(); reply != nil {
		s.answer(reply)
		return nil
	}
	j := &job{req: req}
	var cancel context.CancelFunc
	if ms := req.GetTimeoutMs(); ms > 0 {
		j.ctx, cancel = context.WithTimeout(s.ctx, time.Duration(ms)*time.Millisecond)
	} else {
		j.ctx, cancel = context.WithCancel(s.ctx)
	}
	s.cancels[req.GetId()] = cancel
	if s.running == s.server.config.Parallel {
		s.queue = append(s.queue, j)
		return nil
	}
	s.running++
	s.readers--
	return j
}

// keepReading starts another reader if the caller was the last one. So there is at most
// one goroutine more than there are running calls.
func (s *session) keepReading(cancel context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readers == 0 {
		s.readers++
		s.group.Go(func() { s.work(cancel) })
	}
}

// finish ends a call and returns the next waiting one. If there is none, the caller
// reads again.
func (s *session) finish(j *job) *job {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancels[j.req.GetId()]()
	delete(s.cancels, j.req.GetId())
	if len(s.queue) > 0 {
		next := s.queue[0]
		s.queue = s.queue[1:]
		return next
	}
	s.running--
	s.readers++
	return nil
}

// chunk sends a piece of an output. A piece that doesn't fit is left out: the whole
// output won't fit either, and its reply says so.
func (s *session) chunk(id uint64, item int, piece string) {
	b, err := proto.Marshal(&wirepb.Reply{Id: id, Body: &wirepb.Reply_Chunk{
		Chunk: &wirepb.Chunk{Item: uint32(item), Text: text(piece)},
	}})
	if err == nil && len(b) <= s.server.config.MessageBytes {
		s.send(b)
	}
}

// reply sends a call's final frame, or the reason why it can't be sent.
func (s *session) reply(id uint64, r *wirepb.Reply) {
	r.Id = id
	b, err := proto.Marshal(r)
	switch limit := s.server.config.MessageBytes; {
	case err != nil:
		err = sdk.Errorf(sdk.Internal, "encode", "encode the response: %w", err)
	case len(b) > limit:
		err = check.TooLarge("the response of plugin "+s.server.manifest.Name, len(b), limit)
	}
	if err != nil {
		r = errorReply(err)
		r.Id = id
		b, _ = proto.Marshal(r) // plain valid text
	}
	s.send(b)
}

// send ignores the error: when the stream has ended, the reader sees it.
func (s *session) send(b []byte) {
	s.sending.Lock()
	defer s.sending.Unlock()
	_ = s.stream.SendMsg(outbound(b))
}

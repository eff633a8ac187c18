package wire

import (
	"context"
	"encoding/json"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/check"
	"github.com/reflectory/reflectory/sdk/wire/wirepb"
)

// callHost is the host for one call.
type callHost struct {
	session *session
	job     *job
	once    sync.Once
	slots   chan struct{}
}

// Ask implements [sdk.Host]. If too many questions are open, it waits until one is
// answered.
func (h *callHost) Ask(ctx context.Context, service sdk.Service, request json.RawMessage) (json.RawMessage, error) {
	if limit := h.limit(); len(request) > limit {
		return nil, check.HostCallTooLarge(service, len(request), limit)
	}
	h.once.Do(func() { h.slots = make(chan struct{}, check.MaxHostOpen) })
	select {
	case h.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-h.job.ctx.Done():
		return nil, h.ended()
	}
	defer func() { <-h.slots }()
	return h.callService(ctx, service, request)
}

// limit is how long a question may be: its frame must fit into a message too, or the
// host would end the stream.
func (h *callHost) limit() int {
	return max(0, min(check.MaxHostBytes, h.session.server.config.MessageBytes-hostFrame))
}

func (h *callHost) callService(ctx context.Context, service sdk.Service, request json.RawMessage) (json.RawMessage, error) {
	callID := h.job.req.GetId()
	if len(service) > maxService {
		return nil, sdk.Errorf(sdk.Invalid, "service_unknown", "%.64q… is no host service", service).WithHint("see sdk.Services")
	}
	id, answer := h.session.openQuestion(callID)
	if answer == nil {
		return nil, callEnded()
	}
	h.session.sendReply(&wirepb.Reply{Id: callID, Body: &wirepb.Reply_HostCall{HostCall: encodeHostCall(id, service, request)}})
	select {
	case reply := <-answer:
		return decodeHostReply(reply)
	case <-h.job.ctx.Done():
		h.session.closeQuestion(id)
		return nil, h.ended()
	case <-ctx.Done():
		h.session.closeQuestion(id)
		h.session.sendReply(&wirepb.Reply{Id: callID, Body: &wirepb.Reply_HostCancel{HostCancel: &wirepb.HostCancel{Id: id}}})
		return nil, ctx.Err()
	}
}

// ended is the reason why the call is over: because its context ended, or because it returned.
func (h *callHost) ended() error {
	if h.session.isRunning(h.job) {
		return h.job.ctx.Err()
	}
	return callEnded()
}

// openQuestion returns the id of a new question and the channel for its answer, or nil
// if the call is over.
func (s *session) openQuestion(callID uint64) (uint64, <-chan *wirepb.HostReply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancels[callID] == nil {
		return 0, nil
	}
	s.lastQuestion++
	answer := make(chan *wirepb.HostReply, 1)
	s.questions[s.lastQuestion] = answer
	return s.lastQuestion, answer
}

func (s *session) closeQuestion(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.questions, id)
}

func (s *session) isRunning(j *job) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cancels[j.req.GetId()] != nil
}

// answer gives an answer to the goroutine that waits for it. The caller must hold the
// lock.
func (s *session) answer(reply *wirepb.HostReply) {
	if question := s.questions[reply.GetId()]; question != nil {
		delete(s.questions, reply.GetId())
		question <- reply
	}
}

// sendReply sends a frame that always fits.
func (s *session) sendReply(r *wirepb.Reply) {
	if b, err := proto.Marshal(r); err == nil {
		s.send(b)
	}
}

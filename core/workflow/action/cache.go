package action

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/core"
)

// A step with cache: true gives a model's reply again where the model would be asked
// the same. What it would be asked is its rendered config: endpoint, model, messages and
// all that shapes the reply. The iteration is part of it too, since a loop without a
// corrector asks the same again for another try, and would get its failed attempt back.
// So is the namespace: a reply, or that there is one, tells what another namespace asked.
// Failures are never kept.

// step makes a workflow's step callable for one action.
func (a *Actions) step(req *Request, s Step) (*step, error) {
	st, err := newStep(a.Plugins, s, req.Note)
	if err == nil && s.Cache {
		st.replies, st.namespace, st.memories = a.Replies, a.Namespace, req.Memories
	}
	return st, err
}

// cached is the reply that is kept for a call, nil where none is. A store that fails
// doesn't fail the call: the record of the attempt does that.
func (s *step) cached(ctx context.Context, target core.Target, iteration int) *core.Reply {
	if s.replies == nil {
		return nil
	}
	known, err := s.replies.Reply(ctx, s.replyDigest(target, iteration), s.memories)
	if err != nil {
		return nil
	}
	return known
}

// keep keeps a reply. It is paid for, so a failure to keep it loses nothing.
func (s *step) keep(ctx context.Context, target core.Target, iteration int, r *core.Reply) {
	if s.replies == nil || !json.Valid(r.Output) {
		return
	}
	_ = s.replies.KeepReply(ctx, s.replyDigest(target, iteration), r, s.memories)
}

// replyDigest names a call by all that its reply depends on.
func (s *step) replyDigest(target core.Target, iteration int) string {
	return core.Digest(core.MustJSON([]any{s.namespace, target.Plugin, target.WithDigest().Digest, iteration}))
}

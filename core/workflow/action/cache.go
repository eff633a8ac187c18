package action

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// A step with cache: true reuses a model's reply if the model would be asked exactly the
// same. That is its rendered config: endpoint, model, messages and everything that
// affects the reply. The iteration is included, because a loop without a corrector
// repeats the same request to get another attempt, and would otherwise get its failed
// attempt again. So is the namespace: a reply, or the fact that there is one, would reveal what another
// namespace asked. Failures are never cached, nor replies that their plugin marks, such as one to a
// prompt of which the model has read only a part.

// step makes a workflow's step callable for one action.
func (a *Actions) step(ctx context.Context, req *Request, s Step) (*step, error) {
	st, err := newStep(a.Plugins, s, listenerOf(req))
	if err == nil && s.Cache {
		st.replies, st.namespace = a.Replies, a.Namespace
	}
	if err == nil && s.Tools != nil {
		err = a.useTools(ctx, req, st, s.Tools)
	}
	return st, err
}

// cached is the cached reply for a call; nil if there is none. A store that fails doesn't
// fail the call: recording the attempt will.
func (s *step) cached(ctx context.Context, target core.Target, iteration int) *core.Reply {
	if s.replies == nil {
		return nil
	}
	known, err := s.replies.Reply(ctx, s.replyDigest(target, iteration), s.hear.given.list())
	if err != nil {
		return nil
	}
	return known
}

// keep caches a reply. The reply has already been paid for, so a failure to cache it
// loses nothing.
func (s *step) keep(ctx context.Context, target core.Target, iteration int, r *core.Reply) {
	if s.replies == nil || !json.Valid(r.Output) || r.Metadata[sdk.MetadataNotCached] != "" {
		return
	}
	_ = s.replies.KeepReply(ctx, s.replyDigest(target, iteration), r, s.hear.given.list())
}

// replyDigest identifies a call by everything that its reply depends on.
func (s *step) replyDigest(target core.Target, iteration int) string {
	return core.Digest(jsontext.MustEncode([]any{s.namespace, target.Plugin, target.WithDigest().Digest, iteration}))
}

package gateway

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/conversation"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// quiet is how long a turn waits for the next one before its feedback is written.
	quiet = 15 * time.Minute
	// settledAtOnce is how many sessions a sweep looks at.
	settledAtOnce = 256
	// maxOpen bounds the turns of a session that wait for their feedback, and maxTools the outcomes of
	// tools that are kept of one, the newest.
	maxOpen  = 8
	maxTools = 64
)

// answered files the answer, and what it says of the turn.
func (x *exchange) answered(ctx context.Context) {
	if x.outcome.Attempt == 0 {
		return
	}
	ctx = context.WithoutCancel(ctx)
	reply := x.replies[x.outcome.Attempt-1]
	if err := core.JoinErrors(x.fileAnswer(ctx, reply), x.learn(ctx, reply)); err != nil {
		x.options.Warn(sdk.Wrap("file an answer of the gateway", err))
	}
}

// whole files an answer that the client is about to have: its next request may come before this one's end.
func (x *exchange) whole(reply *Reply) {
	if x.at == nil {
		return
	}
	if err := x.fileAnswer(context.Background(), reply); err != nil {
		x.options.Warn(sdk.Wrap("file an answer of the gateway", err))
	}
}

func (x *exchange) fileAnswer(ctx context.Context, reply *Reply) error {
	now := x.on.Config.Clock.Now().UnixNano()
	before, prefix := len(x.r.Messages), ""
	if n := before - 1; n >= 0 && x.r.Messages[n].Role == Assistant && len(x.r.Messages[n].Calls) == 0 {
		before, prefix = n, x.r.Messages[n].Text // the reply goes on with this text
	}
	digest := x.answerPlace(x.at.digests[before], prefix+reply.Text, reply.Calls)
	if digest == x.filed {
		return nil
	}
	all := append(slices.Clip(x.replies), reply)
	place := &conversation.Place{Session: x.at.session, Turn: x.at.turn, Request: x.at.request, Answer: digest, Model: x.model.Name, At: now}
	places := []string{digest}
	if first := all[0]; x.r.Stream && first != reply { // the client may have the first attempt's text
		places = append(places, x.answerPlace(x.at.digests[before], prefix+first.Text, reply.Calls))
	}
	if prefix != "" {
		places = append(places, x.answerPlace(x.at.digests[len(x.r.Messages)], reply.Text, reply.Calls))
	}
	for _, r := range all { // the client may have the beginning of another attempt
		for _, id := range r.IDs {
			places = append(places, x.digest("response", id))
		}
	}
	for _, d := range places {
		if err := x.log.PutPlace(x.model.Namespace, d, place); err != nil {
			return err
		}
	}
	x.filed = digest
	return x.change(ctx, x.log, x.model.Namespace, x.at.session, func(s *conversation.Session) { s.Answer, s.At = digest, now })
}

// learn notes what an answer says of its turn.
func (x *exchange) learn(ctx context.Context, reply *Reply) error {
	if !x.learns() {
		return nil
	}
	used, err := x.on.Memories.Infer(ctx, core.TurnRef{Session: x.at.session, Turn: x.at.turn}, said(reply))
	if err != nil {
		return err
	}
	now := x.on.Config.Clock.Now().UnixNano()
	return x.change(ctx, x.log, x.model.Namespace, x.at.session, func(s *conversation.Session) {
		s.At = now
		x.note(s, reply, used)
	})
}

// learns reports whether the turn has something to be learned from.
func (x *exchange) learns() bool { return x.model.Learn && x.outcome.Turn.Snapshot != "" }

// said is a reply as a text.
func said(reply *Reply) string {
	parts := []string{reply.Text}
	for _, c := range reply.Calls {
		parts = append(parts, c.Name+" "+c.Arguments)
	}
	text := strings.Join(parts, "\n")
	return text[:min(len(text), memory.MaxReplyBytes)]
}

// note adds a reply to its turn.
func (x *exchange) note(s *conversation.Session, reply *Reply, used map[string]float64) {
	open := slices.Clone(s.Open)
	i := slices.IndexFunc(open, func(o conversation.Open) bool { return o.Turn == x.at.turn })
	if i < 0 {
		open = append(open, conversation.Open{Turn: x.at.turn})
		i = len(open) - 1
	}
	o := &open[i]
	o.At, o.Answered = s.At, len(reply.Calls) == 0 && reply.Finish != Cut
	if o.Valid == nil {
		o.Valid = x.checker.first
	}
	merged := map[string]float64{}
	for _, from := range []map[string]float64{o.Used, used} {
		for id, strength := range from {
			merged[id] = max(merged[id], strength)
		}
	}
	o.Used, o.Tools = merged, x.tools(o.Tools)
	s.Open = open[max(0, len(open)-maxOpen):]
}

// tools adds the outcomes of tools that the request brings.
func (x *exchange) tools(known []conversation.Tool) []conversation.Tool {
	names := map[string]string{}
	list := slices.Clone(known)
	for i := range x.r.Messages {
		m := &x.r.Messages[i]
		for _, c := range m.Calls {
			names[c.ID] = c.Name
		}
		if i <= x.at.answer {
			continue
		}
		for _, r := range m.Results {
			if !slices.ContainsFunc(list, func(t conversation.Tool) bool { return t.Call == r.CallID }) {
				list = append(list, conversation.Tool{Call: r.CallID, Name: names[r.CallID], OK: !r.Failed && !saysFailed(r.Text)})
			}
		}
	}
	return list[max(0, len(list)-maxTools):]
}

// saysFailed reports whether a result says in a member of its own that the call failed. Text isn't
// guessed at.
func saysFailed(text string) bool {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return false
	}
	value, err := jsontext.Decode([]byte(text))
	members, is := value.(map[string]any)
	if err != nil || !is {
		return false
	}
	switch e := members["error"].(type) {
	case nil:
	case bool:
		return e
	case string:
		return e != ""
	default:
		return true
	}
	if failed, is := members["is_error"].(bool); is {
		return failed
	}
	code, is := members["exit_code"]
	return is && code != nil && string(jsontext.MustEncode(code)) != "0"
}

// change changes a session on file.
func (g *Gateway) change(ctx context.Context, log *conversation.Log, namespace, name string, change func(*conversation.Session)) error {
	g.placing.Lock()
	defer g.placing.Unlock()
	var s *conversation.Session
	err := log.View(ctx, func(r *conversation.Reader) (err error) {
		s, err = r.Session(namespace, name)
		return err
	})
	if err != nil || s == nil {
		return err
	}
	now := *s
	change(&now)
	return log.PutSession(namespace, name, &now)
}

// ended divides the open turns of a session: those that a new turn ends, and the others. A turn that
// waits for results of tools goes on, unless the new turn follows from it.
func ended(list []conversation.Open, f *found) (settled, left []conversation.Open) {
	for _, o := range list {
		if o.Answered || f.answer != nil && f.answer.Turn == o.Turn {
			settled = append(settled, o)
		} else {
			left = append(left, o)
		}
	}
	return settled, left
}

// outcomeOf is how a turn went; "" if nothing shows it.
func outcomeOf(o *conversation.Open) core.Outcome {
	switch n := len(o.Tools); {
	case n > 0 && !o.Tools[n-1].OK:
		return core.OutcomeFailure
	case o.Valid == nil:
		return ""
	case *o.Valid:
		return core.OutcomeSuccess
	}
	return core.OutcomeFailure
}

// settle writes the feedback on turns of a session. The caller is the one in ctx.
func (g *Gateway) settle(ctx context.Context, on *host.Host, session string, list []conversation.Open) {
	for i := range list {
		o := &list[i]
		outcome := outcomeOf(o)
		if outcome == "" {
			continue
		}
		r := &core.FeedbackRequest{Session: session, Turn: o.Turn, Outcome: outcome, Source: memory.SourceInferred}
		for i, t := range o.Tools {
			later := slices.ContainsFunc(o.Tools[i+1:], func(next conversation.Tool) bool { return next.OK && next.Name == t.Name })
			if t.Name != "" {
				r.ToolOutcomes = append(r.ToolOutcomes, core.ToolOutcome{Tool: t.Name, OK: t.OK, Recovered: !t.OK && later})
			}
		}
		if _, err := on.Memories.FeedbackInferred(ctx, r, o.Used); err != nil && sdk.CodeOf(err) != sdk.NotFound {
			g.options.Warn(sdk.Wrap("learn from a turn of the gateway", err))
		}
	}
}

// settleOld writes the feedback on turns that nobody went on with.
func (g *Gateway) settleOld(ctx context.Context, on *host.Host, log *conversation.Log) error {
	before := on.Config.Clock.Now().Add(-quiet)
	waiting, err := log.Waiting(ctx, before, settledAtOnce)
	for _, w := range waiting {
		var old []conversation.Open
		subject := ""
		err := g.change(ctx, log, w.Namespace, w.Session, func(s *conversation.Session) {
			subject, old = s.Subject, nil
			var left []conversation.Open
			for _, o := range s.Open {
				if o.At < before.UnixNano() {
					old = append(old, o)
				} else {
					left = append(left, o)
				}
			}
			s.Open = left
		})
		if err != nil {
			return err
		}
		g.settle(core.WithCaller(ctx, core.Caller{Subject: subject}), on, w.Session, old)
	}
	if err == nil && len(waiting) > 0 {
		err = log.Commit(ctx)
	}
	return err
}

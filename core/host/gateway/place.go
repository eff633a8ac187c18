package gateway

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/conversation"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// again is how long the same messages are another attempt at their turn.
	again = 10 * time.Minute
	// maxBranches bounds the sessions that a session's contexts are looked for in.
	maxBranches = 16
)

// placement is where a request belongs.
type placement struct {
	digests chain
	// session is the session's name in the store, and shown as the client sees it.
	session, shown string
	turn           int64
	// begins is whether the request begins its turn; otherwise it continues it, or tries it again.
	begins, retries bool
	// answer is the index of the message before the new ones, -1 for none, and request the place of this
	// request.
	answer  int
	request string
	// settle are earlier turns of the session that this one ends.
	settle []conversation.Open
	// before is closed once the session's earlier turn has its context; nil if it has.
	before <-chan struct{}
	done   func()
}

// found is what is on file of a request.
type found struct {
	answer  *conversation.Place // of the newest answer; nil for none
	at      int                 // its message
	session *conversation.Session
	name    string
	request *conversation.Place // of the same messages
}

// place finds the session and the turn of a request, and files it. Requests are placed one at a time,
// so that two of one session get different turns.
func (x *exchange) place(ctx context.Context) (*placement, error) {
	p := &placement{digests: digestsOf(x.r)}
	p.request = x.digest("request", x.r.Session, p.digests.last()) // two sessions that are named may say the same
	x.placing.Lock()
	defer x.placing.Unlock()
	f, err := x.find(ctx, p)
	if err != nil {
		return nil, err
	}
	now := x.on.Config.Clock.Now()
	s := conversation.Session{Subject: x.caller.Subject, Named: x.r.Session != ""}
	if f.session != nil {
		s = *f.session
	}
	p.answer = f.at
	switch {
	case x.sameAgain(f, now):
		p.session, p.turn, p.retries = f.request.Session, f.request.Turn, true
	case f.name == "":
		p.session = x.newSession()
	case f.answer != nil && x.r.Session == "" && s.Answer != f.answer.Answer:
		p.session = x.newSession()
		s = conversation.Session{Subject: x.caller.Subject, Parent: f.name}
	default:
		p.session = f.name
	}
	if !p.retries {
		if p.begins = s.Turn == 0 || beginsTurn(x.r.Messages[f.at+1:]); p.begins {
			if p.turn, err = x.nextTurn(ctx, p.session, s.Turn); err != nil {
				return nil, err
			}
			p.settle, s.Open = ended(s.Open, f)
			s.Turn = p.turn
		} else if p.turn = s.Turn; f.answer != nil && f.answer.Session == p.session {
			p.turn = f.answer.Turn
		}
		s.At = now.UnixNano()
		if err := x.log.PutSession(x.model.Namespace, p.session, &s); err != nil {
			return nil, err
		}
	}
	p.shown = x.shownName(p.session)
	p.before, p.done = x.queue(p.session)
	return p, x.file(f, p, now)
}

// sameAgain reports whether the request is another attempt at a turn: the same messages again, soon,
// with no answer to them built on.
func (x *exchange) sameAgain(f *found, now time.Time) bool {
	p := f.request
	return p != nil && !p.Continued && now.Sub(time.Unix(0, p.At)) < again && (x.r.Session == "" || p.Session == f.name)
}

// file files the request, and that the one before was built on.
func (x *exchange) file(f *found, p *placement, now time.Time) error {
	place := conversation.Place{Session: p.session, Turn: p.turn, At: now.UnixNano()}
	if err := x.log.PutPlace(x.model.Namespace, p.request, &place); err != nil || f.answer == nil || f.answer.Request == "" {
		return err
	}
	var before *conversation.Place
	err := x.log.View(context.Background(), func(r *conversation.Reader) (err error) {
		before, err = r.Place(x.model.Namespace, f.answer.Request)
		return err
	})
	if err != nil || before == nil || before.Continued {
		return err
	}
	continued := *before
	continued.Continued = true
	return x.log.PutPlace(x.model.Namespace, f.answer.Request, &continued)
}

// find looks for what is on file of a request.
func (x *exchange) find(ctx context.Context, p *placement) (*found, error) {
	f := &found{at: lastAnswer(x.r.Messages)}
	named := ""
	if x.r.Session != "" {
		var err error
		if named, err = x.namedSession(ctx); err != nil {
			return nil, err
		}
	}
	err := x.log.View(ctx, func(r *conversation.Reader) (err error) {
		if f.request, err = r.Place(x.model.Namespace, p.request); err != nil {
			return err
		}
		if err := x.findAnswer(r, p, f); err != nil {
			return err
		}
		switch {
		case named != "":
			f.name = named
		case f.answer != nil:
			f.name = f.answer.Session
		case f.request != nil:
			f.name = f.request.Session
		}
		if f.name == "" {
			return nil
		}
		if f.session, err = r.Session(x.model.Namespace, f.name); err == nil && f.session == nil && named == "" {
			f.name, f.answer = "", nil
		}
		return err
	})
	if f.answer == nil && f.request != nil && named == "" && !x.sameAgain(f, x.on.Config.Clock.Now()) {
		f.name, f.session = "", nil
	}
	return f, err
}

// findAnswer looks for the newest message of the assistant that is on file as an answer.
func (x *exchange) findAnswer(r *conversation.Reader, p *placement, f *found) (err error) {
	if x.r.Previous != "" {
		f.at = -1
		f.answer, err = r.Place(x.model.Namespace, x.digest("response", x.r.Previous))
		return err
	}
	for i := len(x.r.Messages) - 1; i >= 0 && f.answer == nil; i-- {
		if m := &x.r.Messages[i]; m.Role == Assistant {
			if f.answer, err = r.Place(x.model.Namespace, x.answerPlace(p.digests[i], m.Text, m.Calls)); err != nil {
				return err
			}
			if f.answer != nil {
				f.at = i
			}
		}
	}
	return nil
}

// refers refuses a request that refers to what the upstream keeps, unless the caller got it as an answer: the
// upstream has one key for all, and would continue anybody's conversation.
func (x *exchange) refers(ctx context.Context) error {
	if x.model.OwnHistory || len(x.r.Refers) == 0 {
		return nil
	}
	return x.log.View(ctx, func(r *conversation.Reader) error {
		for _, id := range x.r.Refers {
			if p, err := r.Place(x.model.Namespace, x.digest("response", id)); err != nil {
				return err
			} else if p == nil {
				return sdk.Errorf(sdk.Invalid, "previous_response_not_found", "there is no response, item or conversation %s of yours", core.Cut(id)).
					WithHint("send the whole conversation instead")
			}
		}
		return nil
	})
}

// lastAnswer is the last message of the assistant that others follow; -1 if there is none.
func lastAnswer(list []Message) int {
	for i := len(list) - 2; i >= 0; i-- {
		if list[i].Role == Assistant {
			return i
		}
	}
	return -1
}

// beginsTurn reports whether one of the messages after an answer begins a turn.
func beginsTurn(list []Message) bool {
	for i := range list {
		if list[i].Role == User && len(list[i].Results) == 0 {
			return true
		}
	}
	return false
}

// nextTurn is the turn after a session's newest one. A session's turns may also be begun elsewhere, by
// a recall over another surface.
func (x *exchange) nextTurn(ctx context.Context, session string, newest int64) (int64, error) {
	if x.model.Recall.MaxTokens == 0 {
		return newest + 1, nil
	}
	head, err := x.on.Memories.Sessions.Head(ctx, session)
	if err != nil || head == nil {
		return newest + 1, err
	}
	return max(newest+1, head.NextTurn), nil
}

// queue lets the contexts of a session's turns be built one after another, in the order in which the
// requests were placed: a turn takes no recall once a later one has begun.
func (x *exchange) queue(session string) (before <-chan struct{}, done func()) {
	id := x.model.Namespace + "\x00" + session
	mine := make(chan struct{})
	before, x.building[id] = x.building[id], mine
	return before, sync.OnceFunc(func() {
		close(mine)
		x.placing.Lock()
		defer x.placing.Unlock()
		if x.building[id] == mine {
			delete(x.building, id)
		}
	})
}

// digest is the name of a place of the caller.
func (x *exchange) digest(parts ...string) string { return placeOf(x.caller, parts...) }

func placeOf(c core.Caller, parts ...string) string {
	return sum(append([]string{c.Subject}, parts...)...)
}

// Answered is the name of the model that gave a caller the response of an id, for a model in a namespace;
// "" if none did.
func (g *Gateway) Answered(ctx context.Context, caller core.Caller, namespace, id string) (model string, err error) {
	err = g.logs[g.host.Databases.Of(namespace)].View(ctx, func(r *conversation.Reader) error {
		p, err := r.Place(namespace, placeOf(caller, "response", id))
		if model = ""; p != nil {
			model = p.Model
		}
		return err
	})
	return model, err
}

// answerPlace is the place of an answer after messages.
func (x *exchange) answerPlace(before, text string, calls []Call) string {
	return x.digest("answer", before, answerDigest(text, calls))
}

// mark is the mark of the names of the caller's sessions; "" if they have none.
func (x *exchange) mark() string {
	if marks := memory.SessionMarks(x.caller); len(marks) > 0 {
		return marks[0]
	}
	return ""
}

func (x *exchange) storedName(name string) string {
	if mark := x.mark(); mark != "" {
		return core.ScopedName(name, mark)
	}
	return name
}

func (x *exchange) shownName(name string) string {
	return strings.TrimSuffix(name, core.ScopedName("", x.mark()))
}

func (x *exchange) newSession() string { return x.storedName(x.host.Config.IDs.NewID()) }

// namedSession is the session that the client names. One of the same name in another namespace is
// another session: a prompt has what its session's earlier turns said.
func (x *exchange) namedSession(ctx context.Context) (string, error) {
	name := chosenName(x.r.Session)
	stored := x.storedName(name)
	if x.model.Recall.MaxTokens == 0 {
		return stored, nil
	}
	head, err := x.on.Memories.Sessions.Head(ctx, stored)
	if err == nil && head != nil && (head.Namespace != x.model.Namespace || head.Owner != x.caller.Subject) {
		stored = x.storedName(name + "." + sum(x.model.Namespace)[:8])
	}
	return stored, err
}

package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/conversation"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/core/jsontext"
)

// What is remembered goes up next to what the client wrote, and the client never sees it. In the
// client's next request it is missing, so it is put back: otherwise the upstream would see another
// history, and couldn't use what it has cached of it.

// maxQuery bounds the query, in bytes: the rest of a long message is text to work on.
const maxQuery = 4000

// context gives the request's turn its snapshot, and the request what goes up of this and earlier ones.
func (x *exchange) context(ctx context.Context) (*inject.Built, error) {
	if x.at.before != nil {
		<-x.at.before
	}
	x.settle(ctx, x.on, x.at.session, x.at.settle)
	at := lastQuestion(x.r.Messages)
	given, err := x.putBack(ctx, at)
	if err != nil {
		return nil, err
	}
	query := ""
	if at >= 0 {
		query = strings.TrimSpace(strings.ToValidUTF8(x.r.Messages[at].Text, "\ufffd"))
		query = strings.ToValidUTF8(query[:min(len(query), maxQuery)], "")
	}
	built, err := x.on.Injections.Build(ctx, &inject.BuildRequest{
		Namespace: x.model.Namespace, Session: x.at.session, Turn: x.at.turn, Query: query, InHistory: true,
		Policy: &inject.PolicyRequest{Policy: inject.Policy{MaxTokens: x.model.Recall.MaxTokens}, MaxChars: new(int)},
	}, inject.FromCaller)
	if err != nil {
		return nil, err
	}
	x.outcome.Turn.Snapshot = built.SnapshotID
	x.edits.System = anchors(built.Snapshot)
	if at < 0 {
		return built, nil
	}
	place, err := x.contextPlace(ctx, at, 0)
	if err != nil {
		return nil, err
	}
	if place == nil || place.Snapshot != built.SnapshotID {
		place = &conversation.Place{
			Session: x.at.session, Turn: x.at.turn, Snapshot: built.SnapshotID, Given: repeated(built.Snapshot, given, x.at.turn),
			At: x.on.Config.Clock.Now().UnixNano(),
		}
		if err := x.log.PutPlace(x.model.Namespace, x.contextDigest(x.at.session, at), place); err != nil {
			return nil, err
		}
	}
	x.addContext(at, built.Snapshot, place.Given)
	return built, nil
}

// continued gives a request that continues its turn what goes up of this and earlier turns.
func (x *exchange) continued(ctx context.Context) error {
	if _, err := x.putBack(ctx, -1); err != nil {
		return err
	}
	s, err := x.on.Snapshots.OfTurn(ctx, x.at.session, x.at.turn)
	if s != nil {
		x.outcome.Turn.Snapshot, x.edits.System = s.SnapshotID, anchors(s)
	}
	return err
}

// lastQuestion is the user's last message, without results of tools if there is one; -1 if the user
// wrote nothing.
func lastQuestion(list []Message) int {
	last := -1
	for i := len(list) - 1; i >= 0; i-- {
		switch m := &list[i]; {
		case m.Role == User && len(m.Results) == 0:
			return i
		case m.Role == User && last < 0:
			last = i
		}
	}
	return last
}

// source is where a memory's text is further up: its name there, and the turn.
type source struct {
	handle string
	turn   int64
}

// putBack puts the contexts of earlier messages back, and returns the memories whose texts are in them.
// The message at an index gets its context later.
func (x *exchange) putBack(ctx context.Context, except int) (map[string]source, error) {
	given := map[string]source{}
	if x.r.Previous != "" {
		return given, nil
	}
	for i := range x.r.Messages {
		if x.r.Messages[i].Role != User || i == except {
			continue
		}
		place, err := x.contextPlace(ctx, i, maxBranches)
		if err != nil {
			return nil, err
		}
		if place == nil {
			continue
		}
		s, err := x.on.Snapshots.Get(ctx, place.Snapshot)
		if err != nil {
			return nil, err
		}
		x.addContext(i, s, place.Given)
		for _, b := range s.BlocksUsed {
			if b.MemoryID != "" && b.Payload != inject.PurgedPayload && place.Given[b.MemoryID] == "" {
				given[b.MemoryID] = source{handleOf(&b), place.Turn}
			}
		}
	}
	return given, nil
}

// contextPlace is the place of a message that has a context, in the request's session or one that it
// branched off from; nil if there is none.
func (x *exchange) contextPlace(ctx context.Context, i, branches int) (place *conversation.Place, err error) {
	err = x.log.View(ctx, func(r *conversation.Reader) error {
		for session, n := x.at.session, 0; session != "" && n <= branches; n++ {
			if place, err = r.Place(x.model.Namespace, x.contextDigest(session, i)); err != nil || place != nil || n == branches {
				return err
			}
			s, err := r.Session(x.model.Namespace, session)
			if err != nil || s == nil {
				return err
			}
			session = s.Parent
		}
		return nil
	})
	return place, err
}

func (x *exchange) contextDigest(session string, i int) string {
	return x.digest("context", session, x.at.digests[i+1])
}

func (x *exchange) addContext(i int, s *inject.Snapshot, given map[string]string) {
	text := contextText(s, given)
	if text == "" {
		return
	}
	if x.edits.Context == nil {
		x.edits.Context = map[int]string{}
	}
	x.edits.Context[i] = text
}

// anchors are the operator's own texts in a snapshot.
func anchors(s *inject.Snapshot) string {
	var texts []string
	for i := range s.BlocksUsed {
		if b := &s.BlocksUsed[i]; system(b) && b.Payload != inject.PurgedPayload {
			texts = append(texts, b.Payload)
		}
	}
	return strings.Join(texts, "\n\n")
}

// system reports whether a block belongs into the system text: an anchor that is no recalled text.
func system(b *inject.Used) bool {
	return b.Anchor && b.MemoryID == "" && b.Category != inject.MemoryRecall
}

// contextText is what else a snapshot has, as a text of its own; "" if there is nothing. A text that was
// purged is left out, and a memory that is given further up is only named.
func contextText(s *inject.Snapshot, given map[string]string) string {
	var parts []core.PromptPart
	for i := range s.BlocksUsed {
		b := &s.BlocksUsed[i]
		if system(b) || b.Payload == inject.PurgedPayload {
			continue
		}
		part := core.PromptPart{Payload: b.Payload, Recalled: b.MemoryID != "" || b.Category == inject.MemoryRecall}
		if up := given[b.MemoryID]; up != "" {
			part.Payload = up
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return ""
	}
	return "<context source=\"reflectory\">\n" + core.JoinPrompt(parts) + "\n</context>"
}

// repeated are the lines for a snapshot's memories whose texts are further up.
func repeated(s *inject.Snapshot, given map[string]source, turn int64) (lines map[string]string) {
	for i := range s.BlocksUsed {
		b := &s.BlocksUsed[i]
		up, is := given[b.MemoryID]
		if !is || b.MemoryID == "" {
			continue
		}
		if lines == nil {
			lines = map[string]string{}
		}
		lines[b.MemoryID] = fmt.Sprintf("%s · %s above, %d turns ago", handleOf(b), up.handle, turn-up.turn)
	}
	return lines
}

// handleOf is the name of a recalled line.
func handleOf(b *inject.Used) string {
	name, _, _ := strings.Cut(b.Payload, " · ")
	return name
}

// addMessages keeps the request's messages, which its run names.
func (x *exchange) addMessages(ctx context.Context) error {
	list := make([]conversation.Message, len(x.r.Messages))
	for i := range list {
		m := &x.r.Messages[i]
		list[i] = conversation.Message{Role: string(m.Role), Body: m.Canonical}
		if !json.Valid(m.Canonical) {
			list[i].Body = jsontext.MustEncode(string(m.Canonical))
		}
	}
	return x.log.AddMessages(ctx, x.model.Namespace, x.at.digests[1:], list)
}

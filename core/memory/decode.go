package memory

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
)

// decodeMemory decodes a record and proves that it is of that id.
func decodeMemory(id string, value []byte) (*core.Memory, error) {
	m := decodeOwn(value)
	if m == nil {
		m = &core.Memory{}
		if err := json.Unmarshal(value, m); err != nil {
			return nil, corrupt(id, memoryPrefix+id, "it can't be decoded: "+err.Error())
		}
	}
	if m.ID != id {
		return nil, corrupt(id, memoryPrefix+id, "it calls itself memory "+strconv.Quote(cut(m.ID)))
	}
	return m, nil
}

// decodeOwn decodes what [encodeMemory] writes, and exactly that: members in its
// order and without white space. Of anything else it returns nil, which leaves
// it to the general decoder, which takes ten times as long. A get, a page of a
// list and a sweep are mostly decoding.
func decodeOwn(value []byte) *core.Memory {
	c := &record{rest: string(value)}
	m := &core.Memory{
		ID: c.text(`{"id":`), Namespace: c.text(`,"namespace":`), AgentID: c.text(`,"agent_id":`),
		Kind: core.MemoryKind(c.text(`,"kind":`)), Title: c.text(`,"title":`), Content: c.text(`,"content":`),
	}
	for opening := `,"tags":[`; c.peek(opening); opening = `,` {
		m.Tags = append(m.Tags, c.text(opening))
		if c.skip(`]`) {
			break
		}
	}
	m.Priority = int(c.number(`,"priority":`))
	m.Importance = c.float(`,"importance":`)
	m.Confidence = c.float(`,"confidence":`)
	m.ReflectionDepth = int(c.number(`,"reflection_depth":`))
	m.AccessCount = c.number(`,"access_count":`)
	if c.skip(`,"metadata":`) {
		m.Metadata = c.raw()
	}
	m.State = core.MemoryState(c.text(`,"state":`))
	m.EmbeddingModel = c.optional(`,"embedding_model":`)
	m.CreatedAt = c.instant(`,"created_at":`)
	m.UpdatedAt = c.instant(`,"updated_at":`)
	if c.peek(`,"last_accessed_at":`) {
		at := c.instant(`,"last_accessed_at":`)
		m.LastAccessedAt = &at
	}
	m.CreatedTurn = c.number(`,"created_turn":`)
	c.signals(&m.Signals)
	m.MergedInto = c.optional(`,"merged_into":`)
	m.PromotedTo = c.optional(`,"promoted_to":`)
	m.Version = c.number(`,"version":`)
	if c.need(`}`); c.failed || c.rest != "" {
		return nil
	}
	return m
}

// record is what is left of a record to decode. Once something isn't as it should be it has
// failed, and all that it reads is empty.
type record struct {
	rest   string
	failed bool
}

func (c *record) signals(s *core.Signals) {
	c.need(`,"signals":`)
	s.HitCount = c.number(`{"hit_count":`)
	s.MissStreak = c.number(`,"miss_streak":`)
	s.LastHitTurn = c.number(`,"last_hit_turn":`)
	s.HitRate = c.float(`,"hit_rate_ewma":`)
	s.Utility = c.float(`,"utility_score":`)
	s.Q = c.float(`,"q_value":`)
	s.TTLScore = c.float(`,"ttl_score":`)
	if c.peek(`,"revalidation_score":`) {
		f := c.float(`,"revalidation_score":`)
		s.Revalidation = &f
	}
	s.Successes = c.number(`,"success_count":`)
	s.Partials = c.number(`,"partial_count":`)
	s.Failures = c.number(`,"failure_count":`)
	s.RelevantTurns = c.number(`,"relevant_turns":`)
	s.Gated = c.skip(`,"gated":true`)
	if c.peek(`,"gated_at":`) {
		s.GatedAt = c.number(`,"gated_at":`)
	}
	s.Sessions = c.number(`,"sessions":`)
	s.LastOutcomeError = c.skip(`,"last_outcome_error":true`)
	for opening := `,"recent":[{"session":`; c.peek(opening); opening = `,{"session":` {
		s.Recent = append(s.Recent, core.TurnRef{Session: c.text(opening), Turn: c.number(`,"turn":`)})
		if c.need(`}`); c.skip(`]`) {
			break
		}
	}
	c.need(`}`)
}

// peek reports whether the record goes on with a text.
func (c *record) peek(s string) bool { return !c.failed && strings.HasPrefix(c.rest, s) }

// skip passes a text, if the record goes on with it.
func (c *record) skip(s string) bool {
	if !c.peek(s) {
		return false
	}
	c.rest = c.rest[len(s):]
	return true
}

func (c *record) need(s string) {
	if !c.skip(s) {
		c.failed = true
	}
}

// text reads a JSON string behind its name. It is a part of the record's own
// memory, unless something in it is escaped.
func (c *record) text(name string) string {
	c.need(name)
	if c.need(`"`); c.failed {
		return ""
	}
	for i := 0; i < len(c.rest); i++ {
		switch b := c.rest[i]; {
		case b == '\\':
			return c.escaped(i)
		case b == '"':
			s := c.rest[:i]
			c.rest = c.rest[i+1:]
			c.failed = !utf8.ValidString(s)
			return s
		case b < ' ':
			c.failed = true
			return ""
		}
	}
	c.failed = true
	return ""
}

// escaped reads a string, behind its opening mark, whose first escape is at i.
func (c *record) escaped(i int) (s string) {
	for ; i < len(c.rest) && c.rest[i] != '"'; i++ {
		if c.rest[i] == '\\' {
			i++
		}
	}
	if i >= len(c.rest) || json.Unmarshal([]byte(`"`+c.rest[:i+1]), &s) != nil {
		c.failed = true
		return ""
	}
	c.rest = c.rest[i+1:]
	return s
}

func (c *record) optional(name string) string {
	if !c.peek(name) {
		return ""
	}
	s := c.text(name)
	c.failed = c.failed || s == "" // it would have been left out
	return s
}

// token reads up to the next mark behind a number.
func (c *record) token(name string) string {
	c.need(name)
	end := 0
	for end < len(c.rest) && c.rest[end] != ',' && c.rest[end] != '}' {
		end++
	}
	if c.failed || end == len(c.rest) {
		c.failed = true
		return ""
	}
	s := c.rest[:end]
	c.rest = c.rest[end:]
	return s
}

func (c *record) number(name string) int64 {
	s := c.token(name)
	n, err := strconv.ParseInt(s, 10, 64)
	c.failed = c.failed || err != nil || !plain(s)
	return n
}

func (c *record) float(name string) float64 {
	s := c.token(name)
	f, err := strconv.ParseFloat(s, 64)
	c.failed = c.failed || err != nil || !plain(s)
	return f
}

// plain reports whether what strconv takes as a number is one in JSON too.
func plain(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || digits[0] < '0' || digits[0] > '9' || len(digits) > 1 && digits[0] == '0' && digits[1] != '.' {
		return false
	}
	for i, b := range []byte(digits) {
		switch {
		case b >= '0' && b <= '9', b == '-', b == '+', b == 'e':
		case b == '.' && i+1 < len(digits) && digits[i+1] >= '0' && digits[i+1] <= '9':
		default:
			return false
		}
	}
	return true
}

func (c *record) instant(name string) time.Time {
	var at time.Time
	err := at.UnmarshalText([]byte(c.text(name))) // which is as strict as for JSON
	c.failed = c.failed || err != nil
	return at
}

// raw reads an object as it is.
func (c *record) raw() json.RawMessage {
	depth, quoted := 0, false
	for i := 0; i < len(c.rest) && !c.failed; i++ {
		switch b := c.rest[i]; {
		case b == '\\':
			i++
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '{' || b == '[':
			depth++
		case b == '}' || b == ']':
			depth--
		}
		if depth == 0 {
			raw := json.RawMessage(c.rest[:i+1])
			c.rest = c.rest[i+1:]
			c.failed = !json.Valid(raw)
			return raw
		}
	}
	c.failed = true
	return nil
}

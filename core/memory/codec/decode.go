package codec

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
)

// Decode reads a memory's record: the output of [Encode], or any other JSON form of it.
func Decode(value []byte) (*core.Memory, error) {
	if m := decodeOwn(value); m != nil {
		return m, nil
	}
	var record struct {
		core.Memory
		Salt string `json:"salt"`
	}
	if err := json.Unmarshal(value, &record); err != nil {
		return nil, err
	}
	record.Memory.Salt = record.Salt
	return &record.Memory, nil
}

// decodeOwn decodes exactly the output of [Encode]: members in its order and without
// white space. For anything else it returns nil, and the general decoder, which takes ten
// times as long, is used.
func decodeOwn(value []byte) *core.Memory {
	d := &decoder{rest: string(value)}
	m := &core.Memory{
		ID: d.text(`{"id":`), Namespace: d.text(`,"namespace":`), AgentID: d.text(`,"agent_id":`),
		Kind: core.MemoryKind(d.text(`,"kind":`)), Title: d.text(`,"title":`), Content: d.text(`,"content":`),
	}
	for opening := `,"tags":[`; d.peek(opening); opening = `,` {
		m.Tags = append(m.Tags, d.text(opening))
		if d.skip(`]`) {
			break
		}
	}
	m.Priority = int(d.number(`,"priority":`))
	m.Importance = d.float(`,"importance":`)
	m.Confidence = d.float(`,"confidence":`)
	m.ReflectionDepth = int(d.number(`,"reflection_depth":`))
	m.AccessCount = d.number(`,"access_count":`)
	if d.skip(`,"metadata":`) {
		m.Metadata = d.raw()
	}
	m.State = core.MemoryState(d.text(`,"state":`))
	m.StateBefore = core.MemoryState(d.optional(`,"state_before":`))
	m.EmbeddingModel = d.optional(`,"embedding_model":`)
	if d.peek(`,"occurred_at":`) {
		at := d.instant(`,"occurred_at":`)
		m.OccurredAt = &at
	}
	if d.peek(`,"occurred_turn":`) {
		m.OccurredTurn = d.number(`,"occurred_turn":`)
	}
	m.CreatedAt = d.instant(`,"created_at":`)
	m.UpdatedAt = d.instant(`,"updated_at":`)
	if d.peek(`,"last_accessed_at":`) {
		at := d.instant(`,"last_accessed_at":`)
		m.LastAccessedAt = &at
	}
	m.CreatedTurn = d.number(`,"created_turn":`)
	d.signals(&m.Signals)
	m.MergedInto = d.optional(`,"merged_into":`)
	m.PromotedTo = d.optional(`,"promoted_to":`)
	m.Version = d.number(`,"version":`)
	m.Salt = d.optional(`,"salt":`)
	if d.need(`}`); d.failed || d.rest != "" {
		return nil
	}
	return m
}

// decoder holds the rest of a record to decode. If something is unexpected, it sets
// failed, and everything read after that is empty.
type decoder struct {
	rest   string
	failed bool
}

func (d *decoder) signals(s *core.Signals) {
	d.need(`,"signals":`)
	s.HitCount = d.number(`{"hit_count":`)
	s.MissStreak = d.number(`,"miss_streak":`)
	s.LastHitTurn = d.number(`,"last_hit_turn":`)
	s.HitRate = d.float(`,"hit_rate_ewma":`)
	s.Utility = d.float(`,"utility_score":`)
	s.Q = d.float(`,"q_value":`)
	s.TTLScore = d.float(`,"ttl_score":`)
	if d.peek(`,"revalidation_score":`) {
		f := d.float(`,"revalidation_score":`)
		s.Revalidation = &f
	}
	s.Successes = d.number(`,"success_count":`)
	s.Partials = d.number(`,"partial_count":`)
	s.Failures = d.number(`,"failure_count":`)
	s.Assumed = d.counted(`,"assumed_count":`)
	s.AssumedFailures = d.counted(`,"assumed_failure_count":`)
	s.RelevantTurns = d.number(`,"relevant_turns":`)
	s.CooledAt = d.counted(`,"cooled_at_turn":`)
	s.CoolingWait = d.counted(`,"cooling_wait":`)
	s.WarmedAt = d.counted(`,"warmed_at_turn":`)
	s.Gated = d.skip(`,"gated":true`)
	s.GatedAt = d.counted(`,"gated_at":`)
	s.GateRest = d.counted(`,"gate_rest":`)
	s.GateEvidence = d.optional(`,"gate_evidence":`)
	s.Sessions = d.number(`,"sessions":`)
	s.AssumedSessions = d.counted(`,"assumed_sessions":`)
	s.LastOutcomeError = d.skip(`,"last_outcome_error":true`)
	s.RecentUses = d.turns(`,"recent_uses":[{"session":`)
	s.Recent = d.turns(`,"recent":[{"session":`)
	d.need(`}`)
}

// turns is a list of turns, which may be missing.
func (d *decoder) turns(opening string) (list []core.TurnRef) {
	for ; d.peek(opening); opening = `,{"session":` {
		list = append(list, core.TurnRef{Session: d.text(opening), Turn: d.number(`,"turn":`)})
		if d.need(`}`); d.skip(`]`) {
			break
		}
	}
	return list
}

// counted is a number; 0 if it is missing.
func (d *decoder) counted(name string) int64 {
	if !d.peek(name) {
		return 0
	}
	return d.number(name)
}

// peek reports whether the record continues with a text.
func (d *decoder) peek(s string) bool { return !d.failed && strings.HasPrefix(d.rest, s) }

// skip skips a text, if the record continues with it.
func (d *decoder) skip(s string) bool {
	if !d.peek(s) {
		return false
	}
	d.rest = d.rest[len(s):]
	return true
}

func (d *decoder) need(s string) {
	if !d.skip(s) {
		d.failed = true
	}
}

// text reads a JSON string after its name. The result shares the record's memory, unless
// the string has escapes.
func (d *decoder) text(name string) string {
	d.need(name)
	if d.need(`"`); d.failed {
		return ""
	}
	for i := 0; i < len(d.rest); i++ {
		switch b := d.rest[i]; {
		case b == '\\':
			return d.escaped(i)
		case b == '"':
			s := d.rest[:i]
			d.rest = d.rest[i+1:]
			d.failed = !utf8.ValidString(s)
			return s
		case b < ' ':
			d.failed = true
			return ""
		}
	}
	d.failed = true
	return ""
}

// escaped reads a string, after its opening quote, whose first escape is at i.
func (d *decoder) escaped(i int) (s string) {
	for ; i < len(d.rest) && d.rest[i] != '"'; i++ {
		if d.rest[i] == '\\' {
			i++
		}
	}
	if i >= len(d.rest) || json.Unmarshal([]byte(`"`+d.rest[:i+1]), &s) != nil {
		d.failed = true
		return ""
	}
	d.rest = d.rest[i+1:]
	return s
}

func (d *decoder) optional(name string) string {
	if !d.peek(name) {
		return ""
	}
	s := d.text(name)
	d.failed = d.failed || s == "" // Encode omits an empty string
	return s
}

// token reads a number after its name, up to the next delimiter.
func (d *decoder) token(name string) string {
	d.need(name)
	end := 0
	for end < len(d.rest) && d.rest[end] != ',' && d.rest[end] != '}' {
		end++
	}
	if d.failed || end == len(d.rest) {
		d.failed = true
		return ""
	}
	s := d.rest[:end]
	d.rest = d.rest[end:]
	return s
}

func (d *decoder) number(name string) int64 {
	s := d.token(name)
	n, err := strconv.ParseInt(s, 10, 64)
	d.failed = d.failed || err != nil || !plain(s)
	return n
}

func (d *decoder) float(name string) float64 {
	s := d.token(name)
	f, err := strconv.ParseFloat(s, 64)
	d.failed = d.failed || err != nil || !plain(s)
	return f
}

// plain reports whether a number that strconv accepts is a number in JSON too.
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

func (d *decoder) instant(name string) time.Time {
	var at time.Time
	err := at.UnmarshalText([]byte(d.text(name))) // which is as strict as for JSON
	d.failed = d.failed || err != nil
	return at
}

// raw reads an object without decoding it.
func (d *decoder) raw() json.RawMessage {
	depth, quoted := 0, false
	for i := 0; i < len(d.rest) && !d.failed; i++ {
		switch b := d.rest[i]; {
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
			raw := json.RawMessage(d.rest[:i+1])
			d.rest = d.rest[i+1:]
			d.failed = !json.Valid(raw)
			return raw
		}
	}
	d.failed = true
	return nil
}

// Package codec writes and reads the records of memories. A record is plain JSON,
// exactly what the general encoder makes of a memory; since writing one is part of
// each commit, and a get, a page of a list and a sweep are mostly reading them, both
// are written out here, in a fraction of the general time.
package codec

import (
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
)

// Encode is a memory's record: exactly what [core.EncodeJSON] makes of it.
func Encode(m *core.Memory) []byte {
	b := make([]byte, 0, 900+len(m.Title)+len(m.Content)+len(m.Metadata))
	b = text(b, `{"id":`, m.ID)
	b = text(b, `,"namespace":`, m.Namespace)
	b = text(b, `,"agent_id":`, m.AgentID)
	b = text(b, `,"kind":`, string(m.Kind))
	b = text(b, `,"title":`, m.Title)
	b = text(b, `,"content":`, m.Content)
	for i, tag := range m.Tags {
		if i == 0 {
			b = text(b, `,"tags":[`, tag)
		} else {
			b = text(b, `,`, tag)
		}
	}
	if len(m.Tags) > 0 {
		b = append(b, ']')
	}
	b = number(b, `,"priority":`, int64(m.Priority))
	b = float(b, `,"importance":`, m.Importance)
	b = float(b, `,"confidence":`, m.Confidence)
	b = number(b, `,"reflection_depth":`, int64(m.ReflectionDepth))
	b = number(b, `,"access_count":`, m.AccessCount)
	if len(m.Metadata) > 0 {
		b = append(append(b, `,"metadata":`...), m.Metadata...)
	}
	b = text(b, `,"state":`, string(m.State))
	b = optional(b, `,"embedding_model":`, m.EmbeddingModel)
	b = instant(b, `,"created_at":"`, m.CreatedAt)
	b = instant(b, `,"updated_at":"`, m.UpdatedAt)
	if m.LastAccessedAt != nil {
		b = instant(b, `,"last_accessed_at":"`, *m.LastAccessedAt)
	}
	b = number(b, `,"created_turn":`, m.CreatedTurn)
	b = signals(append(b, `,"signals":`...), &m.Signals)
	b = optional(b, `,"merged_into":`, m.MergedInto)
	b = optional(b, `,"promoted_to":`, m.PromotedTo)
	return append(number(b, `,"version":`, m.Version), '}')
}

func signals(b []byte, s *core.Signals) []byte {
	b = number(b, `{"hit_count":`, s.HitCount)
	b = number(b, `,"miss_streak":`, s.MissStreak)
	b = number(b, `,"last_hit_turn":`, s.LastHitTurn)
	b = float(b, `,"hit_rate_ewma":`, s.HitRate)
	b = float(b, `,"utility_score":`, s.Utility)
	b = float(b, `,"q_value":`, s.Q)
	b = float(b, `,"ttl_score":`, s.TTLScore)
	if s.Revalidation != nil {
		b = float(b, `,"revalidation_score":`, *s.Revalidation)
	}
	b = number(b, `,"success_count":`, s.Successes)
	b = number(b, `,"partial_count":`, s.Partials)
	b = number(b, `,"failure_count":`, s.Failures)
	b = counted(b, `,"assumed_count":`, s.Assumed)
	b = counted(b, `,"assumed_failure_count":`, s.AssumedFailures)
	b = number(b, `,"relevant_turns":`, s.RelevantTurns)
	if s.Gated {
		b = append(b, `,"gated":true`...)
	}
	b = counted(b, `,"gated_at":`, s.GatedAt)
	b = number(b, `,"sessions":`, s.Sessions)
	b = counted(b, `,"assumed_sessions":`, s.AssumedSessions)
	if s.LastOutcomeError {
		b = append(b, `,"last_outcome_error":true`...)
	}
	for i, t := range s.Recent {
		opening := `,{"session":`
		if i == 0 {
			opening = `,"recent":[{"session":`
		}
		b = append(number(text(b, opening, t.Session), `,"turn":`, t.Turn), '}')
	}
	if len(s.Recent) > 0 {
		b = append(b, ']')
	}
	return append(b, '}')
}

func text(b []byte, name, s string) []byte { return quote(append(b, name...), s) }

func optional(b []byte, name, s string) []byte {
	if s == "" {
		return b
	}
	return text(b, name, s)
}

func number(b []byte, name string, n int64) []byte {
	return strconv.AppendInt(append(b, name...), n, 10)
}

// counted is a number that is left out where it is 0.
func counted(b []byte, name string, n int64) []byte {
	if n == 0 {
		return b
	}
	return number(b, name, n)
}

// float renders as encoding/json does: the shortest form, with an exponent only
// where the number is very small or very large.
func float(b []byte, name string, f float64) []byte {
	b = append(b, name...)
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	b = strconv.AppendFloat(b, f, format, -1, 64)
	if n := len(b); format == 'e' && n >= 4 && b[n-4] == 'e' && b[n-3] == '-' && b[n-2] == '0' {
		b[n-2] = b[n-1] // e-09 is e-9
		b = b[:n-1]
	}
	return b
}

func instant(b []byte, name string, at time.Time) []byte {
	return append(at.AppendFormat(append(b, name...), time.RFC3339Nano), '"')
}

const hexDigits = "0123456789abcdef"

// quote renders a text as encoding/json does without HTML escaping.
func quote(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if c >= utf8.RuneSelf && r != '\u2028' && r != '\u2029' && (r != utf8.RuneError || size > 1) {
			i += size
			continue
		}
		b = escape(append(b, s[start:i]...), r)
		i += size
		start = i
	}
	return append(append(b, s[start:]...), '"')
}

// escape renders a character that can't stand in a JSON string as it is.
func escape(b []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(b, '\\', byte(r))
	case '\b':
		return append(b, '\\', 'b')
	case '\f':
		return append(b, '\\', 'f')
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

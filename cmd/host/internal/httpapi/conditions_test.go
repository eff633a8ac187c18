package httpapi

import (
	"encoding/json"
	"testing"

	"github.com/reflectory/reflectory/core/host/operation/operationtest"
)

// TestIdempotencyKey_HasACallDoneOnce: the second request with a key gets the first one's
// answer, byte for byte, and says so. A key with another request is refused.
func TestIdempotencyKey_HasACallDoneOnce(t *testing.T) {
	s := newSite(t)
	body := `{"namespace":"` + operationtest.Here + `","content":"The harbour closes at noon."}`
	send := func(body string) *answer {
		return s.send("operator", "POST", "/v1/memories", body, "Idempotency-Key", "k1")
	}
	first, second := send(body), send(body)
	if first.StatusCode != 200 || first.Header.Get(replayedHeader) != "" {
		t.Errorf("the first is %d %v: %s", first.StatusCode, first.Header, first.body)
	}
	if second.StatusCode != 200 || second.body != first.body || second.Header.Get(replayedHeader) != "true" {
		t.Errorf("the second is %d %v: %s\nthe first was %s", second.StatusCode, second.Header, second.body, first.body)
	}
	if p := send(`{"content":"b"}`).problem(t); p.Status != 422 || p.Code != "idempotency_key_reused" {
		t.Errorf("another request is %d %s", p.Status, p.Code)
	}
	if third := s.send("here", "POST", "/v1/memories", body, "Idempotency-Key", "k1"); third.body == first.body || third.StatusCode != 200 {
		t.Errorf("another subject's is %d: %s", third.StatusCode, third.body)
	}
}

// TestETag_SparesWhatTheCallerHas asks for a memory again, before and after it changed.
func TestETag_SparesWhatTheCallerHas(t *testing.T) {
	s := newSite(t)
	id := s.Memory()
	get := func(tags string) *answer {
		return s.send("operator", "GET", "/v1/memories/"+id, "", "If-None-Match", tags)
	}
	first := get("")
	tag := first.Header.Get("ETag")
	if first.StatusCode != 200 || tag == "" {
		t.Fatalf("%d, ETag %s", first.StatusCode, tag)
	}
	for _, tags := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
		if a := get(tags); a.StatusCode != 304 || a.body != "" || a.Header.Get("ETag") != tag {
			t.Errorf("%s: %d, ETag %s, %q", tags, a.StatusCode, a.Header.Get("ETag"), a.body)
		}
	}
	s.Feedback(id, "")
	f := s.Feedback(id, "")
	_, err := s.Host.Memories.Feedback(s.Ctx, f)
	s.Must(err)
	if a := get(tag); a.StatusCode != 200 || a.Header.Get("ETag") == tag {
		t.Errorf("changed, it is %d, ETag %s", a.StatusCode, a.Header.Get("ETag"))
	}
}

// TestIfMatch_ChangesOnlyWhatTheCallerHasSeen lets two callers change one level: the second
// has seen an older one.
func TestIfMatch_ChangesOnlyWhatTheCallerHasSeen(t *testing.T) {
	s := newSite(t)
	put := func(tag, assignment string) *answer {
		body, err := json.Marshal(map[string]any{"assignments": []string{assignment}})
		s.Must(err)
		return s.send("operator", "PUT", "/v1/governance/team", string(body), "If-Match", tag)
	}
	first := put("", "max_reflection_depth=2")
	tag := first.Header.Get("ETag")
	if first.StatusCode != 200 || tag == "" {
		t.Fatalf("%d, ETag %s: %s", first.StatusCode, tag, first.body)
	}
	if a := put(tag, "max_reflection_depth=3"); a.StatusCode != 200 {
		t.Errorf("with the newest version: %d: %s", a.StatusCode, a.body)
	}
	if p := put(tag, "max_reflection_depth=4").problem(t); p.Status != 412 || p.Code != "precondition_failed" {
		t.Errorf("with an older version: %d %s", p.Status, p.Code)
	}
}

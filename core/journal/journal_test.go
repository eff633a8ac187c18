package journal_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// pairs is just enough of a store to keep a journal in. Changes go to it behind
// the journal's back.
type pairs map[string][]byte

func (p pairs) Get(key []byte) ([]byte, bool, error) {
	v, ok := p[string(key)]
	return v, ok, nil
}

func (p pairs) Scan(from, to []byte, fn func(key, value []byte) (bool, error)) error {
	for _, key := range slices.Sorted(maps.Keys(p)) {
		if key < string(from) || len(to) > 0 && key >= string(to) {
			continue
		}
		if more, err := fn([]byte(key), p[key]); err != nil || !more {
			return err
		}
	}
	return nil
}

func (p pairs) Put(key, value []byte) error { p[string(key)] = value; return nil }
func (p pairs) Delete(key []byte) error     { delete(p, string(key)); return nil }

var at = time.Date(2026, 11, 21, 1, 2, 3, 4, time.UTC)

func entryKey(seq uint64) string {
	return string(binary.BigEndian.AppendUint64([]byte("event/run/a\x00"), seq))
}

// chain is a stream of four entries, and a neighbour.
func chain(t *testing.T) pairs {
	t.Helper()
	p := pairs{}
	for _, stream := range []string{"run/a", "run/ab"} {
		err := journal.Append(t.Context(), p, stream, at,
			journal.RunStarted{Workflow: "<w>", Source: "s"},
			journal.OutputRecorded{Visit: 1, Node: "n", Iteration: 1, Role: "generate"},
			journal.VerdictRecorded{Visit: 1, Node: "n", Iteration: 1, Score: 0.1})
		if err != nil {
			t.Fatal(err)
		}
		if err := journal.Append(t.Context(), p, stream, at, journal.RunEnded{Status: core.StatusPassed}); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func TestChainIsWhole(t *testing.T) {
	p := chain(t)
	if done, err := (&journal.Audit{}).Verify(t.Context(), p); done.Streams != 2 || err != nil {
		t.Errorf("%d streams: %v", done.Streams, err)
	}
	var seqs []uint64
	err := journal.Read(p, "run/a", func(e journal.Entry) error {
		seqs = append(seqs, e.Seq)
		if !e.At.Equal(at) {
			t.Errorf("entry %d is of %v", e.Seq, e.At)
		}
		return nil
	})
	if err != nil || len(seqs) != 4 || seqs[0] != 1 || seqs[3] != 4 {
		t.Errorf("Read: %v, error %v", seqs, err)
	}
}

// TestHashIsStable fails if the canonical encoding changes, which would need a new
// store format.
func TestHashIsStable(t *testing.T) {
	p := chain(t)
	const want = `{"seq":4,"hash":"sha256:fa8ce26dbed556c87b902df86600ab965ff77c821a19b7edb0a203c1a9b6d0df"}`
	if got := string(p["event-head/run/a"]); got != want {
		t.Errorf("head %s, want %s", got, want)
	}
}

// TestEntriesAreEncodedAsTheGeneralEncoderDoes checks the encoding that is
// written out by hand.
func TestEntriesAreEncodedAsTheGeneralEncoderDoes(t *testing.T) {
	p := pairs{}
	for _, at := range []time.Time{at, at.Truncate(time.Second), time.Unix(0, 0), at.In(time.FixedZone("", 3600))} {
		if err := journal.Append(t.Context(), p, "run/a", at, journal.RunStarted{Workflow: `<"w">`}); err != nil {
			t.Fatal(err)
		}
	}
	err := journal.Read(p, "run/a", func(e journal.Entry) error {
		if got, want := string(p[entryKey(e.Seq)]), string(jsontext.MustEncode(e)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// another is a second entry for [chain] that fits the first one, with other data.
func another(t *testing.T) []byte {
	t.Helper()
	p := pairs{}
	err := journal.Append(t.Context(), p, "run/a", at, journal.RunStarted{Workflow: "<w>", Source: "s"}, journal.RunResumed{Epoch: 9})
	if err != nil {
		t.Fatal(err)
	}
	return p[entryKey(2)]
}

func TestVerifyNamesTheFirstBadEntry(t *testing.T) {
	edit := func(seq uint64, from, to string) func(pairs) {
		return func(p pairs) {
			p[entryKey(seq)] = []byte(strings.Replace(string(p[entryKey(seq)]), from, to, 1))
		}
	}
	cases := []struct {
		name   string
		tamper func(pairs)
		seq    uint64
		says   string
	}{
		{"edited data", edit(3, `"score":0.1`, `"score":0.9`), 3, "edited"},
		{"edited type", edit(2, `"output_recorded"`, `"run_resumed"`), 2, "edited"},
		{"edited time", edit(1, "01:02:03", "01:02:04"), 1, "edited"},
		{"not JSON", edit(2, "{", "["), 2, "decoded"},
		{"dropped first", func(p pairs) { delete(p, entryKey(1)) }, 1, "gone"},
		{"dropped middle", func(p pairs) { delete(p, entryKey(2)) }, 2, "gone"},
		{"cut tail", func(p pairs) { delete(p, entryKey(4)) }, 4, "gone"},
		{"reordered", func(p pairs) { p[entryKey(2)], p[entryKey(3)] = p[entryKey(3)], p[entryKey(2)] }, 2, "gone"},
		{"moved from another stream", func(p pairs) {
			other := binary.BigEndian.AppendUint64([]byte("event/run/ab\x00"), 2)
			p[entryKey(2)] = p[string(other)]
		}, 2, "edited"},
		{"another entry with a hash of its own", func(p pairs) { p[entryKey(2)] = another(t) }, 3, "doesn't continue the one before"},
		{"another last entry with a hash of its own", func(p pairs) {
			delete(p, entryKey(3))
			delete(p, entryKey(4))
			p[entryKey(2)] = another(t)
			p["event-head/run/a"] = []byte(strings.Replace(string(p["event-head/run/a"]), `"seq":4`, `"seq":2`, 1))
		}, 2, "isn't the one that the head names"},
		{"repeated", func(p pairs) { p[entryKey(5)] = p[entryKey(4)] }, 5, "has the number 4"},
		{"head put back", func(p pairs) {
			p["event-head/run/a"] = []byte(strings.Replace(string(p["event-head/run/a"]), `"seq":4`, `"seq":3`, 1))
		}, 4, "past the head"},
		{"head is not JSON", func(p pairs) { p["event-head/run/a"] = []byte("?") }, 0, "head can't be decoded"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := chain(t)
			c.tamper(p)
			_, err := (&journal.Audit{}).Verify(t.Context(), p)
			if sdk.ReasonOf(err) != "journal_broken" || sdk.AsError(err).Details["seq"] != c.seq || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Verify: %v, want entry %d and %q", err, c.seq, c.says)
			}
			err = journal.Checker{}.Check(t.Context(), p, func(problem core.Problem) {
				if strings.HasPrefix(problem.Key, "event/run/ab/") {
					t.Errorf("the neighbour: %+v", problem)
				}
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestStreamNames(t *testing.T) {
	for _, stream := range []string{"", "a\x00b", "a\nb", strings.Repeat("x", journal.MaxStreamBytes+1)} {
		p := pairs{}
		for _, err := range []error{
			journal.Append(t.Context(), p, stream, at, journal.RunResumed{}),
			journal.Read(p, stream, func(journal.Entry) error { return nil }),
		} {
			if sdk.ReasonOf(err) != "stream_invalid" {
				t.Errorf("stream %.10q: %v", stream, err)
			}
		}
		if len(p) != 0 {
			t.Errorf("stream %.10q was written", stream)
		}
	}
}

func FuzzVerify(f *testing.F) {
	f.Add([]byte(`{"seq":1}`), []byte(`{"seq":1,"hash":""}`))
	f.Add([]byte(`{`), []byte(`null`))
	f.Fuzz(func(t *testing.T, entry, head []byte) {
		p := pairs{entryKey(1): entry, "event-head/run/a": head}
		if _, err := (&journal.Audit{}).Verify(t.Context(), p); err != nil && sdk.ReasonOf(err) != "journal_broken" {
			t.Errorf("Verify: %v", err)
		}
	})
}

// FuzzEntry: an entry is read as it was written.
func FuzzEntry(f *testing.F) {
	const at, end = `{"seq":7,"at":"2026-11-21T12:00:00.5Z","subject":"ann","type":"t","data":`, `,"prev":"ab","hash":"cd"}`
	for _, data := range []string{
		`{"a":1}`, `null`, `{"a":1,"prev":"x","hash":"y"}`, `"\",\"prev\":\"x"`, `1,"prev":"x"`, ` {"a":1}`, `{"a":1} `, `{"a"`, ``, `{"data":{"type":"u"}}`,
	} {
		f.Add([]byte(at + data + end))
	}
	whole := at + `{}` + end
	for old, changed := range map[string]string{
		`"seq":7`: `"seq":07`, `,"at"`: `, "at"`, `.5Z`: `.50Z`, `.5`: ``, `Z"`: `+02:00"`, `"ann"`: `"\u0061"`, `"subject":"ann"`: `"subject":""`, `,"subject":"ann"`: ``,
		`"type":"t"`: `"type":"\n"`, `"t"`: "\"\xff\"", `"ab"`: `"a\"b"`, `"cd"`: "\"c\nd\"", `"prev"`: `"Prev"`, `"cd"}`: `"cd","seq":8}`, `"ann",`: `"ann","type":"u",`,
	} {
		f.Add([]byte(strings.Replace(whole, old, changed, 1)))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		var want journal.Entry
		if json.Unmarshal(value, &want) != nil {
			return
		}
		written, err := jsontext.Encode(want)
		if err != nil {
			return // a time without text
		}
		got, found, err := journal.Get(pairs{entryKey(1): written}, "run/a", 1)
		if again := jsontext.MustEncode(got); err != nil || !found || !bytes.Equal(again, written) {
			t.Fatalf("%s is read as %s, %v", written, again, err)
		}
	})
}

func TestAnEntryIsReadAsItsEvent(t *testing.T) {
	e := &journal.Entry{Type: "agent.memory.linked", Data: []byte(`{"from":"a","relation":"r","to":"b"}`)}
	if link, ok := journal.As[journal.MemoryLinked](e); !ok || link.From != "a" || link.To != "b" {
		t.Errorf("%+v, %t", link, ok)
	}
	if other, ok := journal.As[journal.MemoryPurged](e); ok || e.Is(other) || !e.Is(journal.MemoryLinked{}) {
		t.Errorf("another event: %+v, %t", other, ok)
	}
	e.Data = []byte(`{"from":1}`)
	if _, ok := journal.As[journal.MemoryLinked](e); ok {
		t.Error("data that aren't the event's are taken")
	}
}

package journal_test

import (
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// subjects are the subjects of a stream's entries, "-" for none.
func (b *book) subjects(stream string) string {
	b.Helper()
	var list []string
	err := b.Store.View(b.Context(), func(r core.Reader) error {
		return journal.Read(r, stream, func(e journal.Entry) error {
			if e.Subject == "" {
				e.Subject = "-"
			}
			list = append(list, e.Subject)
			return nil
		})
	})
	if err != nil {
		b.Fatal(err)
	}
	return strings.Join(list, " ")
}

// check is whether the journal passes the store's check, which wants each entry as the
// program writes it.
func (b *book) check() {
	b.Helper()
	err := b.Store.View(b.Context(), func(r core.Reader) error {
		return journal.Checker{}.Check(b.Context(), r, func(p core.Problem) { b.Errorf("%+v", p) })
	})
	if err != nil {
		b.Error(err)
	}
}

// TestCaller_SubjectIsInTheEnvelope: of all that a transaction appends, with and without
// the writer, and not of the root, which the host writes.
func TestCaller_SubjectIsInTheEnvelope(t *testing.T) {
	b := newBook(t)
	var told []journal.Entry
	b.Subscribers = []journal.Subscriber{func(_ string, e journal.Entry) { told = append(told, e) }}
	hostile := core.Caller{Subject: `a "quoted" <subject> of ü`, Label: "bob"}
	for _, c := range []core.Caller{{}, core.Operator("ada"), hostile} {
		ctx := core.WithCaller(t.Context(), c)
		err := b.Update(ctx, func(tx *journal.Tx) error {
			if got := tx.Caller(); got.Subject != c.Subject || got.Label != c.Label {
				t.Errorf("the transaction is %+v's, want %+v", got, c)
			}
			return tx.Append("run/a", journal.RunResumed{Epoch: 1})
		})
		if err == nil {
			err = b.Store.Update(ctx, func(tx core.Tx) error { return journal.Append(ctx, tx, "run/a", at, journal.RunResumed{Epoch: 2}) })
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	want := strings.Join([]string{"- - operator operator", hostile.Subject, hostile.Subject}, " ")
	if got := b.subjects("run/a"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if len(told) != 3 || told[1].Subject != core.OperatorSubject {
		t.Errorf("subscribers got %+v", told)
	}
	head, err := journal.Record(core.WithCaller(t.Context(), core.Operator("")), b.Writer)
	if err != nil || b.subjects("root") != "-" {
		t.Errorf("the root is %s's, %v", b.subjects("root"), err)
	}
	if _, err := b.audit(head); err != nil {
		t.Error(err)
	}
	b.check()
}

// TestCaller_SubjectIsProven: one that is changed, dropped or added is found.
func TestCaller_SubjectIsProven(t *testing.T) {
	for name, edit := range map[string][2]string{
		"changed": {`,"subject":"operator"`, `,"subject":"somebody"`},
		"dropped": {`,"subject":"operator"`, ``},
		"added":   {`,"type":"run_ended"`, `,"subject":"operator","type":"run_ended"`},
	} {
		p := pairs{}
		ctx := core.WithCaller(t.Context(), core.Operator("ada"))
		err := core.JoinErrors(
			journal.Append(ctx, p, "run/a", at, journal.RunResumed{}), journal.Append(t.Context(), p, "run/a", at, journal.RunEnded{}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (&journal.Audit{}).Verify(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		found := false
		for seq := range uint64(2) {
			key := entryKey(seq + 1)
			edited := strings.Replace(string(p[key]), edit[0], edit[1], 1)
			found = found || edited != string(p[key])
			p[key] = []byte(edited)
		}
		_, err = (&journal.Audit{}).Verify(t.Context(), p)
		if !found || !journal.IsBroken(err) || !strings.Contains(err.Error(), "edited") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCaller_EncodedAsTheGeneralEncoderDoes checks the encoding that is written by hand.
func TestCaller_EncodedAsTheGeneralEncoderDoes(t *testing.T) {
	p := pairs{}
	ctx := core.WithCaller(t.Context(), core.Caller{Subject: `<"ü">`})
	if err := journal.Append(ctx, p, "run/a", at, journal.RunResumed{}); err != nil {
		t.Fatal(err)
	}
	var e journal.Entry
	if err := json.Unmarshal(p[entryKey(1)], &e); err != nil {
		t.Fatal(err)
	}
	if got, want := string(p[entryKey(1)]), string(jsontext.MustEncode(e)); got != want || e.Subject != `<"ü">` {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestCaller_InvalidOneWritesNothing: a subject of any size would be in every event.
func TestCaller_InvalidOneWritesNothing(t *testing.T) {
	for reason, c := range map[string]core.Caller{
		"subject_invalid":  {Subject: strings.Repeat("x", core.MaxCallerName+1)},
		"agent_id_invalid": {Label: "a\nb"},
	} {
		b := newBook(t)
		ctx := core.WithCaller(t.Context(), c)
		for _, err := range []error{
			b.Update(ctx, func(*journal.Tx) error { t.Error("it begins"); return nil }),
			b.Store.Update(ctx, func(tx core.Tx) error { return journal.Append(ctx, tx, "run/a", time.Now(), journal.RunResumed{}) }),
		} {
			if sdk.ReasonOf(err) != reason {
				t.Errorf("%v, want %s", err, reason)
			}
		}
		if got := b.keys("event"); len(got) > 0 {
			t.Errorf("there are %q", got)
		}
	}
	b := newBook(t)
	err := b.Update(t.Context(), func(tx *journal.Tx) error { return tx.AppendFor("a\nb", "run/a", journal.RunResumed{}) })
	if sdk.ReasonOf(err) != "subject_invalid" {
		t.Errorf("%v", err)
	}
}

// hashOf is an entry's hash as the package comment says.
func hashOf(stream string, e *journal.Entry) string {
	var b []byte
	for _, field := range []any{"reflectory event 1", stream, e.Seq, uint64(e.At.UnixNano()), e.Type, string(e.Data), e.Prev, e.Subject} {
		switch field := field.(type) {
		case uint64:
			b = binary.BigEndian.AppendUint64(b, field)
		case string:
			b = append(binary.BigEndian.AppendUint64(b, uint64(len(field))), field...)
		}
	}
	return core.Digest(b)
}

// TestCaller_CheckRefusesSubjectsThatNobodyCanBe: such as one that was written together
// with a chain that fits.
func TestCaller_CheckRefusesSubjectsThatNobodyCanBe(t *testing.T) {
	for subject, wrong := range map[string]bool{"somebody": false, "a\nb": true, strings.Repeat("x", core.MaxCallerName+1): true} {
		p := pairs{}
		if err := journal.Append(core.WithCaller(t.Context(), core.Operator("")), p, "run/a", at, journal.RunResumed{}); err != nil {
			t.Fatal(err)
		}
		var e journal.Entry
		if err := json.Unmarshal(p[entryKey(1)], &e); err != nil {
			t.Fatal(err)
		}
		if e.Hash != hashOf("run/a", &e) {
			t.Fatal("the hash isn't as the package comment says")
		}
		e.Subject = subject
		e.Hash = hashOf("run/a", &e)
		head := jsontext.MustEncode(journal.Head{Seq: 1, Hash: e.Hash})
		p[entryKey(1)], p["event-head/run/a"] = jsontext.MustEncode(e), head
		if _, err := (&journal.Audit{}).Verify(t.Context(), p); err != nil {
			t.Fatal(err) // the chain fits
		}
		told := 0
		err := journal.Checker{}.Check(t.Context(), p, func(core.Problem) { told++ })
		if err != nil || (told > 0) != wrong {
			t.Errorf("%.9q: %d problems, %v", subject, told, err)
		}
	}
}

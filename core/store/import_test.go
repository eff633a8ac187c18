package store_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/sdk"
)

func exported(t *testing.T, s core.Store) string {
	t.Helper()
	var b bytes.Buffer
	moved, err := store.Export(t.Context(), s, &b, store.Derived(parts()), nil)
	if err != nil || moved.Bytes != int64(b.Len()) || moved.Records != int64(strings.Count(b.String(), "\n")-2) {
		t.Fatalf("%+v of %d bytes, %v", moved, b.Len(), err)
	}
	return b.String()
}

func imported(t *testing.T, s core.Store, text string) error {
	t.Helper()
	if err := store.Prepare(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	_, err := store.Import(t.Context(), s, strings.NewReader(text), parts(), nil)
	return err
}

// TestExportAndImportRoundTrip: also values that are no JSON, or not as the
// encoder writes it.
func TestExportAndImportRoundTrip(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		someRuns(t, s)
		change(t, s, func(tx core.Tx) error {
			for i, value := range []string{
				"", "null", "text", "\x00\xff\xfe", `{"a": 1,"a":2 , "<": "\u003c"}`, " 1", "1\n", "\"\xff\"", "\u2028", "1e999", "\x1b[2J", `"\ud800"`,
				"{\n\t\"a\": 1\r\n}", "\u0085",
			} {
				if err := tx.Put(fmt.Appendf(nil, "x/%d", i), []byte(value)); err != nil {
					return err
				}
			}
			return tx.Put([]byte("x/\xff\x00/"), []byte("1"))
		})
		text := exported(t, s)
		want := 0
		for key := range dump(t, s) {
			if !strings.HasPrefix(key, "run-time/") && !strings.HasPrefix(key, "run-hour/") && !strings.HasPrefix(key, "meta/") {
				want++
			}
		}
		if got := strings.Count(text, "\n") - 2; got != want {
			t.Errorf("the export holds %d records, want %d: what isn't derived or the store's own", got, want)
		}
		if !utf8.ValidString(text) || strings.ContainsFunc(strings.ReplaceAll(text, "\n", ""), unicode.IsControl) {
			t.Error("the export isn't plain text")
		}
		again := mem.Open()
		if err := imported(t, again, text); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(dump(t, s), dump(t, again)); diff != "" {
			t.Errorf("(-exported +imported):\n%s", diff)
		}
		if exported(t, again) != text {
			t.Error("another export differs")
		}
	})
}

func TestAnEmptyStoreRoundTrips(t *testing.T) {
	s := mem.Open()
	if err := store.Prepare(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	text := exported(t, s)
	if err := imported(t, mem.Open(), text); err != nil {
		t.Error(err)
	}
}

// resealed gives a changed export the end that fits it.
func resealed(text string) string {
	lines := strings.SplitAfter(text, "\n")
	body := strings.Join(lines[:len(lines)-2], "")
	sum := sha256.Sum256([]byte(body))
	return body + fmt.Sprintf(`{"end":true,"records":%d,"digest":"sha256:%s"}`+"\n", len(lines)-3, hex.EncodeToString(sum[:]))
}

func TestImportRefuses(t *testing.T) {
	s := mem.Open()
	someRuns(t, s)
	text := exported(t, s)
	lines := strings.SplitAfter(text, "\n")
	header, first, second := lines[0], lines[1], lines[2]
	end := func(n int) string { return fmt.Sprintf(`{"end":true,"records":%d}`+"\n", n) }
	one := func(line string) string { return header + line + "\n" + end(1) }
	cases := []struct{ name, text, reason, says string }{
		{"nothing", "", "import_invalid", "line 1: the end is missing"},
		{"no export", "{}\n", "import_invalid", "line 1: this isn't an export"},
		{"a newer format", strings.Replace(text, `"store_format":2`, `"store_format":3`, 1), "store_format_newer", "format 3"},
		{"a newer version", strings.Replace(text, `"reflectory_export":1`, `"reflectory_export":2`, 1), "store_format_newer", "version 2"},
		{"a version of 0", strings.Replace(text, `"reflectory_export":1`, `"reflectory_export":0`, 1), "import_invalid", "line 1: this isn't an export"},
		{"a format of 0", strings.Replace(text, `"store_format":2`, `"store_format":0`, 1), "import_invalid", "line 1: this isn't an export"},
		{"an end that isn't one", header + `{"end":false,"records":0}` + "\n", "import_invalid", "line 2: this isn't the end"},
		{"a part", strings.Join(lines[:len(lines)-3], ""), "import_invalid", "the end is missing"},
		{"a line is gone", header + strings.Join(lines[2:], ""), "import_invalid", "records"},
		{"a byte was changed", strings.Replace(text, `"workflow":"w"`, `"workflow":"v"`, 1), "import_invalid", "the file was changed"},
		{"more after the end", text + first, "import_invalid", "more after the end"},
		{"keys out of order", header + second + first + end(2), "import_invalid", "isn't after the previous key"},
		{"a key twice", header + first + first + end(2), "import_invalid", "isn't after the previous key"},
		{"the store's own key", one(`{"key":"meta/format","value":9}`), "import_invalid", "the store's own"},
		{"a text that isn't UTF-8", one("{\"key\":\"x/1\",\"text\":\"M\xfcller\"}"), "import_invalid", "line 2: it isn't UTF-8 text at byte 23"},
		{"JSON that isn't UTF-8", one("{\"key\":\"x/1\",\"value\":\"\xff\"}"), "import_invalid", "line 2: it isn't UTF-8 text at byte 23"},
		{"a key that isn't UTF-8", one("{\"key\":\"x/\xff\",\"value\":1}"), "import_invalid", "line 2: it isn't UTF-8 text at byte 11"},
		{"a text with half of a pair", one(`{"key":"x/1","text":"\ud800"}`), "import_invalid", "line 2: it isn't UTF-8 text at byte 22"},
		{"a key with half of a pair", one(`{"key":"x/\udc00","text":"a"}`), "import_invalid", "line 2: it isn't UTF-8 text at byte 11"},
		{"no key", one(`{"value":9}`), "import_invalid", "one of key and key_base64"},
		{"an empty key", one(`{"key":"","value":9}`), "import_invalid", "a key of 0 bytes"},
		{"a key that is too long", one(`{"key":"` + strings.Repeat("k", 5000) + `","value":9}`), "import_invalid", "a key of 5000 bytes"},
		{"two keys", one(`{"key":"a","key_base64":"YQ==","value":9}`), "import_invalid", "one of key and key_base64"},
		{"no value", one(`{"key":"a"}`), "import_invalid", "one of value, text and base64"},
		{"two values", one(`{"key":"a","value":1,"text":""}`), "import_invalid", "one of value, text and base64"},
		{"bad base64", one(`{"key":"a","base64":"?"}`), "import_invalid", "line 2: illegal base64"},
		{"a field that isn't known", one(`{"key":"a","value":1,"x":1}`), "import_invalid", `line 2: json: unknown field "x"`},
		{"two values on a line", one(`{"key":"a","value":1} {}`), "import_invalid", "more after the object"},
		{"deep nesting", one(`{"key":"a","value":` + strings.Repeat("[", 1<<20) + `}`), "import_invalid", "exceeded max depth"},
		{"an edited event", resealed(strings.Replace(text, `"type":"run_started"`, `"type":"run_resumed"`, 1)), "import_refused", "edited"},
		{"an event is gone", resealed(without(lines, `{"key":"event/run/`)), "import_refused", "journal of run"},
		{"a run without its content", resealed(without(lines, `{"key":"run-content/`)), "import_refused", "it is missing"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := imported(t, mem.Open(), c.text)
			if sdk.ReasonOf(err) != c.reason || !strings.Contains(err.Error(), c.says) || sdk.AsError(err).Hint == "" {
				t.Errorf("%v (%s), want %s: %s", err, sdk.ReasonOf(err), c.reason, c.says)
			}
		})
	}
	if err := imported(t, s, text); sdk.ReasonOf(err) != "store_not_empty" {
		t.Errorf("into a store with runs: %v", err)
	}
}

// without leaves out the first line that begins like that.
func without(lines []string, prefix string) string {
	for i, line := range lines {
		if strings.HasPrefix(line, prefix) {
			return strings.Join(lines[:i], "") + strings.Join(lines[i+1:], "")
		}
	}
	return ""
}

// TestDerivedKeysAreMadeAgain: those in the file don't count.
func TestDerivedKeysAreMadeAgain(t *testing.T) {
	s := mem.Open()
	someRuns(t, s)
	text := exported(t, s)
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, `{"key":"run/`) {
			lines[i] = `{"key":"run-time/12345678/nobody","text":""}` + "\n" + line
			break
		}
	}
	again := mem.Open()
	if err := imported(t, again, resealed(strings.Join(lines, ""))); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(dump(t, s), dump(t, again)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

var errFull = errors.New("no room")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestAnExportThatCannotBeWrittenSaysSo(t *testing.T) {
	s := mem.Open()
	someRuns(t, s)
	_, err := store.Export(t.Context(), s, fullDisk{}, nil, nil)
	if sdk.ReasonOf(err) != "export_io" || !errors.Is(err, errFull) {
		t.Error(err)
	}
}

// lines makes an export of many records, without holding it.
type lines struct {
	records, next int
	rest          []byte
}

func (l *lines) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		switch {
		case l.next > l.records+1:
			return 0, io.EOF
		case l.next == 0:
			l.rest = []byte(`{"reflectory_export":1,"store_format":2}` + "\n")
		case l.next == l.records+1:
			l.rest = fmt.Appendf(nil, `{"end":true,"records":%d}`+"\n", l.records)
		default:
			l.rest = fmt.Appendf(nil, `{"key":"x/%09d","value":{"content":"%0300d"}}`+"\n", l.next, l.next)
		}
		l.next++
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// TestImportAndExportHoldLittleInMemory: 20,000 records, or a million.
func TestImportAndExportHoldLittleInMemory(t *testing.T) {
	records := 20_000
	if os.Getenv("REFLECTORY_STRESS") == "1" {
		records = 1_000_000
	}
	s, err := pebble.Open(t.Context(), pebble.Options{Dir: t.TempDir(), Durability: pebble.Relaxed})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var most uint64
	watch := func(store.Work) {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapInuse)
	}
	moved, err := store.Import(t.Context(), s, &lines{records: records}, parts(), watch)
	if err != nil || moved.Records != int64(records) {
		t.Fatalf("%+v, %v", moved, err)
	}
	if moved, err = store.Export(t.Context(), s, io.Discard, nil, watch); err != nil || moved.Records != int64(records) {
		t.Fatalf("%+v, %v", moved, err)
	}
	t.Logf("%d records, %d MiB: at most %d MiB of heap", records, moved.Bytes>>20, most>>20)
	if limit := uint64(192 << 20); most == 0 || most > limit {
		t.Errorf("the heap grew to %d MiB", most>>20)
	}
}

func FuzzImport(f *testing.F) {
	s := mem.Open()
	if err := store.Prepare(f.Context(), s); err != nil {
		f.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := store.Export(f.Context(), s, &b, nil, nil); err != nil {
		f.Fatal(err)
	}
	f.Add(b.String())
	f.Add(`{"reflectory_export":1,"store_format":2}` + "\n" + `{"key":"run/a","value":{}}` + "\n" + `{"end":true,"records":1}`)
	f.Add(`{"reflectory_export":1,"store_format":2}` + "\n" + `{"key":"event-head/a","base64":"AA=="}` + "\n" + `{"end":true,"records":1}`)
	f.Fuzz(func(t *testing.T, text string) {
		s := mem.Open()
		if err := imported(t, s, text); err != nil {
			return
		}
		again := mem.Open()
		if err := imported(t, again, exported(t, s)); err != nil {
			t.Errorf("what was imported can't be imported again: %v", err)
		}
		if diff := cmp.Diff(dump(t, s), dump(t, again)); diff != "" {
			t.Error(diff)
		}
	})
}

package memoryfile_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/memoryfile"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// got is what an import took and left out.
type got struct {
	memories []*core.ObserveRequest
	left     []memoryfile.Left
}

func (g *got) into(format memoryfile.Format) *memoryfile.Import {
	return &memoryfile.Import{
		Format: format, Namespace: "team/a", Now: now,
		Take:  func(_ string, r *core.ObserveRequest) error { g.memories = append(g.memories, r); return nil },
		Leave: func(l memoryfile.Left) { g.left = append(g.left, l) },
	}
}

// lines are the memories as "title | content | occurred_at | tags".
func (g *got) lines() (list []string) {
	for _, m := range g.memories {
		list = append(list, fmt.Sprintf("%s | %s | %s | %s", m.Title, m.Content, m.OccurredAt, strings.Join(m.Tags, ",")))
	}
	return list
}

func (g *got) leftLines() (list []string) {
	for _, l := range g.left {
		list = append(list, l.At+": "+l.Why)
	}
	return list
}

func TestImport_ReadsEachFormat(t *testing.T) {
	for name, c := range map[string]struct {
		format     memoryfile.Format
		text       string
		want, left []string
	}{
		"entities": {
			memoryfile.MCPMemory, `{"type":"entity","name":"Ada","entityType":"person","observations":["likes tea","lives in Oslo"]}
{"type":"relation","from":"Ada","to":"Acme","relationType":"works_at"}`,
			[]string{"Ada (person) | Ada: likes tea |  | undated", "Ada (person) | Ada: lives in Oslo |  | undated", "Ada works_at | Ada works_at Acme |  | undated"}, nil,
		},
		"an entity without observations": {memoryfile.MCPMemory, `{"type":"entity","name":"Oslo","entityType":"city","observations":[]}`, []string{"Oslo (city) | Oslo (city) |  | undated"}, nil},
		"what is no entity": {
			memoryfile.MCPMemory, strings.Join([]string{
				`{"type":"entity","name":"","observations":["x"]}`, `{"type":"entity","name":"A"}`, `{"type":"entity","name":"A","observations":"x"}`, `{"type":"entity","name":["A"]}`,
				`{"type":"relation","from":"A","to":"B"}`, `{"type":"other"}`, `[1]`, `{`, `{}`, `{"type":"entity","name":"B","observations":[1,null,"yes"]}`, "\xff", `{"a":1,"a":2}`,
			}, "\n"),
			[]string{"B | B: yes |  | undated"},
			[]string{
				"line 1: it is neither an entity with a name nor a relation with from, to and relationType", "line 2: the entity has no observations and no type",
				"line 3: its observations aren't a list", "line 4: its name is a list, not a text",
				"line 5: it is neither an entity with a name nor a relation with from, to and relationType", "line 6: it is neither an entity with a name nor a relation with from, to and relationType",
				"line 7: it isn't a JSON object", "line 8: *", "line 9: it is empty",
				"line 10, observations[0]: it isn't a text", "line 10, observations[1]: it isn't a text", "line 11: *", `line 12: the key "a" is there twice`,
			},
		},
		"mem0 with results": {
			memoryfile.Mem0, `{"results":[{"id":"m-1","memory":"Likes tea","created_at":"2025-07-26T10:29:36.630547-07:00","updated_at":null,"categories":["food"],"metadata":{"a":1},"user_id":"u"}],"relations":[{"source":"ada","relationship":"likes","target":"tea"}]}`,
			[]string{"| Likes tea | 2025-07-26T10:29:36.630547-07:00 | food", "ada likes | ada likes tea |  | undated"}, nil,
		},
		"mem0 as a list":           {memoryfile.Mem0, "\ufeff" + `[{"id":"1","memory":"A","created_at":"2025-01-02T03:04:05"},{"id":"2","text":"B","created_at":1735700000}]`, []string{"| A | 2025-01-02T03:04:05Z |", "| B | 2025-01-01T02:53:20Z |"}, nil},
		"mem0 with another page":   {memoryfile.Mem0, `{"count":2,"next":"https://x/?page=2","previous":null,"extra":{},"results":[{"memory":"A","created_at":"2027-01-01"}]}`, []string{"| A |  | undated"}, []string{"next: it is another page of memories: fetch it, and import it too", "extra: this key isn't known", "results[0]: it is in the future"}},
		"mem0 that isn't a memory": {memoryfile.Mem0, `[1,{"memory":2},{"id":"x"},{"memory":"A","created_at":"yesterday","categories":"c","metadata":[1]}]`, []string{"| A |  | undated"}, []string{"[0]: it isn't a JSON object", "[1]: its memory is a number, not a text", "[2]: it has no memory", "[3]: it isn't a time"}},
		"plain lines": {
			memoryfile.JSONL, "\ufeff" + `{"id":7,"content":"A","title":"T","tags":["x"],"date":"2025-05-06"}` + "\r\n\r\n" + `{"text":"B","namespace":"other","timestamp":"2025-05-06 07:08:09+02:00","x":{"y":1}}`,
			[]string{"T | A | 2025-05-06T00:00:00Z | x", "| B | 2025-05-06T07:08:09+02:00 |"}, nil,
		},
		"lines that are no memories": {
			memoryfile.JSONL, `{"title":"T"}` + "\n" + `{"content":3}` + "\n" + `{"content":"A","tags":"x"}` + "\n" + strings.Repeat("x", 1<<20) + "\n" + strings.Repeat("[", 2000) + "\n" + `{"content":"` + `\ud800` + `"}` + "\n" + `{"content":"last"}`,
			[]string{"| last |  | undated"},
			[]string{"line 1: it has no content", "line 2: its content is a number, not a text", "line 3: its tags is a text", "line 4: it has more than 1048576 bytes", "line 5: *", "line 6: *"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var g got
			if err := g.into(c.format).Read(strings.NewReader(c.text)); err != nil {
				t.Fatal(err)
			}
			compare(t, "memories", g.lines(), c.want)
			compare(t, "left out", g.leftLines(), c.left)
			for _, m := range g.memories {
				if len(m.IdempotencyKey) > 128 || !json.Valid(m.Metadata) || !strings.Contains(string(m.Metadata), `"source":{"format":"`+string(c.format)) || m.AgentID != "import:"+string(c.format) {
					t.Errorf("%+v\n%s", m, m.Metadata)
				}
			}
		})
	}
}

// compare compares lines without the spaces around them; one that ends in * is compared up to there.
func compare(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.EqualFunc(got, want, func(g, w string) bool {
		if begin, open := strings.CutSuffix(w, "*"); open {
			return strings.HasPrefix(g, begin)
		}
		return strings.TrimSpace(g) == strings.TrimSpace(w)
	}) {
		t.Errorf("%s:\n%s\nwant:\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// What a record says besides its text stays: nothing is lost without a word.
func TestImport_KeepsTheRestAsSource(t *testing.T) {
	for name, c := range map[string]struct {
		format memoryfile.Format
		text   string
		want   string
	}{
		"mcp-memory": {memoryfile.MCPMemory, `{"type":"entity","name":"A","entityType":"t","observations":["x"],"v":1}`, `{"source":{"format":"mcp-memory","type":"entity","id":"A","entityType":"t","v":1}}`},
		"relation":   {memoryfile.MCPMemory, `{"type":"relation","from":"A","to":"B","relationType":"r","since":2}`, `{"source":{"format":"mcp-memory","type":"relation","from":"A","to":"B","relationType":"r","since":2}}`},
		"mem0":       {memoryfile.Mem0, `[{"id":"i","memory":"x","text":"y","hash":"h","run_id":null,"created_at":"2025-01-01","updated_at":"2025-02-02","metadata":{"source":"mail","k":[1]}}]`, `{"k":[1],"source":{"format":"mem0","id":"i","hash":"h","run_id":null,"text":"y","updated_at":"2025-02-02","source":"mail"}}`},
		"no object":  {memoryfile.Mem0, `[{"memory":"x","metadata":[1],"categories":"c"}]`, `{"source":{"format":"mem0","categories":"c","metadata":[1]}}`},
		"jsonl":      {memoryfile.JSONL, `{"id":1,"content":"x","memory":"y","date":"2025-01-01","timestamp":5,"z":{"n":1.50}}`, `{"source":{"format":"jsonl","id":1,"z":{"n":1.50},"memory":"y","date":"2025-01-01"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			var g got
			if err := g.into(c.format).Read(strings.NewReader(c.text)); err != nil || len(g.memories) != 1 {
				t.Fatal(err, g)
			}
			if string(g.memories[0].Metadata) != c.want {
				t.Errorf("metadata %s\nwant     %s", g.memories[0].Metadata, c.want)
			}
		})
	}
}

// Nothing of a record is lost without a word: each value of random records, under known names and others, is in a memory, or the report
// names its record.
func TestImport_LosesNothingSilently(t *testing.T) {
	names := strings.Fields("id content text memory title tags metadata namespace kind agent_id priority importance confidence occurred_at created_at timestamp date " +
		"updated_at user_id run_id hash categories score type name entityType observations from to relationType note source relationship relation target destination")
	r := rand.New(rand.NewPCG(7, 11))
	for _, frame := range [][3]string{{"", "\n", ""}, {" ", "\n", ""}, {"[", ",", "]"}, {`{"relations":[`, ",", "]}"}} {
		format := map[string]memoryfile.Format{"": memoryfile.JSONL, " ": memoryfile.MCPMemory}[frame[0]]
		if format == "" {
			format = memoryfile.Mem0
		}
		for range coretest.Heavy(2_000, 50_000) {
			var records []string
			marks := map[string]int{}
			value := func(at int) string {
				mark := fmt.Sprintf("mark%dx", len(marks))
				marks[mark] = at
				return []string{`"` + mark + `"`, `["` + mark + `"]`, `{"k":"` + mark + `"}`, `[{"k":["` + mark + `",1]},null]`}[max(0, r.IntN(8)-4)]
			}
			for at := range 3 {
				members := []string{`"type":"entity"`, `"type":"relation"`, `"type":"other"`}[r.IntN(3):][:1]
				used := map[string]bool{"type": true}
				for range r.IntN(9) {
					if name := names[r.IntN(len(names))]; !used[name] {
						used[name] = true
						members = append(members, fmt.Sprintf("%q:%s", name, value(at)))
					}
				}
				records = append(records, "{"+strings.Join(members, ",")+"}")
			}
			var g got
			text := frame[0] + strings.Join(records, frame[1]) + frame[2]
			if err := g.into(format).Read(strings.NewReader(text)); err != nil {
				t.Fatalf("%v in %s", err, text)
			}
			kept := ""
			for _, m := range g.memories {
				kept += string(jsontext.MustEncode(m))
			}
			for mark, at := range marks {
				place := map[string]string{"": fmt.Sprintf("line %d", at+1), " ": fmt.Sprintf("line %d", at+1), "[": fmt.Sprintf("[%d]", at)}[frame[0]]
				if place == "" {
					place = fmt.Sprintf("relations[%d]", at)
				}
				if named := slices.ContainsFunc(g.left, func(l memoryfile.Left) bool { return strings.HasPrefix(l.At, place) }); !named && !strings.Contains(kept, mark) {
					t.Fatalf("%s: %s of %s is lost\nof %s\nkept %s", format, mark, place, records[at], kept)
				}
			}
		}
	}
}

func TestImport_AKeyIsTheSameAgainAndDiffersOtherwise(t *testing.T) {
	keys := map[string]bool{}
	for range 2 {
		for _, text := range []string{
			`{"content":"a"}`, `{"content":"b"}`, `{"content":"a","id":1}`, `{"content":"a","id":2}`, `{"content":"b","id":2}`, `{"content":"a","namespace":"x"}`, `{"content":"a","title":"t"}`,
		} {
			var g got
			if err := g.into(memoryfile.JSONL).Read(strings.NewReader(text)); err != nil || len(g.memories) != 1 {
				t.Fatal(err, g)
			}
			keys[g.memories[0].IdempotencyKey] = true
		}
	}
	if len(keys) != 7 {
		t.Errorf("%d keys of 7 records", len(keys))
	}
}

func TestImport_RefusesWhatCantBeReadToItsEnd(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "", "a text": `"x"`, "a number": "1", "half a list": `[{"memory":"a"}`, "no list": `{"results":{}}`, "half an object": `{"results":[]`, "half a record": `[{"memory":"a"`,
		"half an other": `{"x":[`, "no results": `{"type":"entity","name":"a"}`, "deep": strings.Repeat("[", 20_000), "not JSON": "memory: a",
	} {
		t.Run(name, func(t *testing.T) {
			var g got
			err := g.into(memoryfile.Mem0).Read(strings.NewReader(text))
			if name == "half an object" && err == nil { // its records are whole
				return
			}
			if sdk.ReasonOf(err) != "import_invalid" {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestImport_ReadsAFolderOfMarkdown(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.md":           "---\r\ntitle: Tea\r\ntags: [drinks, hot]\r\ndate: 2025-03-04\r\nlevel: 3\r\n---\r\nBoil water.\r\n\r\n# Green\r\n\r\n80 degrees.\r\n\r\n## Long #\r\n\r\n```\r\n# no heading\r\n```\r\n# Empty\r\n## Below\r\ntext\r\n## Nothing\r\n",
		"sub/CLAUDE.md":  "Read this.\n\n## Testing\n\n- run make test\n  - and make lint\n- never sleep\n\nAlways:\n\n1. look\n2) think\n\n```\n- no item\n```\n",
		"sub/b.markdown": "\ufeffOnly text\n", "sub/wrong.md": "---\n- a\n---\nx\n", "broken.md": "---\na: &x 1\n---\ny", "open.md": "---\nnot closed",
		"latin.md": "\xe4", "c.txt": "no", ".hidden/x.md": "no", "empty.md": "\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link.md")); err != nil {
		t.Fatal(err)
	}
	var g got
	if err := g.into(memoryfile.Markdown).ReadFolder(dir); err != nil {
		t.Fatal(err)
	}
	compare(t, "memories", g.lines(), []string{
		"Tea | Boil water. | 2025-03-04T00:00:00Z | drinks,hot", "Green | 80 degrees. | 2025-03-04T00:00:00Z | drinks,hot", "Long | ```\n# no heading\n``` | 2025-03-04T00:00:00Z | drinks,hot",
		"Below | text | 2025-03-04T00:00:00Z | drinks,hot",
		"broken | y |  | undated", "open | ---\nnot closed |  | undated",
		"CLAUDE | Read this. |  | undated", "Testing | run make test\n  - and make lint |  | undated", "Testing | never sleep |  | undated", "Testing | Always: |  | undated",
		"Testing | look |  | undated", "Testing | think |  | undated", "Testing | ```\n- no item\n``` |  | undated",
		"b | Only text |  | undated", "wrong | x |  | undated",
	})
	compare(t, "left out", g.leftLines(), []string{
		".hidden: it is a hidden folder", "a.md:21: the heading has no text", "broken.md: line 2: *", "latin.md: it isn't UTF-8 text", "link.md: it isn't a regular file", "sub/wrong.md: it isn't a mapping",
	})
	if want := `{"level":3,"source":{"format":"markdown","id":"a.md","line":14,"headings":["Green","Long"]}}`; string(g.memories[2].Metadata) != want {
		t.Errorf("metadata %s", g.memories[2].Metadata)
	}
	var one got
	if err := one.into(memoryfile.Markdown).ReadFolder(filepath.Join(dir, "sub", "CLAUDE.md")); err != nil || len(one.memories) != 7 {
		t.Errorf("one file: %v, %d memories", err, len(one.memories))
	}
	if err := one.into(memoryfile.Markdown).ReadFolder(filepath.Join(dir, "missing")); sdk.ReasonOf(err) != "import_invalid" {
		t.Errorf("a missing folder: %v", err)
	}
}

// A text of any kind ends without a panic, and each memory can be sent.
func FuzzImport(f *testing.F) {
	for _, text := range []string{`{"content":"a"}`, `[{"memory":"a"}]`, `{"type":"entity","name":"a","observations":["b"]}`, "---\na: 1\n---\n# b\nc"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "AGENTS.md")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, format := range memoryfile.Formats() {
			var g got
			if format == memoryfile.Markdown {
				_ = g.into(format).ReadFolder(path) // what it refuses isn't of interest
			} else {
				_ = g.into(format).Read(strings.NewReader(text))
			}
			for _, m := range g.memories {
				if !json.Valid(m.Metadata) || m.IdempotencyKey == "" {
					t.Errorf("%q: %+v", text, m)
				}
			}
		}
	})
}

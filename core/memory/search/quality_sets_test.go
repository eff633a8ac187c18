//go:build quality

package search

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
)

// The data that is measured with. Each variable names a file or folder; what isn't named isn't measured.
const (
	// locomoEnv names data/locomo10.json of github.com/snap-research/LoCoMo, and realTalkEnv the folder data
	// of github.com/danny911kr/REALTALK: each turn of a conversation is a memory, titled by its speaker,
	// and a question finds the turns that its answer rests on.
	locomoEnv, realTalkEnv = "REFLECTORY_LOCOMO", "REFLECTORY_REALTALK"
	// xquadEnv names a clone of github.com/google-deepmind/xquad: each sentence is a memory, and a
	// question finds the one that has its answer.
	xquadEnv = "REFLECTORY_XQUAD"
	// cranfieldEnv names a folder with cran.all.1400, cran.qry and cranqrel: long texts.
	cranfieldEnv = "REFLECTORY_CRANFIELD"
)

// corpus is a namespace with questions.
type corpus struct {
	docs      []*Doc
	questions []question
}

// question is asked of a corpus. Without evidence it has no answer there.
type question struct {
	text     string
	evidence []string
	kind     string
}

// The kinds of questions in LoCoMo and RealTalk.
const (
	multiHop   = "1"
	temporal   = "2"
	noAnswer   = "5"
	answerable = ""
)

func readFile(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func readLoCoMo(t *testing.T) (list []corpus) {
	t.Helper()
	var raw []struct {
		Conversation map[string]json.RawMessage `json:"conversation"`
		QA           json.RawMessage            `json:"qa"`
	}
	readFile(t, os.Getenv(locomoEnv), &raw)
	for _, r := range raw {
		r.Conversation["qa"] = r.QA
		list = append(list, readConversation(t, r.Conversation))
	}
	return list
}

func readRealTalk(t *testing.T) (list []corpus) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(os.Getenv(realTalkEnv), "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no conversations: %v", os.Getenv(realTalkEnv), err)
	}
	for _, file := range files {
		var parts map[string]json.RawMessage
		readFile(t, file, &parts)
		list = append(list, readConversation(t, parts))
	}
	return list
}

func decode[T any](t *testing.T, raw json.RawMessage) (v T) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// readConversation makes memories of a conversation's turns, and reads the questions. The caption of a
// picture is part of its turn.
func readConversation(t *testing.T, parts map[string]json.RawMessage) (c corpus) {
	t.Helper()
	ids := map[string]bool{}
	for n := range 100 {
		session := parts[fmt.Sprintf("session_%d", n)]
		if session == nil {
			continue
		}
		at := sessionTime(t, decode[string](t, parts[fmt.Sprintf("session_%d_date_time", n)]))
		type turn struct {
			Speaker string `json:"speaker"`
			ID      string `json:"dia_id"`
			Text    string `json:"text"`
			Clean   string `json:"clean_text"`
			Caption string `json:"blip_caption"`
		}
		for i, turn := range decode[[]turn](t, session) {
			text := cmp.Or(turn.Text, turn.Clean)
			if turn.Caption != "" {
				text += " [" + turn.Caption + "]"
			}
			ids[turn.ID] = true
			c.docs = append(c.docs, &Doc{
				ID: turn.ID, State: core.StateOpen, Q: 0.5, Title: turn.Speaker, Text: text,
				At: at.Add(time.Duration(i) * time.Second), Source: fmt.Sprint("session ", n),
			})
		}
	}
	type asked struct {
		Question string   `json:"question"`
		Evidence []string `json:"evidence"`
		Category int      `json:"category"`
	}
	for _, qa := range decode[[]asked](t, parts["qa"]) {
		q := question{text: qa.Question, kind: strconv.Itoa(qa.Category)}
		for _, e := range strings.FieldsFunc(strings.Join(qa.Evidence, " "), func(r rune) bool { return strings.ContainsRune(" ;,", r) }) {
			if ids[e] && !slices.Contains(q.evidence, e) && q.kind != noAnswer {
				q.evidence = append(q.evidence, e)
			}
		}
		if q.kind == noAnswer || len(q.evidence) > 0 {
			c.questions = append(c.questions, q)
		}
	}
	return c
}

// sessionTime is when a session was, as either set writes it.
func sessionTime(t *testing.T, written string) time.Time {
	t.Helper()
	at, err := time.Parse("3:04 pm on 2 January, 2006", written)
	if err != nil {
		if at, err = time.Parse("02.01.2006, 15:04:05", written); err != nil {
			t.Fatal(err)
		}
	}
	return at
}

// readXQuAD reads a language, so many articles to a namespace.
func readXQuAD(t *testing.T, language string, articles int) (list []corpus) {
	t.Helper()
	var raw struct {
		Data []struct {
			Paragraphs []struct {
				Context string
				QAs     []struct {
					Question string
					Answers  []struct {
						Start int `json:"answer_start"`
					}
				}
			}
		}
	}
	readFile(t, filepath.Join(os.Getenv(xquadEnv), "xquad."+language+".json"), &raw)
	for a, article := range raw.Data {
		if a%articles == 0 {
			list = append(list, corpus{})
		}
		c := &list[len(list)-1]
		for p, paragraph := range article.Paragraphs {
			text := []rune(paragraph.Context)
			starts := sentenceStarts(text)
			id := func(i int) string { return fmt.Sprintf("%d.%d.%d", a, p, i) }
			for i, start := range starts {
				end := len(text)
				if i+1 < len(starts) {
					end = starts[i+1]
				}
				c.docs = append(c.docs, &Doc{ID: id(i), State: core.StateOpen, Q: 0.5, Text: strings.TrimSpace(string(text[start:end]))})
			}
			for _, qa := range paragraph.QAs {
				i, found := slices.BinarySearch(starts, qa.Answers[0].Start)
				if !found {
					i--
				}
				c.questions = append(c.questions, question{text: qa.Question, evidence: []string{id(i)}})
			}
		}
	}
	return list
}

// sentenceStarts is where the sentences of a text begin. None is shorter than an abbreviation with its name.
func sentenceStarts(text []rune) []int {
	const shortest = 20
	starts := []int{0}
	for i := 1; i+1 < len(text); i++ {
		if i-starts[len(starts)-1] > shortest && (strings.ContainsRune("。！？", text[i-1]) || strings.ContainsRune(".!?؟;", text[i-1]) && text[i] == ' ') {
			starts = append(starts, i)
		}
	}
	return starts
}

// readCranfield reads the texts, and the questions in their order, by which the judgements number them.
func readCranfield(t *testing.T) []corpus {
	t.Helper()
	folder := os.Getenv(cranfieldEnv)
	var c corpus
	for _, f := range cranfieldRecords(t, filepath.Join(folder, "cran.all.1400")) {
		c.docs = append(c.docs, &Doc{ID: f[".I"], State: core.StateOpen, Q: 0.5, Title: f[".T"], Text: f[".W"]})
	}
	for _, f := range cranfieldRecords(t, filepath.Join(folder, "cran.qry")) {
		c.questions = append(c.questions, question{text: f[".W"]})
	}
	data, err := os.ReadFile(filepath.Join(folder, "cranqrel"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var number, grade int
		var id string
		if n, _ := fmt.Sscan(line, &number, &id, &grade); n == 3 && grade > 0 {
			q := &c.questions[number-1]
			q.evidence = append(q.evidence, id)
		}
	}
	return []corpus{c}
}

// cranfieldRecords are the records of a file, each with the text of its fields.
func cranfieldRecords(t *testing.T, file string) (list []map[string]string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	field := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if id, begins := strings.CutPrefix(line, ".I "); begins {
			list = append(list, map[string]string{".I": id})
			continue
		}
		if len(line) == 2 && line[0] == '.' {
			field = line
			continue
		}
		list[len(list)-1][field] += line + "\n"
	}
	return list
}

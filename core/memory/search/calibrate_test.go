//go:build quality

package search

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
)

var update = flag.Bool("update", false, "write the weights that were fitted")

// answered is what was found for a question, and which of it is relevant.
type answered struct {
	found    []Found
	relevant []bool
}

// asked are the answers to questions: those that the corpus answers, those about somebody or something else
// in it, and questions of another corpus.
type asked struct{ answerable, swapped, crossed []answered }

func (a *asked) all() []answered { return slices.Concat(a.answerable, a.swapped, a.crossed) }

// askAll asks each corpus its own questions and the next one's. With lives, what is relevant counts as used
// and the rest as passed over.
func askAll(t *testing.T, list []corpus, lives bool) (all asked) {
	t.Helper()
	for i := range list {
		x := New(docSource(list[i].docs), Options{})
		next := list[(i+1)%len(list)].questions
		for n := range max(len(list[i].questions), len(next)) {
			if n < len(list[i].questions) {
				q := &list[i].questions[n]
				if a := askOne(t, x, q, lives); q.kind == noAnswer {
					all.swapped = append(all.swapped, a)
				} else {
					all.answerable = append(all.answerable, a)
				}
			}
			if n < len(next) && next[n].kind != noAnswer && len(list) > 1 {
				all.crossed = append(all.crossed, askOne(t, x, &question{text: next[n].text}, lives))
			}
		}
	}
	return all
}

func askOne(t *testing.T, x *Index, q *question, lives bool) (a answered) {
	t.Helper()
	a.found = recall(t, x, q.text, results)
	for i := range a.found {
		relevant := slices.Contains(q.evidence, a.found[i].ID)
		a.relevant = append(a.relevant, relevant)
		if d := a.found[i].candidate.doc; lives {
			outcome := map[bool]string{true: "s", false: "o"}[relevant]
			d.window = core.Window(string(d.window) + outcome + lifecycle.Who(""))
		}
	}
	return a
}

// recall recalls as memories are recalled, but for vectors.
func recall(t *testing.T, x *Index, query string, limit int) []Found {
	t.Helper()
	q := Query{Text: query, Limit: limit, Nearest: Nearest}
	q.Filter.Namespace = "ns"
	found, err := x.Search(t.Context(), &q)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// The languages of XQuAD, and the numbers of articles in a namespace, that the weights are fitted on.
var (
	fittedLanguages = []string{"en"}
	fittedArticles  = []int{1, 8, 24}
)

// talkWeight is what an answer of a made conversation counts for: so many can be made, that they would
// outweigh what people wrote.
const talkWeight, livesWeight = 0.1, 0.02

// TestCalibration fits the weights by which P is judged, on what may be shipped: XQuAD and conversations
// that are made. It compares them with the table, or with -update writes it.
func TestCalibration(t *testing.T) {
	if os.Getenv(xquadEnv) == "" {
		t.Fatalf("%s doesn't name the data: run make calibrate XQUAD=…", xquadEnv)
	}
	digest, f := sha256.New(), fit{}
	learn := func(list []corpus, lives bool, weight float64) {
		for i := range list {
			fmt.Fprintln(digest, list[i].questions)
			for _, d := range list[i].docs {
				fmt.Fprintln(digest, d.ID, d.Title, d.Text)
			}
		}
		answers := askAll(t, list, lives)
		f.add(answers.all(), weight)
	}
	for _, language := range fittedLanguages {
		for _, articles := range fittedArticles {
			learn(readXQuAD(t, language, articles), false, 1)
		}
	}
	learn(makeTalks(true), false, talkWeight)
	learn(makeTalks(false), false, talkWeight)
	learn(makeTalks(true), true, livesWeight)
	got := table(f.solve(), hex.EncodeToString(digest.Sum(nil)), len(f.rows))
	const file = "weights.go"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if kept, err := os.ReadFile(file); err != nil || string(kept) != got {
		t.Errorf("the table isn't what make calibrate makes (%v):\n%s", err, got)
	}
}

// fit is a logistic regression.
type fit struct {
	rows     []judgement
	relevant []float64
	weight   []float64
}

func (f *fit) add(list []answered, weight float64) {
	for _, a := range list {
		for i := range a.found {
			f.rows = append(f.rows, a.found[i].judgement)
			f.relevant = append(f.relevant, map[bool]float64{true: 1}[a.relevant[i]])
			f.weight = append(f.weight, weight)
		}
	}
}

// solve finds the most likely weights by Newton's method. A small penalty keeps the weight of a sign finite
// that the data doesn't have.
func (f *fit) solve() (w [signs]float64) {
	const steps, penalty = 30, 1
	for range steps {
		var slope [signs]float64
		var curve [signs][signs]float64
		for i := range signs {
			curve[i][i], slope[i] = penalty, -penalty*w[i]
		}
		for n := range f.rows {
			p := f.rows[n].p(&w)
			for i, x := range f.rows[n] {
				slope[i] += f.weight[n] * (f.relevant[n] - p) * x
				for j, y := range f.rows[n] {
					curve[i][j] += f.weight[n] * p * (1 - p) * x * y
				}
			}
		}
		for i, step := range divide(curve, slope) {
			w[i] += step
		}
	}
	return w
}

// divide solves curve · x = slope. The curve is positive definite.
func divide(curve [signs][signs]float64, slope [signs]float64) [signs]float64 {
	for i := range signs {
		for r := range signs {
			if r == i {
				continue
			}
			factor := curve[r][i] / curve[i][i]
			for c := range signs {
				curve[r][c] -= factor * curve[i][c]
			}
			slope[r] -= factor * slope[i]
		}
	}
	for i := range signs {
		slope[i] /= curve[i][i]
	}
	return slope
}

// table is the file with the weights.
func table(w [signs]float64, digest string, rows int) string {
	names := [signs]string{
		"always", "met", "surprise", "behind", "closeness", "rank", "unknownName", "lacksName", "hasNames", "unusedLately",
	}
	widest := 0
	for _, name := range names {
		widest = max(widest, len(name))
	}
	var b strings.Builder
	fmt.Fprintf(&b, `// Code generated by make calibrate; DO NOT EDIT.

package search

// weights are how much each sign says, fitted on %d results for questions to XQuAD and to conversations
// that were made. The SHA-256 of their texts is
// %s.
func weights() [signs]float64 {
	return [signs]float64{
`, rows, digest)
	for i, name := range names {
		fmt.Fprintf(&b, "\t\t%s:%s %.3f,\n", name, strings.Repeat(" ", widest-len(name)), w[i])
	}
	b.WriteString("\t}\n}\n")
	return b.String()
}

// calibrationError is the mean difference between P and the share of what is relevant, of results in ten
// groups by P.
func calibrationError(list []answered) float64 {
	const groups = 10
	var difference [groups]float64
	all := 0
	for _, a := range list {
		for i, f := range a.found {
			g := min(int(f.P*groups), groups-1)
			difference[g] += f.P - map[bool]float64{true: 1}[a.relevant[i]]
			all++
		}
	}
	sum := 0.0
	for _, d := range difference {
		sum += math.Abs(d) / float64(all)
	}
	return sum
}

// nothing is the share of questions for which nothing relevant is found.
func nothing(list []answered, least float64) []float64 {
	shares := make([]float64, len(list))
	for i, a := range list {
		if !slices.ContainsFunc(a.found, func(f Found) bool { return f.P >= least }) {
			shares[i] = 1
		}
	}
	return shares
}

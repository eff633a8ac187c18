package lives_test

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

//go:embed testdata/tasks.txt
var taskTexts string

// task is something that people ask about in many wordings, with advice on it.
type task struct {
	subjects, troubles, right, wrong, riders []string
}

// tasks reads the tasks.
func tasks(t *testing.T) (list []task) {
	t.Helper()
	for line := range strings.Lines(taskTexts) {
		field, text, found := strings.Cut(strings.TrimSpace(line), ": ")
		if !found || strings.HasPrefix(line, "#") {
			continue
		}
		if field == "subject" {
			list = append(list, task{subjects: strings.Split(text, " | ")})
			continue
		}
		of := &list[len(list)-1]
		switch field {
		case "trouble":
			of.troubles = strings.Split(text, " | ")
		case "right":
			of.right = append(of.right, text)
		case "wrong":
			of.wrong = append(of.wrong, text)
		case "rider":
			of.riders = append(of.riders, text)
		default:
			t.Fatalf("the tasks have a line %q", line)
		}
	}
	return list
}

// questions are the ways to ask about a task; %[1]s is its subject, %[2]s the trouble with it.
var questions = []string{
	"%[1]s %[2]s. What should I do?",
	"What helps when %[1]s %[2]s?",
	"%[1]s %[2]s again, any idea why?",
	"Need advice: %[1]s %[2]s.",
	"Why is it that %[1]s %[2]s, and how do I solve this?",
	"My colleague says that %[1]s %[2]s. How do we deal with it?",
}

// The ways to word a note on a task, from those that share most with questions to those that share
// little; %[3]s is another trouble and %[4]s what the note says.
var (
	nearest = []string{"If %[1]s %[2]s or %[3]s, %[4]s.", "When %[1]s %[2]s, or simply %[3]s: %[4]s."}
	near    = []string{"If %[1]s %[2]s, %[4]s.", "When %[1]s %[2]s: %[4]s.", "So that nobody asks why %[1]s %[2]s: %[4]s."}
	far     = []string{"For %[1]s: %[4]s.", "About %[1]s: %[4]s."}
	riding  = []string{"%[1]s %[2]s or %[3]s, and: it %[4]s.", "On days when %[1]s %[2]s, or %[3]s: it %[4]s."}
)

func pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

// ask is a question about a task.
func (k *task) ask(r *rand.Rand) string {
	return capital(fmt.Sprintf(pick(r, questions), pick(r, k.subjects), pick(r, k.troubles)))
}

// word is a note on a task.
func (k *task) word(r *rand.Rand, forms []string, says string) string {
	one := r.IntN(len(k.troubles))
	other := (one + 1 + r.IntN(len(k.troubles)-1)) % len(k.troubles)
	text := fmt.Sprintf(pick(r, forms)+"%[5]s", pick(r, k.subjects), k.troubles[one], k.troubles[other], says, "")
	return capital(text)
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

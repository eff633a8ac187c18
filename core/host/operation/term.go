package operation

import "strings"

// The names of numbers in results are the names in the formulas of the gate and in JSON. For people,
// each has words that say what it is about, and a sentence: on pages on hover and in a list below the
// numbers, and on the help pages of the commands that print it.

// Term is a name in words for people.
type Term struct {
	// Name is the name in JSON, in policies and of commands.
	Name string
	// Word is what it is in a few words, and Text explains it in a sentence or two.
	Word, Text string
}

// Label is the words with the name, such as "what tools say (react)".
func (t Term) Label() string { return t.Word + " (" + t.Name + ")" }

// Terms are the names that have words, in the order in which lists explain them.
func Terms() []Term {
	return []Term{
		{"q", "how its turns ended", "From 0 to 1, learned from turns: it rises when turns that used the memory succeed, and falls when they fail."},
		{"react", "what tools say", "From 0 to 1: how often tools and evaluators succeeded where the memory was used, and whether that happened again."},
		{"graph", "where it is needed", "From 0 to 1: whether the workflows that recalled the memory still lead to a step that needs it; .5 if none is known."},
		{"omega", "what the decision adds", "From 0 to 1: what was reported for the decision about the memory's source, the code and its benefit; .5 for what nobody reported."},
		{"utility", "all four together", "The weighted sum of the four numbers above. The gate compares it with the limits of the namespace."},
		{"confidence", "how sure the decision is", "From 0 to 1: how far the numbers are from the limit at which the gate would decide otherwise."},
		{"ttl_score", "how much it helps", "The retention score: hits and utility raise it, misses and idle turns lower it. Its limits decide when a memory cools."},
		{"bias", "how turns went lately", "From −1 to 1: turns of the session that succeed raise it, turns that fail lower it. It decides how many memories recall finds."},
		{"score", "how good it is", "Of an attempt: from 0 to 1, as its evaluator judged it. Of what a search found: how well it fits, compared with the other results."},
		{"anchor", "never left out", "A block of a prompt that is never cut or dropped. Only the operator and the host make one."},
		{"recall", "find memories", "The command memory recall, the tool retrieve and the operation memory_recall are the same."},
		{"reflect", "derive memories from others", "The command reflect and the tool reflect have a model derive insights, in a job. memory reflect stores what its caller concluded. " +
			"Both store a reflection: a memory with links to its sources. A reflection record isn't a memory: it is what a turn's feedback says."},
	}
}

// TermFor is the term of a name. For a name without one, the words are the name.
func TermFor(name string) Term {
	for _, t := range Terms() {
		if t.Name == name {
			return t
		}
	}
	return Term{Name: name, Word: strings.ReplaceAll(name, "_", " ")}
}

// InWords is a sentence of a result, such as a line of memory explain, with words in place of the
// names that aren't words.
func InWords(sentence string) string {
	if rest, is := strings.CutPrefix(sentence, "q "); is {
		sentence = TermFor("q").Label() + " " + rest
	}
	return strings.ReplaceAll(sentence, "ttl_score", "retention score")
}

package web

// The names of the gate's numbers are those of its formulas and of JSON. On a page, each has a
// word that says what it is about, and a sentence: on hover, and in a list below the numbers.

// term is a number in words.
type term struct {
	// Name is its name in JSON and in policies.
	Name string
	// Word is shown on pages, and Text explains it in a sentence.
	Word, Text string
}

// terms are the numbers that pages show, in the order in which lists explain them.
var terms = []term{
	{"q", "how much it helps", "From 0 to 1, learned from turns: it rises when turns that used the memory succeed, and falls when they fail."},
	{"react", "what tools say", "From 0 to 1: how often tools and evaluators succeeded where the memory was used, and whether that happened again."},
	{"graph", "where it is needed", "From 0 to 1: whether the workflows that recalled the memory still lead to a step that needs it; .5 if none is known."},
	{"omega", "what others found", "From 0 to 1: what was reported about its source, the code and its benefit; .5 for what nobody reported."},
	{"utility", "all four together", "The weighted sum of the four numbers above. The gate compares it with the limits of the namespace."},
	{"confidence", "how sure the decision is", "From 0 to 1: how far the numbers are from the limit at which the gate would decide otherwise."},
	{"ttl_score", "worth keeping", "The retention score: hits and utility raise it, misses and idle turns lower it. Its limits decide when a memory cools."},
}

// termFor is the term of a name. A name without one is shown as it is.
func termFor(name string) term {
	for _, t := range terms {
		if t.Name == name {
			return t
		}
	}
	return term{Name: name, Word: words(name)}
}

// termsFor are the terms of names, for a list that explains them.
func termsFor(names ...string) (list []term) {
	for _, name := range names {
		list = append(list, termFor(name))
	}
	return list
}

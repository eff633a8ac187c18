package web

import "github.com/reflectory/reflectory/core/host/operation"

// termFor is the term of a name. A name without one is shown as it is.
func termFor(name string) operation.Term {
	t := operation.TermFor(name)
	t.Word = line(t.Word, 60)
	return t
}

// termsFor are the terms of names, for a list that explains them.
func termsFor(names ...string) (list []operation.Term) {
	for _, name := range names {
		list = append(list, termFor(name))
	}
	return list
}

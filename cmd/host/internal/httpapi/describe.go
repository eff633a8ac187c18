package httpapi

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/reflectory/reflectory/sdk"
)

// Answer is how errors of a class, or of one reason, are answered.
type Answer struct {
	Status int
	Title  string
	// Class is the errors' class, and Reasons are the codes that have this status although
	// their class has a different status; one of the two is empty. A * in a code stands
	// for any text.
	Class   sdk.Code
	Reasons []string
}

// Answers lists how errors are answered, by status, for the API's documents.
func Answers() []Answer {
	var list []Answer
	for class, status := range statuses {
		list = append(list, Answer{Status: status, Title: titles[class], Class: class})
	}
	own := map[int][]string{http.StatusRequestEntityTooLarge: {"*" + tooLarge}}
	for _, reasons := range []map[string]int{transportStatuses, operationStatuses} {
		for reason, status := range reasons {
			own[status] = append(own[status], reason)
		}
	}
	for status, names := range own {
		slices.Sort(names)
		names = slices.Compact(names)
		list = append(list, Answer{Status: status, Reasons: names})
	}
	slices.SortFunc(list, func(a, b Answer) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), cmp.Compare(a.Class, b.Class))
	})
	return list
}

// DefaultLimits are the default limits.
func DefaultLimits() Limits { return Limits{}.withDefaults() }

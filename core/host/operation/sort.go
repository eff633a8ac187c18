package operation

import (
	"cmp"
	"slices"
)

// sorted joins lists of operations, and sorts them by name.
func sorted(lists ...[]Operation) []Operation {
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b Operation) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// orEmpty turns a nil list into an empty one, which JSON shows as [].
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

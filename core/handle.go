package core

import (
	"slices"
	"strconv"
	"strings"
)

// A model copies a short name more reliably than an id, and for fewer tokens. A turn's memories are m1,
// m2 and so on, in the order in which its recalls returned them.

// Handle is the short name of a turn's memory at a place, from 0.
func Handle(place int) string { return "m" + strconv.Itoa(place+1) }

// handlePlace is what a handle names; -1 for a text that is none.
func handlePlace(text string) int {
	digits, _ := strings.CutPrefix(text, "m")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || Handle(n-1) != text {
		return -1
	}
	return n - 1
}

// IsHandle reports whether a text has the form of a handle. The id of a memory may have it too, and
// then names that memory.
func IsHandle(text string) bool { return handlePlace(text) >= 0 }

// ResolveHandle is the id that a handle names among a turn's memories; other texts, and ids, are
// returned as they are.
func ResolveHandle(ids []string, text string) string {
	if at := handlePlace(text); at >= 0 && at < len(ids) && !slices.Contains(ids, text) {
		return ids[at]
	}
	return text
}

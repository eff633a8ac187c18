package verdict

import "strings"

// GateAnswer is a decision as answers have it.
type GateAnswer struct {
	*GateDecision
	// Omega is what was known about the memory's sources: name=value texts of the known scores,
	// the notes, each as note=TEXT, and the digest of the reason for a requested erasure, by name.
	Omega []string `json:"omega_factors"`
}

// Notes are the notes among the factors, in their order.
func (a *GateAnswer) Notes() (notes []string) {
	for _, factor := range a.Omega {
		if note, is := strings.CutPrefix(factor, "note="); is {
			notes = append(notes, note)
		}
	}
	return notes
}

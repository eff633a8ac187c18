// Package discover finds what fits an intent. Among the tools, plugins and workflows that a
// caller may use, it finds which one to recommend, between which ones to ask, and when
// nothing fits well enough.
//
// The score of a candidate is the share of the intent's words that its name, description and examples have,
// rare words counting more: 1 if they have all. The final score also depends on how often its last runs
// failed at least. A policy decides how sure a recommendation with such a final score is. The package knows
// no store: the caller passes the candidates.
//
// It is internal to Reflectory: its API may change in any release.
package discover

// Package discover finds what fits an intent. Among the tools, plugins and workflows that a
// caller may use, it finds which one to recommend, between which ones to ask, and when
// nothing fits well enough.
//
// The score of a candidate is the similarity of recall, over its name, description and examples: the weighted
// mean of the cosine and of the share of the intent's words, rare ones counting more, that the candidate has.
// The final score also depends on how often its last runs succeeded. A policy decides how sure a
// recommendation with such a final score is. The package knows no store: the caller passes the
// candidates.
package discover

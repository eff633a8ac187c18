// Package discover finds what fits an intent: of the tools, plugins and workflows that a
// caller may use, which one to recommend, which to ask about, and when nothing fits well
// enough to be done at all.
//
// The score of a candidate is the similarity of recall, over its name, description and
// examples: the weighted mean of the cosine and of the share of the intent's words, rare
// ones counting more, that the candidate has. How often it succeeded lately makes it a
// final score. How sure that is, is a policy's to say. The package knows no store: who asks
// brings the candidates.
package discover

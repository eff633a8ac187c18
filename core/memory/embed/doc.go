// Package embed is the local embedder: it makes vectors of texts without a
// network, a model file or any state, the same ones on each machine.
//
// A text's vector is the sum of its words' vectors, and a word's is the sum of its
// features: the word itself and the pieces of 3 and 4 characters of it. Each
// feature has a place among 384 and a sign, both by a hash. So words with a common
// stem are alike ("painted", "painting"), as are a word and its misspelling, in
// any language. Likeness of meaning without likeness of letters isn't seen: that
// needs a model.
//
// The weights were fitted on one half of LoCoMo's conversations, and the figures
// that the project states are of the other; see package search.
package embed

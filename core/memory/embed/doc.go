// Package embed is the local embedder: it makes vectors of texts without a network, a
// model file or any state. The vectors are the same on every machine.
//
// A text's vector is the sum of its words' vectors, and a word's vector is the sum of its
// features: the word itself and its pieces of 3 and 4 characters. A hash gives each
// feature one of 384 dimensions and a sign. So words with a common stem are similar
// ("painted", "painting"), as are a word and its misspelling, in any language. Similar
// meaning without similar letters isn't detected: that needs a model.
//
// The weights were fitted on one half of LoCoMo's conversations, and the project's
// published figures are measured on the other half; see package search.
//
// It is internal to Reflectory: its API may change in any release.
package embed

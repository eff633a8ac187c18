// Package modeltext reads what a language model sends. A call, a judge, a reflection and
// `parse: json` all use it, so that they agree on what an answer is.
//
// [Read] reads a whole reply of one of the protocols, and [Stream] one that arrives in
// pieces. Both give a [Reply]: its text without thoughts, and what else came
// with it. [Value] finds the one JSON value in a text, and [Own] the one object that the
// model wrote itself and didn't quote.
//
// Everything in a reply is hostile until it is checked. Reading takes time that is linear in
// the length, and never guesses: a text with several values, or with a broken one, is an
// error that names the place.
//
// It is internal to Reflectory: its API may change in any release.
package modeltext

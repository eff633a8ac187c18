// Package jsontext has what the host does with JSON besides encoding/json: numbers that stay
// exact, objects that keep the order of their members, messages in JSON's terms, and the one
// form in which results are printed. It imports only the standard library and sdk.
//
// It is internal to Reflectory: its API may change in any release.
package jsontext

// Package policy is where Reflectory decides by expressions: it compiles CEL
// (https://cel.dev) against the typed variables of each policy point and bounds
// what an evaluation may cost. It is the only package that imports cel-go, and
// no type of cel-go leaves it.
package policy

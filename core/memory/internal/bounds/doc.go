// Package bounds says what a memory, a query and the name of a turn may be, and collects all
// that is wrong with an input. A check of the store holds records to the same bounds as
// requests are held to, so both use these functions.
package bounds

// Package bounds has the limits of memories, queries and turns, and collects everything
// that is wrong with an input. A check of the store holds records to the same limits as
// requests, so both use these functions.
package bounds

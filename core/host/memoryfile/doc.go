// Package memoryfile reads files in which other programs, or people, keep memories, and makes of each
// record a request to observe it: the JSON Lines of MCP's memory server, the export of mem0, a folder
// of Markdown, and plain JSON Lines.
//
// Such a file comes from outside: its size, its lines, its nesting and its records are bounded. What
// can't become a memory is left out with its place and the reason, and reading goes on, so that one
// bad record doesn't keep the rest out. What a record says besides its text stays in the memory's
// metadata under "source". A record's idempotency key is made of its id and text, so that importing a
// file twice adds nothing.
//
// It is internal to Reflectory: its API may change in any release.
package memoryfile

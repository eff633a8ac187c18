// Package memory keeps what agents know: memories, the links between them, and
// the reflections that are derived from them, each within its namespace.
//
// [Memories] is the repository. Every change is one transaction that holds the
// record, its indices, its links and its journal entry. No surface holds a rule
// of its own: the command line, MCP and HTTP only call it.
//
// # Layout
//
// The package is the facade, and what makes, links, lists and recalls memories; what the
// gate decides is carried out here too. Next to it are: turn, what feedback makes of
// memories; knowledge, what promoted ones become; check, the proof that the store agrees
// with itself. All write through internal/record, which has the keys, the records and the
// transaction; internal/bounds has what an input may be, internal/feed what the indices of
// recall read.
//
// core/store/FORMAT.md has the table of keys. A memory's record is
// plain JSON under its id, its vector lies next to it, and each index ends in the
// complement of the memory's creation time and its id, so that a scan of any of
// them finds the newest first.
//
// A memory's title and content never change. What changes is where it is in its
// life and what its use has shown.
//
// # Lives
//
// A turn is what a session's recall returned, and the feedback on it. What it
// teaches is one commit: signals, credit, the session's bias, and the states that
// the retention policy moves (package lifecycle has the arithmetic and the table
// of transitions). What the gate decides on a memory is another commit, with what
// follows from it. Only there is a memory purged or made knowledge. Turns move a
// memory, never time.
//
// # What a purge removes
//
// The record with its vector, indices and links, what links to it carried, and the
// reflections on it that wait for an approval. What stays names it by its id and by
// digests: the tombstone, its events, the gate's decisions, links to it. The record of
// a decision of the reflect policy has neither title and tags nor what the policy made
// of them. What is kept elsewhere, such as what runs recalled, is
// removed by [Options.Forgetters]. What a model wrote from the memory isn't found: the answer names
// the runs and reflections that were given it.
//
// What it removes leaves the store's files before the call returns, see
// [core.Scrubber].
//
// # Contention
//
// A namespace has a head of its journal stream, a counter of what it holds and
// a counter of its turns. Writers of one namespace meet there and nowhere else;
// writers of different namespaces don't meet.
package memory

// Package memory keeps what agents know: memories, the links between them, and
// the reflections that are derived from them, each within its namespace.
//
// [Memories] is the repository. Every change is one transaction that holds the record,
// its indices, its links and its journal entry. No surface has rules of its own: the
// command line, MCP and HTTP only call it.
//
// # Layout
//
// This package is the facade, and has the code that creates, links, lists and recalls
// memories; it also carries out what the gate decides. Next to it are three packages: turn
// applies feedback to memories, knowledge has the entries that promoted memories become, and
// check proves that the store is consistent. All of them write through internal/record, which
// has the keys, the records and the transaction. internal/bounds has the limits of inputs,
// and internal/feed reads the store for the indices of recall.
//
// core/store/FORMAT.md has the table of keys. A memory's record is plain JSON under its
// id, its vector is next to it, and each index ends in the complement of the memory's
// creation time and its id, so that a scan of any index finds the newest first.
//
// A memory's title and content change only by a step of a dream pass, which makes relative
// dates absolute. Its state and its signals change with use.
//
// # Dream passes
//
// Package dream plans housekeeping and writes nothing. This package reads the snapshot from
// which a plan is made, and applies the plan's steps, one commit each. A step whose memories
// have changed since then is skipped. What is needed to undo a step is stored under the
// memory's id, and is removed with the memory. If memories were merged into another memory,
// the gate counts their tool evidence as evidence about the other memory.
//
// # Lifecycle
//
// A turn is what a session's recalls returned, and the feedback on it. The feedback is
// one commit: signals, credit, the session's bias, and the states that the retention
// policy changes (package lifecycle has the arithmetic and the table of transitions). A
// decision of the gate on a memory is another commit, with its consequences. Only there is
// a memory purged or promoted to knowledge. The retention policy changes a memory's state
// after turns, never because time has passed; only a dream pass looks at a memory's age.
//
// # What a purge removes
//
// A purge removes the record with its vector, indices and links, what is needed to undo
// dream passes, what was merged into it, the metadata of links to it, the pending
// reflections on it, and the parts of the kept index that may have its words. The data that stays names the memory only by its id and by digests: the
// tombstone, the events, the gate's decisions, and links to the memory. The record of a
// decision of the reflect policy has no title or tags, and nothing that the policy computed
// from them. Copies kept elsewhere, such as what runs recalled, are removed by
// [Options.Forgetters]. Text that a model wrote from the memory isn't found, but the result
// names the runs and reflections that received the memory.
//
// The removed data leaves the store's files before the call returns, see [core.Scrubber].
//
// # Contention
//
// A namespace has a head of its journal stream, a counter of its contents and a counter
// of its turns. Writers of one namespace conflict only there; writers of different
// namespaces don't conflict.
package memory

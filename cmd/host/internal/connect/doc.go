// Package connect joins coding agents to a host: it writes the entry of its MCP server and its hooks into
// the files of their settings, undoes that, and translates what their hooks say and expect.
//
// It touches files that belong to somebody else, so it changes only its own entries in them: comments,
// order and formatting stay, a copy of each file is kept before it is changed, and a file that can't be
// parsed is left alone. It knows clients and files, and nothing of memories: package cli calls the host.
//
// The formats are from the documentation of each client, as of the date next to it.
//
// It is internal to Reflectory: its API may change in any release.
package connect

// Package gateway is the wire side of the gateway in front of a model: the HTTP shapes of chat
// completions, responses and messages. What a request means is decided by core/host/gateway; this
// package reads a request for it, sends it to the upstream, and gives the client the reply.
//
// Nothing is translated: a request goes to an upstream of its own shape. Bodies are edited, never
// encoded again: every byte that isn't named by an edit goes up as the client wrote it, and comes
// down as the upstream wrote it. Each shape has one file, and what they share is in the others.
//
//	cursor.go    walks JSON that was checked, without copying it
//	request.go   a client's request, and the places of its edits
//	shape.go     what a shape has to know
//	chat.go, responses.go, messages.go
//	events.go    splits a stream into its events, with their bytes
//	exchange.go  the attempts of one request, and what of them reaches the client when
//	upstream.go  the request that goes up: address, credentials, headers, deadlines
//	handler.go   the paths
//	fault.go     errors in the form of the family
package gateway

package gateway

import (
	"github.com/reflectory/reflectory/core/host/gateway"
	"github.com/reflectory/reflectory/sdk/modeltext"
)

// shape is one of the families' ways to ask a model.
type shape interface {
	// path is where an upstream takes requests, behind its base.
	path() string
	family() Family
	protocol() modeltext.Protocol
	// read fills a request from its object.
	read(r *request, top node) error
	// whole reads the calls and the ids of a whole reply.
	whole(r *request, reply node) (ids []string, calls []gateway.Call)
	// events begins to read a stream.
	events(r *request) eventReader
	// splice makes the end of a stream whose beginning is another attempt's: the calls of the accepted
	// attempt, and what ends its reply. shown are the events that the client has, and all are the
	// accepted attempt's.
	splice(shown, all []event) []byte
	// fault is an event that ends a stream with an error.
	fault(f *fault) []byte
	// made is a reply, or a stream of one, that no upstream sent.
	made(r *request, a *Answer) []byte
	// idle is what a held stream sends so that nobody takes it for a dead one.
	idle() string
}

// eventReader reads the events of one stream, beyond what modeltext reads.
type eventReader interface {
	// add reads an event's JSON, and returns what it is for the client. v doesn't exist if the data
	// isn't JSON.
	add(e event, v node) kind
	ids() []string
	calls() []gateway.Call
}

// kind is what an event is for a client.
type kind int

const (
	// opening may be followed by a call as its first visible part, and waits for what comes.
	opening kind = iota
	// visible is text, a thought, or anything else that isn't checked.
	visible
	// calling is a part of a call that the client will make.
	calling
	// counting is the usage alone, which is left out if only the gateway asked for it.
	counting
)

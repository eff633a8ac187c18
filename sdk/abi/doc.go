// Package abi defines what a WASM guest and the host agree on: names, numbers and
// messages of ABI version 1. Guests in Go use package guest; others can follow this
// page.
//
// # Reactor
//
// A reactor exports, in addition to its memory:
//
//	memory                              the linear memory
//	reflectory_abi_version() i32        1
//	reflectory_alloc(size i32) i32      space for a request; 0 if there is none
//	reflectory_call(op, ptr, len i32) i64
//	                                    makes one call; returns ptr<<32 | len of the reply
//	reflectory_free(ptr, len i32)       optional: the host has read the reply
//	_initialize()                       optional: run once, before anything else
//
// The host writes the request to the address that reflectory_alloc returned. It belongs
// to the guest from reflectory_call on. The reply must stay where it is until
// reflectory_free or the next call. The host makes one call at a time to a guest.
//
//	op  name      request                               reply
//	1   describe  {}                                    {"manifest": Manifest}
//	2   prepare   {"kind", "config": {"digest","json"}} {}
//	3   evaluate  {"config": {"digest"}, "items": […]}  {"results": [{"response"} or {"error"}, …]}
//	4   generate  as evaluate                           as evaluate
//	5   correct   as evaluate                           as evaluate
//
// Any reply may be {"error": {…}} instead, which means that the whole call failed.
// Items, responses and the manifest have the JSON form of the contract (package sdk);
// unknown fields are ignored. A config is sent once, by prepare, and named by its
// digest from then on. A guest that doesn't know a digest replies with an error of code
// "not_found" and reason "config_unknown", and the host sends the config again.
//
// # WASI command
//
// A command reads one request from standard input and writes its reply to standard
// output. Its request also has "op", as a name, and always contains the whole config.
// Standard error goes to the host's log.
//
// # Extism plug-in
//
// A plug-in that imports extism:host/env may export any of describe, evaluate, generate
// and correct. Each takes a request, with "op" and a whole config, as its input, and
// returns its reply as output. Exporting evaluate, generate or correct makes the
// plug-in that kind of plugin; if it doesn't export describe, its manifest is made from
// these kinds. A plug-in with none of these exports is called by the name in its
// config's "function": see core/plugin/wasm.
//
// # Host functions
//
// A reactor may import these from module "reflectory:host". A function that needs a
// capability fails with code "denied" if the capability isn't granted. Each takes a
// message in the guest's memory and returns ptr<<32 | len of the reply, which the host
// has placed there with reflectory_alloc; the guest frees it.
//
//	http(ptr, len i32) i64              needs network: HTTPRequest → {"response"} or {"error"}
//	service(ptr, len i32) i64           needs host: ServiceRequest → {"response"} or {"error"}
//	log(level, ptr, len i32)            one line of text; level 0 trace … 4 error
//	emit(item, ptr, len i32)            a piece of a generated output, for an item of the batch
//
// It is internal to Reflectory: its API may change in any release.
package abi

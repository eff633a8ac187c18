// Package abi is what a WASM guest and the host agree on: names, numbers and
// messages of ABI version 1. Guests in Go use package guest; others can follow
// this page.
//
// # Reactor
//
// A reactor exports, beside its memory:
//
//	memory                              the linear memory
//	reflectory_abi_version() i32        1
//	reflectory_alloc(size i32) i32      room for a request; 0 where there is none
//	reflectory_call(op, ptr, len i32) i64
//	                                    does one call; returns ptr<<32 | len of the reply
//	reflectory_free(ptr, len i32)       optional: the host has read the reply
//	_initialize()                       optional: run once, before anything else
//
// The request lies where reflectory_alloc said, and belongs to the guest from
// reflectory_call on. The reply must stay where it is until reflectory_free, or
// the next call. A guest is called by one call at a time.
//
//	op  name      request                               reply
//	1   describe  {}                                    {"manifest": Manifest}
//	2   prepare   {"kind", "config": {"digest","json"}} {}
//	3   evaluate  {"config": {"digest"}, "items": […]}  {"results": [{"response"} or {"error"}, …]}
//	4   generate  as evaluate                           as evaluate
//	5   correct   as evaluate                           as evaluate
//
// Any reply may be {"error": {…}} instead: the call failed as a whole. Items,
// responses and the manifest are the contract's own JSON (package sdk); unknown
// fields are ignored. A config is sent by prepare and named by its digest from
// then on. A guest that doesn't know a digest replies with an error of code
// "not_found" and reason "config_unknown", and is sent it again.
//
// # WASI command
//
// A command reads one request from standard input and writes its reply to
// standard output. Its request also has "op", by name, and its config is always
// whole. Standard error goes to the host's log.
//
// # Extism plug-in
//
// A plug-in that imports extism:host/env may export any of describe, evaluate,
// generate and correct: each takes a request, with "op" and a whole config, as
// its input, and gives its reply as output. Exporting evaluate, generate or
// correct makes it that kind of plugin; without describe its manifest is made
// from that. A plug-in with none of them is called by the name that its config's
// "function" holds: see core/plugin/wasm.
//
// # Host functions
//
// A reactor may import these from module "reflectory:host". Those that need a
// capability fail with code "denied" without it. Each takes a message in the
// guest's memory and returns ptr<<32 | len of the reply, which the host has
// placed there by reflectory_alloc; the guest frees it.
//
//	http(ptr, len i32) i64              needs network: HTTPRequest → {"response"} or {"error"}
//	service(ptr, len i32) i64           needs host: ServiceRequest → {"response"} or {"error"}
//	log(level, ptr, len i32)            one line of text; level 0 trace … 4 error
//	emit(item, ptr, len i32)            a piece of a generated output, of an item of the batch
package abi

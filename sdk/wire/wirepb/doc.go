// Package wirepb is generated from plugin.proto, which is the contract for plugins in
// any language. Go programs use it through package wire.
//
// go generate needs protoc 3.21 or newer, protoc-gen-go v1.36.12 and
// protoc-gen-go-grpc v1.6.2 in PATH.
//
// It is internal to Reflectory: its API may change in any release.
package wirepb

//go:generate protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative plugin.proto

// Package guest runs a plugin inside a WASM module, in Go. A reactor, which stays
// loaded from call to call, is
//
//	package main
//
//	import "github.com/reflectory/reflectory/sdk/guest"
//
//	func init() { guest.Register(words.Plugin()) }
//	func main() {} // a reactor has none
//
// built by
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o words.wasm .
//
// Exported functions can't be closures, so the plugin is registered with the package
// once, in an init function. Go runs init functions when the host loads the module, and
// doesn't run main. A command is different: it runs again for each call, starts in
// main, and is built without -buildmode:
//
//	func main() { guest.Command(words.Plugin()) }
//
// A guest has no files and no environment; its clock and its random numbers are the
// same in every call. Its output through log/slog or on standard error goes to the
// host's log. [Fetch] needs the capability network, and the host's services, such as
// [sdk.CacheGet] with a call's context, need the capability host. Their time isn't
// fuel, but counts against the call's deadline.
package guest

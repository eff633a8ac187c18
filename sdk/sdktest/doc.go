// Package sdktest is the conformance kit: it checks that a plugin, in any
// language and over any runtime, keeps the contract of package sdk.
//
// An author of a Go plugin runs it in a test, on the plugin's own fixtures:
//
//	func TestConformance(t *testing.T) {
//		sdktest.Run(t, sdktest.InProcess(plugin()), os.DirFS("."))
//	}
//
// "reflectory plugin test DIR" runs the same cases on a folder with a plugin.yaml, as
// the host will start and call it.
//
// # Fixtures
//
// A fixture is a file tests/NAME.json beside plugin.yaml: a config, a request,
// and what the plugin should make of them. See [Fixture]. The kit also takes
// the configs and requests of the fixtures for the cases that need some, such as
// a batch or a restart.
package sdktest

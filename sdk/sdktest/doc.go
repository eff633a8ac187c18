// Package sdktest is the conformance kit. It checks that a plugin, in any language and
// over any runtime, follows the contract of package sdk.
//
// An author of a Go plugin runs it in a test, on the plugin's own fixtures:
//
//	func TestConformance(t *testing.T) {
//		sdktest.Run(t, sdktest.InProcess(plugin()), os.DirFS("."))
//	}
//
// "reflectory plugin test DIR" runs the same cases on a folder with a plugin.yaml, and
// starts and calls the plugin as the host does.
//
// # Fixtures
//
// A fixture is a file tests/NAME.json next to plugin.yaml: a config, a request, and the
// expected answer. See [Fixture]. The kit also uses the configs and requests of the
// fixtures in other cases, such as a batch or a restart.
package sdktest

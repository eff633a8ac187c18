// Package install manages installed plugins: their packages (plugin.yaml and the files next
// to it), the lock that pins every byte of them together with what they were granted
// (reflectory.lock), and the private copies that are executed. A package runs only as it
// was locked:
//
//	folder ─Add─► copied and hashed ─approved─► reflectory.lock
//	reflectory.lock ─Open─► Set ─Driver.Start─► copied and hashed again ─equal─► that copy is started
//
// It is internal to Reflectory: its API may change in any release.
package install

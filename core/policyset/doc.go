// Package policyset keeps in a store the policies that all of its hosts decide with. Folders
// of files would differ between hosts, and each host would notice changes to its own at
// another moment. So a set is pushed: it is stored under its digest, then named by the one
// key that names the set in force. A transaction in which a policy decides reads that key,
// so that it can't be committed once another set is in force. This depends only on the order
// of commits, not on a clock or a notification.
//
// It is internal to Reflectory: its API may change in any release.
package policyset

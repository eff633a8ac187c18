// Package policyset keeps in a store the policies that all of its hosts decide with. Folders
// of files would differ between hosts, and each host would follow its own at another moment.
// So a set is pushed: stored under its digest, then named by the one key that says which set
// decides. A transaction that decides reads that key, so that it can't be committed once
// another set is in force: the order of commits decides, and no clock or notification.
package policyset

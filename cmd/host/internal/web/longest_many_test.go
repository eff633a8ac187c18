//go:build !surfaces

package web

// many is how many of each thing [longestSite] has: enough for lists of several kinds. With
// browsers there are as many as a page lists.
const many = 6

//go:build surfaces

package web

// many is how many of each thing [longestSite] has: as many as a page lists.
const many = 50

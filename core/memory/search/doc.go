// Package search finds the memories that fit a query, in memory.
//
// # What is held
//
// Each namespace has an index of its own: words, vectors by model, and what recall
// filters and ranks by. It is loaded from the store when a search first needs it,
// or before, in the background; later searches take in what the namespace's stream says
// that changed since, whichever process changed it. Beyond a bound
// of memory the namespaces that weren't used for longest are given up; to be given
// up and not to be loaded yet are one state. The words are of the namespace's
// language; when that changes, its index is made again by the next search.
//
// # How it ranks
//
// Phase one finds candidates: the k1 nearest by vector and the k1 best by BM25,
// fused by reciprocal rank; the first 1½·k1 go on. Of identical contents only the
// most used is a candidate, and nothing that a recallable memory supersedes is one.
// Phase two scores them:
//
//	score = ((1−λ)·fused + λ·q) · boost · max(0.1, 1 − failures/(uses+2))
//
// Candidates whose fused is at least 0.7 of the best one's, and the two with the
// highest in any case, come before all others; within each of the two groups the
// score orders, and the cut to k2 comes last. So what failed once gives way to
// another memory on the same matter, and not to whatever did well elsewhere.
//
// Fused stands for the similarity. It is the weighted mean of two likenesses, both
// in [0,1]: the cosine, and the share of the query's words, weighed by how rare they
// are, that the memory has (its BM25 score over [text.Query.Whole]). The cosine of a
// model that knows meanings counts half; the cosine of hashed pieces of words, which says
// little that the words don't, a fifth (fitted; see the quality test). Where no
// memory has a word of the query it is the cosine alone; where there is no vector
// of the query's model, for all or for one memory, it is the share alone.
//
// Reciprocal ranks choose the candidates but don't score them: they say nothing of
// how well the first fits, so that q would outweigh a perfect match as easily as a
// poor one, and as a score they find less (see the quality test).
package search

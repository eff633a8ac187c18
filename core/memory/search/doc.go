// Package search finds the memories that match a query, in memory.
//
// # What is held
//
// Each namespace has its own index: words, vectors by model, and the fields that
// recall filters and ranks by. It is loaded from the store when a search first needs it,
// or earlier in the background, and then follows the commits. Above a memory limit the
// least recently used namespaces are dropped; a dropped namespace is in the same state as
// one that isn't loaded yet. The words are in the namespace's language; when that
// changes, the next search builds the index again.
//
// # How it ranks
//
// Phase one finds candidates: the k1 nearest by vector and the k1 best by BM25, fused by
// reciprocal rank; the first 1½·k1 are candidates. Of identical contents only the most
// used is a candidate, and nothing that a recallable memory supersedes is one. Phase two
// scores them:
//
//	score = ((1−λ)·fused + λ·q) · boost · max(0.1, 1 − failures/(uses+2))
//
// Candidates whose fused value is at least 0.7 of the best one's, and the two highest in
// any case, come before all others; within each of the two groups the score decides, and
// the cut to k2 comes last. So a memory that failed once is ranked behind another memory
// on the same subject, but not behind any memory that did well elsewhere.
//
// fused measures similarity. It is the weighted mean of two values in [0,1]: the cosine,
// and the share of the query's words, weighted by how rare they are, that the memory has
// (its BM25 score over [text.Query.Whole]). The cosine of a model that knows meanings has
// the weight one half; the cosine of hashed pieces of words, which adds little to the
// words, one fifth (fitted; see the quality test). If no memory has a word of the query,
// fused is the cosine alone; if there is no vector of the query's model, for all or for
// one memory, it is the share alone.
//
// Reciprocal ranks choose the candidates but don't score them: they don't show how well
// the first one matches, so that q would outweigh a perfect match as easily as a poor
// one, and as a score they give worse results (see the quality test).
package search

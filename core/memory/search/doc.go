// Package search finds the memories that match a query, in memory.
//
// # What is held
//
// Each namespace has its own index: words, vectors by model, and the fields that
// recall filters and ranks by. It is loaded from the store when a search first needs it,
// or earlier in the background, and then follows the commits. Above a memory limit the
// least recently used namespaces are dropped; a dropped namespace is in the same state as
// one that isn't loaded yet. What is loaded is kept by a [Keeper] for the next program, and read
// from there if it is of use. The words are in the namespace's language; when that
// changes, the next search builds the index again.
//
// # How it ranks
//
// Phase one finds candidates: the k1 nearest by vector and the k1 best by words, fused by
// reciprocal rank; the first 1½·k1 are candidates. Of identical contents only the most
// used is a candidate, and nothing that a recallable memory supersedes is one. Phase two
// scores them:
//
//	score = ((1−λ)·fused + λ·q) · boost · max(0.1, 1 − failures/(uses+2)) · (0.5 + 0.5·(uses+2)/(offers+2))
//
// Candidates whose fused value is at least 0.65 of the best one's come before all others; if all of
// these keep failing the subject that asks, or it passes them over, the next such group comes with them,
// down to 0.3 of the best one's. Within each of the two groups the score decides, and the cut to k2 comes last. So a memory that
// failed once is ranked behind another memory on the same subject, but not behind any memory that did
// well elsewhere; and one that is worded nearest, but keeps failing, doesn't hide another on its subject.
// The only candidate that helped the subject lately, or one much more similar than the others that did, is
// near from there on too, and its score is a fifth higher: what nobody tried doesn't take its place for
// being worded nearer. Uses, failures, offers and q are of the window, for the subject that asks: see
// [lifecycle.StandingOf]. Others' turns move the score of the memory that they used, but neither what is
// near nor what is left out, so that what one of them reports doesn't change the order of the rest.
//
// fused measures similarity. It is the mean of two values in [0,1]: the cosine of a model that knows
// meanings, and the share of the query's words, weighted by how rare they are, that the memory has
// (its score by words over [text.Query.Whole], or over the best score if that is higher). Hashed pieces
// of words add nothing to the words: their cosine is fused where no memory has a word of the query, and
// otherwise nothing. If there is no vector of the query's model, for all or for one memory, fused is the
// share alone.
//
// # What words can't show
//
// The score by words is BM25, times a factor where the title has a word of the query, where the memory
// is of a period that the query names, and, if the query asks when something was, where the memory says
// when. What one source wrote one after the other lends a share of its score to its neighbours: the
// answer to a question rarely repeats the question's words. Where there are enough memories, the query
// is searched a second time with the words that are typical of the best memories. The numbers were
// fitted on half of LoCoMo, and the quality test measures the other half.
//
// Reciprocal ranks choose the candidates but don't score them: they don't show how well
// the first one matches, so that q would outweigh a perfect match as easily as a poor
// one, and as a score they give worse results (see the quality test).
//
// # How probably it is relevant
//
// Each result has P, a logistic function of how much of the query's words it has, how far that is from
// chance, how the other candidates are, and which names of the query it has. The weights are fitted by make
// calibrate on XQuAD and on conversations that are made; make recall-quality checks them on others.
//
// It is internal to Reflectory: its API may change in any release.
package search

package flowgraph_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/treadle-dev/treadle/internal/flowgraph"
)

type arrow struct {
	from, to int32
	capped   bool
}

func build(n int, arrows []arrow) *flowgraph.Graph {
	g := flowgraph.New(n)
	for _, a := range arrows {
		g.Add(a.from, a.to, a.capped)
	}
	return g
}

func TestWaysThatForkAndMeetPassWhatStandsBeforeTheFork(t *testing.T) {
	t.Parallel()
	// 0 → 1 → {2, 3} → 4 → 1 (capped), 4 → 5; nothing leads to 6
	w := build(7, []arrow{{0, 1, false}, {1, 2, false}, {1, 3, false}, {2, 4, false}, {3, 4, false}, {4, 1, true}, {4, 5, false}, {6, 5, false}}).From(0)
	for _, c := range []struct {
		to        int32
		through   []int32
		some, all bool
	}{
		{5, []int32{1}, true, true},
		{5, []int32{2}, true, false},
		{5, []int32{2, 3}, true, true},
		{5, []int32{6}, false, false},
		{5, nil, false, false},
		{1, []int32{4}, true, false}, // on the way back only
		{0, []int32{1}, false, false},
		{4, []int32{4}, false, false},
		{6, []int32{6, 0}, false, false},
		{3, []int32{2}, true, false},
	} {
		some, all := w.Pass(c.to, c.through)
		assert.Equal(t, []bool{c.some, c.all}, []bool{some, all}, "to %d through %v", c.to, c.through)
	}
	assert.False(t, w.Reach(6))
	assert.Equal(t, -1, w.Place(6))
	assert.Less(t, w.Place(2), w.Place(3), "the first edge's way comes first")
	assert.Less(t, w.Place(3), w.Place(4))
}

func TestACircleIsWhatCanBeWalkedForEver(t *testing.T) {
	t.Parallel()
	g := build(8, []arrow{{0, 1, false}, {1, 0, true}, {2, 3, false}, {3, 4, false}, {4, 2, false}, {5, 5, false}, {6, 6, true}, {7, 2, false}})
	assert.Equal(t, [][]int32{{2, 3, 4}, {5}}, g.Circles())
}

// reaches walks the arrows that are wanted from the end of a first step on.
func reaches(n int, arrows []arrow, from int32, ok func(arrow) bool) []bool {
	seen := make([]bool, n)
	left := []int32{from}
	for len(left) > 0 {
		at := left[0]
		left = left[1:]
		for _, a := range arrows {
			if a.from == at && ok(a) && !seen[a.to] {
				seen[a.to] = true
				left = append(left, a.to)
			}
		}
	}
	return seen
}

func TestAnswersAreThoseOfASimpleSearch(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "n")
		node := rapid.Int32Range(0, int32(n-1))
		arrows := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) arrow {
			return arrow{node.Draw(t, "from"), node.Draw(t, "to"), rapid.Bool().Draw(t, "capped")}
		}), 0, 20).Draw(t, "arrows")
		through := rapid.SliceOfN(node, 0, 3).Draw(t, "through")
		g := build(n, arrows)
		w := g.From(0)
		every := func(arrow) bool { return true }
		reached := reaches(n, arrows, 0, every)
		reached[0] = true
		for to := range int32(n) {
			assert.Equal(t, reached[to], w.Reach(to))
			others := slices.DeleteFunc(slices.Clone(through), func(p int32) bool { return p == to || !reached[p] })
			wantSome := slices.ContainsFunc(others, func(p int32) bool { return reaches(n, arrows, p, every)[to] })
			around := reaches(n, arrows, 0, func(a arrow) bool { return !slices.Contains(others, a.from) })
			var wantBefore []int32
			for _, p := range others {
				if reached[to] && reaches(n, arrows, p, every)[to] {
					wantBefore = append(wantBefore, p)
				}
			}
			assert.ElementsMatch(t, wantBefore, w.Before(to, through), "before %d of %v", to, through)
			some, all := w.Pass(to, through)
			assert.Equal(t, reached[to] && wantSome, some, "to %d through %v", to, through)
			avoids := to == 0 || around[to]
			assert.Equal(t, reached[to] && wantSome && !avoids, all, "to %d through %v", to, through)
		}
		var circling []int32
		for at := range int32(n) {
			if reaches(n, arrows, at, func(a arrow) bool { return !a.capped })[at] {
				circling = append(circling, at)
			}
		}
		found := slices.Concat(g.Circles()...)
		slices.Sort(found)
		assert.Equal(t, circling, found)
	})
}

func BenchmarkFrom(b *testing.B) {
	const n = 10_000
	g := flowgraph.New(n)
	for i := range int32(n - 1) {
		g.Add(i, i+1, false)
	}
	for b.Loop() {
		w := g.From(0)
		w.Pass(n-1, []int32{0})
	}
}

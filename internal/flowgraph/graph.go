// Package flowgraph answers what a plan's control graph is asked before it runs: what
// can be reached, what happens before what, and where a run would never end.
package flowgraph

// Graph is a directed graph over the nodes 0 to n-1. It is not safe for concurrent
// use while edges are added.
type Graph struct {
	next []list // by node
	prev []list
}

type edge struct {
	node   int32
	capped bool
}

// list holds the first edge in place: most nodes have one.
type list struct {
	first edge
	more  []edge
	some  bool
}

func (l *list) add(e edge) {
	if !l.some {
		l.first, l.some = e, true
		return
	}
	l.more = append(l.more, e)
}

func (l *list) len() int {
	if !l.some {
		return 0
	}
	return 1 + len(l.more)
}

func (l *list) at(i int) edge {
	if i == 0 {
		return l.first
	}
	return l.more[i-1]
}

// New returns a graph of n nodes without edges.
func New(n int) *Graph { return &Graph{next: make([]list, n), prev: make([]list, n)} }

// Add adds an edge. A capped edge is walked a limited number of times, so that it ends
// every circle that it is part of.
func (g *Graph) Add(from, to int32, capped bool) {
	g.next[from].add(edge{to, capped})
	g.prev[to].add(edge{from, capped})
}

// Circles returns the nodes of each part of the graph that can be walked for ever: the
// strongly connected components, without the capped edges, that have an edge. The
// nodes of each are in ascending order, the circles by their first node.
func (g *Graph) Circles() [][]int32 {
	t := &tarjan{g: g, index: make([]int32, len(g.next)), low: make([]int32, len(g.next)), on: make([]bool, len(g.next))}
	for node := range g.next {
		if t.index[node] == 0 {
			t.visit(int32(node))
		}
	}
	return t.sorted()
}

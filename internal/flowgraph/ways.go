package flowgraph

import "slices"

// Ways are all ways through a graph from one node, as the graph was then. They are not
// safe for concurrent use.
type Ways struct {
	g     *Graph
	start int32
	order []int32 // the nodes that are reached, each before what follows, but for ways back
	place []int32 // by node: index in order; -1 when nothing leads there
	idom  []int32 // by node: the nearest node that all ways to it pass
	in    []int32 // of the tree of idom: a passes b when in[a] <= in[b] and out[b] <= out[a]
	out   []int32

	stamp int32   // of the present search
	seen  []int32 // by node: the search that came by
	stop  []int32 // by node: the search that it ends
	left  []int32

	// Looked counts the nodes that questions have come by: what they cost, whatever the
	// machine.
	Looked int
}

// From follows every edge from a start.
func (g *Graph) From(start int32) *Ways {
	n := len(g.next)
	numbers := make([]int32, 6*n)
	w := &Ways{
		g: g, start: start, place: numbers[:n], idom: numbers[n : 2*n], in: numbers[2*n : 3*n], out: numbers[3*n : 4*n],
		seen: numbers[4*n : 5*n], stop: numbers[5*n:],
	}
	w.walk()
	w.dominate()
	w.number()
	return w
}

// walk fills order and place.
func (w *Ways) walk() {
	for i := range w.place {
		w.place[i] = -1
	}
	w.order = make([]int32, 0, len(w.place))
	path := []frame{{node: w.start}}
	w.place[w.start] = 0
	for len(path) > 0 {
		top := &path[len(path)-1]
		next := &w.g.next[top.node]
		if top.edge == next.len() {
			w.order = append(w.order, top.node)
			path = path[:len(path)-1]
			continue
		}
		// The last edge first, so that the first one's way comes first in the end.
		to := next.at(next.len() - 1 - top.edge).node
		top.edge++
		if w.place[to] < 0 {
			w.place[to] = 0
			path = append(path, frame{node: to})
		}
	}
	slices.Reverse(w.order)
	for i, node := range w.order {
		w.place[node] = int32(i)
	}
}

// dominate fills idom, as Cooper, Harvey and Kennedy describe it in "A Simple, Fast
// Dominance Algorithm".
func (w *Ways) dominate() {
	for i := range w.idom {
		w.idom[i] = -1
	}
	w.idom[w.start] = w.start
	for changed := true; changed; {
		changed = false
		for _, node := range w.order[1:] {
			if idom := w.meet(node); idom != w.idom[node] {
				w.idom[node], changed = idom, true
			}
		}
	}
}

// meet is the nearest node that the ways to all that is known to lead to a node share.
func (w *Ways) meet(node int32) int32 {
	idom := int32(-1)
	prev := &w.g.prev[node]
	for i := range prev.len() {
		from := prev.at(i).node
		switch {
		case w.place[from] < 0 || w.idom[from] < 0:
		case idom < 0:
			idom = from
		default:
			for from != idom {
				for w.place[from] > w.place[idom] {
					from = w.idom[from]
				}
				for w.place[idom] > w.place[from] {
					idom = w.idom[idom]
				}
			}
		}
	}
	return idom
}

// number fills in and out: a walk through the tree of idom enters a node before, and
// leaves it after, all that stands below it.
func (w *Ways) number() {
	n := len(w.idom)
	numbers := make([]int32, 2*n)
	child, sibling := numbers[:n], numbers[n:] // the first below a node, and the next beside one; 0 is none, else one more
	for _, node := range slices.Backward(w.order[1:]) {
		above := w.idom[node]
		sibling[node], child[above] = child[above], node+1
	}
	clock := int32(1)
	w.in[w.start] = clock
	for node := w.start; ; {
		if below := child[node] - 1; below >= 0 {
			child[node] = sibling[below]
			clock++
			w.in[below] = clock
			node = below
			continue
		}
		w.out[node] = clock
		if node == w.start {
			return
		}
		node = w.idom[node]
	}
}

// Reach reports whether a way leads to a node.
func (w *Ways) Reach(node int32) bool { return w.place[node] >= 0 }

// Place orders the nodes: one that comes before another on some way has the lower
// place, unless a way also leads back. It is -1 where no way leads.
func (w *Ways) Place(node int32) int { return int(w.place[node]) }

// Dominates reports whether every way to a node passes another one first. No node
// dominates itself, nor one that no way leads to.
func (w *Ways) Dominates(node, to int32) bool {
	return node != to && w.Reach(node) && w.Reach(to) && w.in[node] <= w.in[to] && w.out[to] <= w.out[node]
}

// Pass tells how the ways from the start to a node pass others before they arrive:
// whether one of the ways passes one of them, and whether all ways do. The node itself
// does not count as one of them. A node that no way leads to is passed by none.
func (w *Ways) Pass(to int32, through []int32) (some, all bool) {
	if !w.Reach(to) {
		return false, false
	}
	w.Looked += len(through)
	for _, node := range through {
		if w.Dominates(node, to) {
			return true, true
		}
	}
	w.stamp++
	for _, node := range through {
		if node != to && w.Reach(node) {
			w.stop[node] = w.stamp
		}
	}
	all = true
	w.back(to, func(node int32) bool {
		if w.stop[node] == w.stamp {
			some = true
			return false
		}
		return true
	}, func() { all = false })
	return some, all && some
}

// Before returns those of some nodes that a way to a node passes before it arrives, in
// their order. The node itself is none of them.
func (w *Ways) Before(to int32, nodes []int32) []int32 {
	if !w.Reach(to) {
		return nil
	}
	w.Looked += len(nodes)
	all := true
	for _, node := range nodes {
		all = all && w.Dominates(node, to)
	}
	if all {
		return nodes
	}
	w.stamp++
	w.back(to, func(int32) bool { return true }, func() {})
	var before []int32
	for _, node := range nodes {
		if node != to && w.Reach(node) && w.seen[node] == w.stamp {
			before = append(before, node)
		}
	}
	return before
}

// back walks from a node against the edges. It does not go on from a node for which
// enter says no, and says when it has come to the start.
func (w *Ways) back(to int32, enter func(int32) bool, atStart func()) {
	w.seen[to] = w.stamp
	w.left = append(w.left[:0], to)
	for len(w.left) > 0 {
		node := w.left[len(w.left)-1]
		w.left = w.left[:len(w.left)-1]
		w.Looked++
		if node == w.start {
			atStart()
		}
		prev := &w.g.prev[node]
		for i := range prev.len() {
			from := prev.at(i).node
			if !w.Reach(from) || w.seen[from] == w.stamp {
				continue
			}
			w.seen[from] = w.stamp
			if enter(from) {
				w.left = append(w.left, from)
			}
		}
	}
}

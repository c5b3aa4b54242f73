package workflow

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/treadle-dev/treadle/internal/flowgraph"
)

// checkGraph looks at the nodes that all steps were lowered to: what never runs, what
// never ends, and what runs before what. The entries are the first nodes of the steps.
func (c *compiler) checkGraph(entries []int32) {
	g := c.program.graph()
	c.checkCircles(g)
	ways := g.From(c.program.start)
	for _, producers := range c.producers { // inputs share them, and want the latest last
		slices.SortStableFunc(producers, func(a, b int32) int { return cmp.Compare(ways.Place(entries[a]), ways.Place(entries[b])) })
	}
	for i, s := range c.program.steps {
		if !ways.Reach(entries[i]) {
			c.report(codeStepUnreachable, s.pointer, fmt.Sprintf("no way leads to step %q", s.id), "")
			continue
		}
		c.checkInputs(s, ways, entries)
		c.checkOverwriting(s, ways, entries)
	}
	c.looked = ways.Looked
}

// graph is how control may move from node to node.
func (p *Program) graph() *flowgraph.Graph {
	g := flowgraph.New(len(p.nodes))
	for at, n := range p.nodes {
		if n.kind != nodeEnd {
			g.Add(int32(at), n.next, false)
		}
	}
	return g
}

// checkCircles reports the ways back of every part of the plan that would run for ever.
func (c *compiler) checkCircles(g *flowgraph.Graph) {
	for _, circle := range g.Circles() {
		inside := map[int32]bool{}
		for _, at := range circle {
			inside[c.program.nodes[at].step] = true
		}
		told := false
		for _, at := range circle {
			s := c.program.steps[c.program.nodes[at].step]
			if s.next >= 0 && s.next <= s.index && inside[s.next] {
				told = true
				c.report(codeNextEndless, s.pointer+"/next_step_id", fmt.Sprintf("going back to %q always leads here again, so the run would never end", c.program.steps[s.next].id), "")
			}
		}
		if !told {
			s := c.program.steps[c.program.nodes[circle[0]].step]
			c.report(codeNextEndless, s.pointer, fmt.Sprintf("step %q leads to itself, so the run would never end", s.id), "")
		}
	}
}

// checkInputs asks of every input whether a producer runs before the step, on every way
// or only on some, and leaves the producers that may have run, in their order.
func (c *compiler) checkInputs(s *compiledStep, ways *flowgraph.Ways, entries []int32) {
	for i := range s.inputs {
		in := &s.inputs[i]
		if len(in.producers) == 0 {
			continue
		}
		at, producers := entries[s.index], nodesOf(in.producers, entries)
		pointer := dependencyPointer(s, in.place)
		switch some, all := ways.Pass(at, producers); {
		case !some:
			c.report(codeDependencyOrder, pointer, fmt.Sprintf("%q is produced by step %q, which does not run before this one", in.name, c.program.steps[in.producers[0]].id), "")
		case !all:
			c.report(codeDependencyPartial, pointer, fmt.Sprintf("only some of the ways to this step produce %q", in.name), "")
		}
		if before := ways.Before(at, producers); len(before) < len(in.producers) {
			in.producers = make([]int32, len(before)) // the list is shared
			for i, node := range before {
				in.producers[i] = c.program.nodes[node].step
			}
		}
	}
}

// checkOverwriting reports outputs of a name that a step before it, on some way, has
// declared too.
func (c *compiler) checkOverwriting(s *compiledStep, ways *flowgraph.Ways, entries []int32) {
	for _, output := range s.Base().ContextOutput {
		producers := c.producers[output]
		if len(producers) < 2 {
			continue
		}
		if before, _ := ways.Pass(entries[s.index], nodesOf(producers, entries)); before {
			c.report(codeOutputShared, s.pointer+"/context_output", fmt.Sprintf("a step before this one declares an output %q too", output), "")
		}
	}
}

func nodesOf(steps, entries []int32) []int32 {
	nodes := make([]int32, len(steps))
	for i, step := range steps {
		nodes[i] = entries[step]
	}
	return nodes
}

package workflow

import "errors"

// Lowering builds the nodes of one step. A [StepType] gets one in Lower.
type Lowering struct {
	program *Program
	step    int32
	// entry is the first node of the step; open are nodes whose next is whatever
	// follows the step.
	entry int32
	open  []int32
	err   error
}

// lower lets the step's type declare its nodes. What a host's code does with a step
// that it does not expect ends here.
func (l *Lowering) lower(s *compiledStep) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &panicError{value}
		}
	}()
	if s.typ.Lower == nil {
		l.Exec()
	} else if err := s.typ.Lower(l, s.Step); err != nil {
		return err
	}
	if l.err == nil && l.entry < 0 {
		return errors.New("its Lower added no node")
	}
	return l.err
}

// Exec adds a node that runs the step type's Execute, after the nodes added
// before it.
func (l *Lowering) Exec() {
	if l.program.steps[l.step].typ.Execute == nil {
		l.err = errors.New("the step type has no Execute, so no node can run it")
	}
	at := int32(len(l.program.nodes))
	l.program.nodes = append(l.program.nodes, node{kind: nodeExec, step: l.step})
	if l.entry < 0 {
		l.entry = at
	}
	l.close(at)
	l.open = append(l.open, at)
}

// close lets the open nodes lead to at.
func (l *Lowering) close(at int32) {
	for _, from := range l.open {
		l.program.nodes[from].next = at
	}
	l.open = l.open[:0]
}

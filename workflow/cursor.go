package workflow

// State is where a run stands: its live tokens and its counters, no more. It is
// never stored; it is the fold of the outcome records in journal order. It is
// not safe for concurrent use.
type State struct {
	tokens    []token
	free      []int32
	live      int
	visits    []int32 // by step: visits begun
	published []int32 // by step: the visit whose outputs are in the execution folder; 0 is none
	archives  int32
	started   bool
	finished  bool
}

type token struct {
	node int32
	gen  uint32 // of the slot, so that an old TokenID never means a new token
	live bool
	// failed tokens stand where they failed until the run is taken up again.
	failed bool
}

// TokenID names one thread of control.
type TokenID struct {
	slot int32
	gen  uint32
}

// EventKind says what happened.
type EventKind uint8

// What [Program.Next] is told.
const (
	// EventStart begins the run.
	EventStart EventKind = iota + 1
	// EventCompleted says that the leaf of a token completed.
	EventCompleted
	// EventFailed says that the leaf of a token failed.
	EventFailed
	// EventRetry takes a failed token up again, in the same visit.
	EventRetry
	// EventRedo takes a failed token up again in a new visit.
	EventRedo
	// EventLost says that what a step published is gone: control goes back there.
	EventLost
)

// Event is one thing that happened.
type Event struct {
	Kind  EventKind
	Token TokenID
	// Published says, of an EventCompleted, that the visit has outputs.
	Published bool
	// Step is of an EventLost: the index of the step in the plan.
	Step int
}

// CommandKind says what is to be done.
type CommandKind uint8

// What [Program.Next] asks for.
const (
	// CommandRun starts a visit of a leaf.
	CommandRun CommandKind = iota + 1
	// CommandPublish moves the work folder of a visit to the step's execution folder.
	CommandPublish
	// CommandArchive moves the step's execution folder to archive number Archive.
	CommandArchive
	// CommandFinish ends the run: Failed says how.
	CommandFinish
)

// Command is one thing to do. Commands are done in order.
type Command struct {
	Kind    CommandKind
	Token   TokenID
	Step    int // index of the step in the plan
	Visit   int // from 1
	Archive int // from 1
	Failed  bool
}

// NewState returns the state of a run that has not started.
func (p *Program) NewState() *State {
	counters := make([]int32, 2*len(p.steps))
	return &State{visits: counters[:len(p.steps)], published: counters[len(p.steps):]}
}

// Next folds an event into the state and appends what is to be done to out. It is
// deterministic: it knows no clock, disk, network or map order. An event of a
// token that is not live changes nothing, nor does taking up one that has not
// failed.
func (p *Program) Next(s *State, ev Event, out []Command) []Command {
	if s.finished && ev.Kind != EventLost {
		return out
	}
	switch ev.Kind {
	case EventStart:
		if s.started {
			return out
		}
		s.started = true
		return p.enter(s, p.start, out)
	case EventLost:
		if ev.Step < 0 || ev.Step >= len(p.steps) {
			return out
		}
		return p.goBack(s, int32(ev.Step), out)
	}
	t := s.token(ev.Token)
	if t == nil {
		return out
	}
	n := p.nodes[t.node]
	if takesUp := ev.Kind == EventRetry || ev.Kind == EventRedo; takesUp != t.failed {
		return out
	}
	switch ev.Kind {
	case EventCompleted:
		s.release(ev.Token)
		out = s.publish(n.step, ev.Published, out)
		return p.enter(s, n.next, out)
	case EventFailed:
		t.failed = true
		return append(out, Command{Kind: CommandFinish, Failed: true})
	case EventRetry:
		t.failed = false
		return append(out, Command{Kind: CommandRun, Token: ev.Token, Step: int(n.step), Visit: int(s.visits[n.step])})
	case EventRedo:
		t.failed = false
		return append(out, s.visit(n.step, ev.Token))
	}
	return out
}

// enter puts a token on a node.
func (p *Program) enter(s *State, at int32, out []Command) []Command {
	n := p.nodes[at]
	if n.kind == nodeEnd {
		if s.live == 0 {
			s.finished = true
			out = append(out, Command{Kind: CommandFinish})
		}
		return out
	}
	return append(out, s.visit(n.step, s.acquire(at)))
}

// goBack takes every token from where it is and starts again at the step.
func (p *Program) goBack(s *State, step int32, out []Command) []Command {
	for slot := range s.tokens {
		if s.tokens[slot].live {
			s.release(TokenID{slot: int32(slot), gen: s.tokens[slot].gen})
		}
	}
	s.finished = false
	for at, n := range p.nodes {
		if n.kind == nodeExec && n.step == step {
			return p.enter(s, int32(at), out)
		}
	}
	return out
}

// visit begins a visit of a step.
func (s *State) visit(step int32, id TokenID) Command {
	s.visits[step]++
	return Command{Kind: CommandRun, Token: id, Step: int(step), Visit: int(s.visits[step])}
}

// publish makes the outputs of the present visit, if it has any, the step's
// outputs, after the former ones are out of the way.
func (s *State) publish(step int32, outputs bool, out []Command) []Command {
	if s.published[step] != 0 {
		s.archives++
		s.published[step] = 0
		out = append(out, Command{Kind: CommandArchive, Step: int(step), Archive: int(s.archives)})
	}
	if !outputs {
		return out
	}
	s.published[step] = s.visits[step]
	return append(out, Command{Kind: CommandPublish, Step: int(step), Visit: int(s.visits[step])})
}

func (s *State) acquire(at int32) TokenID {
	s.live++
	if n := len(s.free); n > 0 {
		slot := s.free[n-1]
		s.free = s.free[:n-1]
		s.tokens[slot] = token{node: at, gen: s.tokens[slot].gen + 1, live: true}
		return TokenID{slot: slot, gen: s.tokens[slot].gen}
	}
	s.tokens = append(s.tokens, token{node: at, gen: 1, live: true})
	return TokenID{slot: int32(len(s.tokens) - 1), gen: 1}
}

func (s *State) token(id TokenID) *token {
	if int(id.slot) >= len(s.tokens) {
		return nil
	}
	if t := &s.tokens[id.slot]; t.live && t.gen == id.gen {
		return t
	}
	return nil
}

func (s *State) release(id TokenID) {
	s.tokens[id.slot].live = false
	s.live--
	s.free = append(s.free, id.slot)
}

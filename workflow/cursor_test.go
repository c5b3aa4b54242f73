package workflow_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/treadle-dev/treadle/workflow"
)

func kinds(commands []workflow.Command) []workflow.CommandKind {
	var list []workflow.CommandKind
	for _, c := range commands {
		list = append(list, c.Kind)
	}
	return list
}

func TestTheCursorWalksAChain(t *testing.T) {
	t.Parallel()
	p := compiled(t, chain(2, "noop"))
	s := p.NewState()
	first := p.Next(s, workflow.Event{Kind: workflow.EventStart}, nil)
	assert.Equal(t, []workflow.CommandKind{workflow.CommandRun}, kinds(first))
	second := p.Next(s, workflow.Event{Kind: workflow.EventCompleted, Published: true, Token: first[0].Token}, nil)
	assert.Equal(t, []workflow.CommandKind{workflow.CommandPublish, workflow.CommandRun}, kinds(second))
	assert.Empty(t, p.Next(s, workflow.Event{Kind: workflow.EventCompleted, Published: true, Token: first[0].Token}, nil), "a token that is gone moved control")
	third := p.Next(s, workflow.Event{Kind: workflow.EventCompleted, Published: true, Token: second[1].Token}, nil)
	assert.Equal(t, []workflow.CommandKind{workflow.CommandPublish, workflow.CommandFinish}, kinds(third))
	assert.False(t, third[1].Failed)
	assert.Empty(t, p.Next(s, workflow.Event{Kind: workflow.EventStart}, nil), "a finished run started again")
}

func TestAFailedTokenIsTakenUpInTheSameOrANewVisit(t *testing.T) {
	t.Parallel()
	p := compiled(t, chain(1, "noop"))
	s := p.NewState()
	run := p.Next(s, workflow.Event{Kind: workflow.EventStart}, nil)[0]
	failed := p.Next(s, workflow.Event{Kind: workflow.EventFailed, Token: run.Token}, nil)
	assert.True(t, failed[0].Failed)
	retry := p.Next(s, workflow.Event{Kind: workflow.EventRetry, Token: run.Token}, nil)
	assert.Equal(t, 1, retry[0].Visit)
	p.Next(s, workflow.Event{Kind: workflow.EventFailed, Token: run.Token}, nil)
	redo := p.Next(s, workflow.Event{Kind: workflow.EventRedo, Token: run.Token}, nil)
	assert.Equal(t, 2, redo[0].Visit)
}

func TestLostOutputsTakeControlBackAndArchiveWhatIsReplaced(t *testing.T) {
	t.Parallel()
	p := compiled(t, chain(3, "noop"))
	s := p.NewState()
	out := p.Next(s, workflow.Event{Kind: workflow.EventStart}, nil)
	for range 2 {
		out = p.Next(s, workflow.Event{Kind: workflow.EventCompleted, Published: true, Token: out[len(out)-1].Token}, nil)
	}
	back := p.Next(s, workflow.Event{Kind: workflow.EventLost, Step: 0}, nil)
	assert.Equal(t, []workflow.Command{{Kind: workflow.CommandRun, Token: back[0].Token, Step: 0, Visit: 2}}, back)
	again := p.Next(s, workflow.Event{Kind: workflow.EventCompleted, Published: true, Token: back[0].Token}, nil)
	assert.Equal(t, []workflow.CommandKind{workflow.CommandArchive, workflow.CommandPublish, workflow.CommandRun}, kinds(again))
	assert.Equal(t, 1, again[0].Archive)
}

func TestAVisitWithoutOutputsPublishesNothing(t *testing.T) {
	t.Parallel()
	p := compiled(t, chain(2, "noop"))
	s := p.NewState()
	run := p.Next(s, workflow.Event{Kind: workflow.EventStart}, nil)[0]
	assert.Empty(t, p.Next(s, workflow.Event{Kind: workflow.EventStart}, nil), "a second start")
	next := p.Next(s, workflow.Event{Kind: workflow.EventCompleted, Token: run.Token}, nil)
	assert.Equal(t, []workflow.CommandKind{workflow.CommandRun}, kinds(next))
	assert.Empty(t, p.Next(s, workflow.Event{Kind: workflow.EventLost, Step: 2}, nil), "a step that there is not")
}

func TestTheCursorIsDeterministicAndNeverPanics(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "steps")
		p := compiled(&quiet{TB: nil}, chain(n, "noop"))
		a, b := p.NewState(), p.NewState()
		tokens := []workflow.TokenID{{}}
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			ev := workflow.Event{
				Kind:  workflow.EventKind(rapid.IntRange(0, 7).Draw(t, "kind")),
				Token: rapid.SampledFrom(tokens).Draw(t, "token"),
				Step:  rapid.IntRange(-1, n).Draw(t, "step"),

				Published: rapid.Bool().Draw(t, "published"),
			}
			one, two := p.Next(a, ev, nil), p.Next(b, ev, nil)
			if len(one) != len(two) {
				t.Fatalf("%v and %v", one, two)
			}
			for i := range one {
				if one[i] != two[i] {
					t.Fatalf("%v and %v", one, two)
				}
				if one[i].Kind == workflow.CommandRun {
					tokens = append(tokens, one[i].Token)
				}
			}
		}
	})
}

// quiet lets a helper that wants a testing.TB run inside a rapid check.
type quiet struct{ testing.TB }

func (*quiet) Helper() {}

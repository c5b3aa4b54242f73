package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

// greetStep is a step type of a host with a field of its own.
type greetStep struct {
	workflow.StepBase
	Whom string `json:"whom"`
}

func hostPlan(stepType, fields string) string {
	return `{"steps":[{"id":"h","type":"` + stepType + `"` + fields + `}]}`
}

func TestAHostsStepReadsItsFieldsAndPublishesItsFiles(t *testing.T) {
	t.Parallel()
	greet := &workflow.StepType{
		Name: "greet",
		New:  func() workflow.Step { return &greetStep{} },
		Execute: func(sc *workflow.StepContext) (*workflow.Outcome, error) {
			dir, err := sc.WorkDir()
			if err != nil {
				return nil, err
			}
			text := "Hello " + sc.Step().(*greetStep).Whom + " from " + sc.Variables()["CITY"]
			err = sc.Workspace().Storage().WriteFile(sc.Context(), dir+"/hello/world.txt", []byte(text), workspace.Lazy)
			return &workflow.Outcome{Result: json.RawMessage(`{"greeted":true}`)}, err
		},
	}
	b := setup(t, workflow.Config{StepTypes: []*workflow.StepType{greet}}, hostPlan("greet", `,"whom":"Ada"`),
		workspace.VariablesFile, `{"variables":[{"name":"CITY","value":"London"}]}`)
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.NoError(t, err)
	assert.Equal(t, "Hello Ada from London", b.read(t, "runs/iteration-1/execution/h/hello/world.txt"))
	assert.Contains(t, b.read(t, "runs/iteration-1/journal.jsonl"), `"result":{"greeted":true},"published":true,"artifacts":[{"name":"hello/world.txt","size":21,`)
}

func TestDoneWorkOfAHostsStepIsNotDoneAgain(t *testing.T) {
	t.Parallel()
	counts := map[string]int{}
	fail := true
	work := &workflow.StepType{Name: "work", Execute: func(sc *workflow.StepContext) (*workflow.Outcome, error) {
		sum, err := workflow.Do(sc, "add", agent.Unsafe, []int{1, 2}, func(_ context.Context, in []int) (int, error) {
			counts["add"]++
			return in[0] + in[1], nil
		})
		if err != nil {
			return nil, err
		}
		text, err := workflow.Do(sc, "render", agent.Idempotent, sum, func(context.Context, int) (string, error) {
			counts["render"]++
			if fail {
				return "", errors.New("printer on fire")
			}
			return "three", nil
		})
		assert.Equal(t, 3, sum)
		if err == nil {
			assert.Equal(t, "three", text)
		}
		return nil, err
	}}
	b := setup(t, workflow.Config{StepTypes: []*workflow.StepType{work}}, hostPlan("work", ""))
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.ErrorContains(t, err, "render: printer on fire")
	fail = false
	_, err = b.ctl.Run(t.Context(), b.ws, resume("iteration-1"))
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"add": 1, "render": 2}, counts)
}

func TestUnsafeWorkThatAnInterruptionCutOffIsNotRepeated(t *testing.T) {
	t.Parallel()
	charges := 0
	work := &workflow.StepType{Name: "work", Execute: func(sc *workflow.StepContext) (*workflow.Outcome, error) {
		_, err := workflow.Do(sc, "charge", agent.Unsafe, "card", func(context.Context, string) (string, error) {
			charges++
			return "", errors.New("connection lost after sending")
		})
		return nil, err
	}}
	b := setup(t, workflow.Config{StepTypes: []*workflow.StepType{work}}, hostPlan("work", ""))
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.ErrorContains(t, err, "connection lost")
	_, err = b.ctl.Run(t.Context(), b.ws, resume("iteration-1"))
	require.ErrorIs(t, err, workflow.ErrInDoubt)
	assert.Equal(t, 1, charges)
}

func TestAPanicInAHostsStepFailsTheRunAndNothingElse(t *testing.T) {
	t.Parallel()
	panics := true
	step := &workflow.StepType{Name: "bad", Execute: func(*workflow.StepContext) (*workflow.Outcome, error) {
		if panics {
			panic("index out of range")
		}
		return nil, nil
	}}
	b := setup(t, workflow.Config{StepTypes: []*workflow.StepType{step}}, hostPlan("bad", ""))
	result, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.ErrorContains(t, err, "panic: index out of range")
	assert.Equal(t, workflow.StatusFailed, result.Status)
	panics = false
	_, err = b.ctl.Run(t.Context(), b.ws, resume("iteration-1"))
	require.NoError(t, err)
}

func TestStepTypesThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	execute := func(*workflow.StepContext) (*workflow.Outcome, error) { return nil, nil }
	for name, types := range map[string][]*workflow.StepType{
		"no name":           {{Execute: execute}},
		"a name twice":      {{Name: "x", Execute: execute}, {Name: "x", Execute: execute}},
		"a built-in's name": {{Name: "regular", Execute: execute}},
		"nothing to do":     {{Name: "x"}},
	} {
		_, err := workflow.NewController(workflow.Config{StepTypes: types})
		require.Error(t, err, name)
		_, ds := workflow.Compile(&workflow.Source{Plan: chain(1, "regular")}, &workflow.CompileOptions{StepTypes: types})
		require.Error(t, ds.Err(), name)
		assert.Equal(t, "plan.types", ds[0].Code, name)
	}
	for name, lower := range map[string]func(*workflow.Lowering, workflow.Step) error{
		"adds no node":            func(*workflow.Lowering, workflow.Step) error { return nil },
		"adds a node nobody runs": func(l *workflow.Lowering, _ workflow.Step) error { l.Exec(); return nil },
		"fails":                   func(*workflow.Lowering, workflow.Step) error { return errors.New("no") },
		"panics":                  func(*workflow.Lowering, workflow.Step) error { panic("no") },
	} {
		_, ds := workflow.Compile(&workflow.Source{Plan: chain(1, "x")}, &workflow.CompileOptions{
			StepTypes: []*workflow.StepType{{Name: "x", Lower: lower}},
		})
		require.Error(t, ds.Err(), name)
		assert.Equal(t, "plan.step.lower", ds[0].Code, name)
	}
}

func TestAStepTypeMayLowerToSeveralVisitsOfNodes(t *testing.T) {
	t.Parallel()
	var visits []int
	twice := &workflow.StepType{
		Name: "twice",
		Lower: func(l *workflow.Lowering, _ workflow.Step) error {
			l.Exec()
			l.Exec()
			return nil
		},
		Execute: func(sc *workflow.StepContext) (*workflow.Outcome, error) {
			visits = append(visits, sc.Visit())
			return nil, nil
		},
	}
	b := setup(t, workflow.Config{StepTypes: []*workflow.StepType{twice}}, hostPlan("twice", ""))
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.NoError(t, err)
	assert.Equal(t, []int{1, 2}, visits)
}

func TestAnOutcomeThatIsNoJSONIsRefused(t *testing.T) {
	t.Parallel()
	step := &workflow.StepType{Name: "x", Execute: func(*workflow.StepContext) (*workflow.Outcome, error) {
		return &workflow.Outcome{Result: json.RawMessage("{")}, nil
	}}
	b := setup(t, workflow.Config{StepTypes: []*workflow.StepType{step}}, hostPlan("x", ""))
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.ErrorContains(t, err, "not valid JSON")
}

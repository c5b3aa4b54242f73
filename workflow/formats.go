package workflow

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/internal/journal"
)

// StepTypes are the built-in step types and a host's own, by name. The error is the one
// that [Compile] reports of them: one is nil, without a name, or called like another.
func StepTypes(extra ...*StepType) ([]*StepType, error) {
	types, err := newTypeRegistry(extra)
	if err != nil {
		return nil, err
	}
	byName := func(a, b *StepType) int { return cmp.Compare(a.Name, b.Name) }
	return slices.SortedFunc(maps.Values(types), byName), nil
}

// RecordForm says what some records of a run's journal hold. It is for those who read
// journals in other languages.
type RecordForm struct {
	// Kind is the kind of the records, Key a regular expression for their keys; an empty
	// one matches all keys of the kind that no other form matches.
	Kind, Key string
	// About says what the records are.
	About string
	// Data is the type that their data is the JSON of; nil is a record without data.
	Data reflect.Type
}

// RecordForms are the forms of the records that have one. The kinds "result" and "note"
// are also those of what hosts record in steps of their own, under other keys.
func RecordForms() []RecordForm {
	const attempt = `^[^/]+/visit/[^/]+/attempt/[^/]+/`
	const turn = attempt + `(verdict/[^/]*/)?turn/[^/]*/`
	return []RecordForm{
		{Kind: string(recordRun), About: "What the run was started with.", Data: reflect.TypeFor[runRecord]()},
		{Kind: string(recordStarted), About: "A visit of a step began.", Data: reflect.TypeFor[began]()},
		{Kind: string(recordOutcome), About: "A visit of a step completed.", Data: reflect.TypeFor[outcomeRecord]()},
		{Kind: string(recordFailure), About: "A visit of a step failed.", Data: reflect.TypeFor[failureRecord]()},
		{Kind: string(recordReopen), About: "A step is taken up again.", Data: reflect.TypeFor[reopenRecord]()},
		{Kind: string(recordEnd), About: "The run stopped, finished or not.", Data: reflect.TypeFor[endRecord]()},
		{Kind: string(journal.KindResult), Key: turn + `(condense/)?reply$`, About: "A model's reply.", Data: reflect.TypeFor[agent.Reply]()},
		{Kind: string(journal.KindResult), Key: turn + `tool/`, About: "The result of a tool call.", Data: reflect.TypeFor[agent.ToolRecord]()},
		{Kind: string(journal.KindNote), Key: turn + `failed/`, About: "A model call that gave no reply.", Data: reflect.TypeFor[agent.FailedTry]()},
		{Kind: string(journal.KindNote), Key: attempt + `validation$`, About: "What the validation of an attempt found.", Data: reflect.TypeFor[checked]()},
		{Kind: string(journal.KindNote), Key: `^[^/]+/visit/[^/]+/given$`, About: "What the agent of a visit was told and may call.", Data: reflect.TypeFor[given]()},
	}
}

package workflow

import "github.com/treadle-dev/treadle/manifest"

// regularManifest describes what a regular step has in the plan. What its agent may use
// stands in the step configuration and is the same for all types.
func regularManifest() *manifest.Manifest {
	return &manifest.Manifest{
		Type:       "regular",
		Version:    1,
		Label:      "Agent step",
		Summary:    "An agent works on a task with its tools until the outputs pass their checks.",
		Use:        "One well-bounded piece of work with files as its result. Calls a model in every visit, in up to three attempts.",
		Category:   manifest.CategoryAI,
		CallsModel: manifest.CallsModelAlways,
		Guide: []string{
			"Describe the result and its form, not the way there.",
			"Name the output file in context_output and check it in validation_schema.",
			"List what the agent has to read in context_dependencies.",
		},
		Flow: &manifest.Flow{Kind: manifest.FlowNext},
		Sentence: []manifest.Segment{
			{Text: "{description}"},
			{Text: ", with {context_dependencies}", When: &manifest.Condition{Set: "context_dependencies"}},
			{Text: ", into {context_output}", When: &manifest.Condition{Set: "context_output"}},
			{Text: ", then goes to {next_step_id}", When: &manifest.Condition{Set: "next_step_id"}},
		},
		Settings: regularSettings(),
	}
}

func regularSettings() []manifest.Setting {
	return []manifest.Setting{
		{
			Key: "title", Label: "Title", Widget: manifest.WidgetText, Level: manifest.LevelSetup,
			Tip: "What the step is called in lists and prompts, such as Collect invoices. Default: the id.",
		},
		{
			Key: "description", Label: "Task", Widget: manifest.WidgetPrompt, Level: manifest.LevelSetup,
			Tip: "What the agent is told to do. {{NAME}} stands for a variable of the workflow.",
		},
		{
			Key: "context_dependencies", Label: "Inputs", Widget: manifest.WidgetList, Level: manifest.LevelOption,
			Tip: "Outputs of earlier steps by file name, step/file, or paths in the workspace. Each must be there, or the step fails. Default: none.",
		},
		{
			Key: "context_output", Label: "Output files", Widget: manifest.WidgetList, Level: manifest.LevelOption,
			Tip:   "Files that the step must produce, such as result.json. Later steps name them as inputs. Default: none.",
			Empty: "the step need not produce a file",
		},
		{
			Key: "validation_schema", Label: "Checks", Widget: manifest.WidgetJSON, Level: manifest.LevelOption,
			Tip:   "What the outputs and the database must satisfy for the step to succeed: files, db, or the text none. Default: no checks.",
			Empty: "only the output files have to exist",
		},
		{
			Key: "next_step_id", Label: "Next step", Widget: manifest.WidgetText, Level: manifest.LevelAdvanced,
			Tip: "The id of the step that follows, or end. Default: the next step of the plan.",
		},
	}
}

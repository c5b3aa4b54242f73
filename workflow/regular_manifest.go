package workflow

import "github.com/treadle-dev/treadle/manifest"

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
	}
}

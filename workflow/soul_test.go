package workflow_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

func TestSectionsOfTheSoul(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text string
		want       workflow.Soul
	}{
		{
			"as they are written", "# Invoices\n\nIntro.\n\n## Objective\n\nPay them.\n\nAll.\n\n## Success Criteria\n- none is late\n\n## Constraints\nNo card.\n\n## Notes\nno part\n",
			workflow.Soul{Objective: "Pay them.\n\nAll.", SuccessCriteria: "- none is late", Constraints: "No card."},
		},
		{
			"in any case, with trailing signs", "## OBJECTIVE ##\na\n##  success   criteria#\nb\n ## **Constraints:**\nc",
			workflow.Soul{Objective: "a", SuccessCriteria: "b", Constraints: "c"},
		},
		{
			"with a byte order mark and line ends of Windows", "\ufeff## Objective\r\na\r\nb\r\n## Success Criteria\r\nc\r\n",
			workflow.Soul{Objective: "a\nb", SuccessCriteria: "c"},
		},
		{
			"headings in code are code", "## Objective\na\n```md\n## Success Criteria\nx\n```\n~~~~\n## Constraints\n~~~\n~~~~\n## Success Criteria\nb\n",
			workflow.Soul{Objective: "a\n```md\n## Success Criteria\nx\n```\n~~~~\n## Constraints\n~~~\n~~~~", SuccessCriteria: "b"},
		},
		{
			"deeper headings are text, higher ones end a section", "## Objective\n### Part\na\n#no heading\n# Other\nx\n## Success Criteria\nb",
			workflow.Soul{Objective: "### Part\na\n#no heading", SuccessCriteria: "b"},
		},
		{
			"code within a line opens no block", "## Objective\n```a``` b\n## Success Criteria\nb",
			workflow.Soul{Objective: "```a``` b", SuccessCriteria: "b"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			soul, ds, err := workflow.ReadSoul(t.Context(), holding(t, workspace.SoulFile, tc.text))
			require.NoError(t, err)
			assert.Empty(t, ds)
			assert.Equal(t, &tc.want, soul)
		})
	}
}

func TestFindingsInTheSoul(t *testing.T) {
	t.Parallel()
	const whole = "## Objective\na\n## Success Criteria\nb\n"
	checkFindings(t, workspace.SoulFile, []findingCase{
		{"nothing", whole, nil},
		{"an empty file", "", []string{"notice soul.section.missing", "notice soul.section.missing"}},
		{"a section that is not there", "## Objective\na", []string{"notice soul.section.missing"}},
		{"a section without text", "## Objective\n\n## Success Criteria\n<!-- say when\nit is done -->\n## Constraints\n", []string{
			"notice soul.section.empty", "notice soul.section.empty", "notice soul.section.empty",
		}},
		{"a section twice", whole + "## Objective\nmore", []string{"notice soul.section.duplicate"}},
		{"no UTF-8", "## Objective\n\xff\n## Success Criteria\nb\n", []string{"notice soul.encoding"}},
		{"code that does not end", "## Objective\n```\n## Success Criteria\nb\n", []string{"notice soul.fence.open", "notice soul.section.missing"}},
	})
	ds := findingsOf(t, workspace.SoulFile, "## Objective\n\n```\n")
	assert.Equal(t, 3, ds[0].Line)
	soul, _, err := workflow.ReadSoul(t.Context(), holding(t, workspace.SoulFile, whole+"## Objective\nmore"))
	require.NoError(t, err)
	assert.Equal(t, "a\nmore", soul.Objective)
}

func TestPlansOfTheOlderFormSayWhatTheyAreFor(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, soul, plan string
		want             workflow.Soul
		found            []string
	}{
		{"neither says it", "", `{"steps":[]}`, workflow.Soul{}, []string{"notice soul.missing"}},
		{"the plan alone", "", `{"objective":" a ","success_criteria":["b","c"]}`, workflow.Soul{Objective: "a", SuccessCriteria: "- b\n- c"}, []string{"notice soul.legacy /objective", "notice soul.legacy /success_criteria"}},
		{"the soul comes first", "## Objective\nsoul", `{"objective":"plan","success_criteria":"b"}`, workflow.Soul{Objective: "soul", SuccessCriteria: "b"}, []string{"notice soul.legacy /success_criteria", "notice soul.section.missing"}},
		{"a form that is no text", "", `{"objective":{"x":1}}`, workflow.Soul{}, []string{"notice soul.legacy.type /objective", "notice soul.missing"}},
		{"a plan that is no JSON", "", `{`, workflow.Soul{}, []string{"notice soul.missing"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			files := []string{workspace.PlanFile, tc.plan}
			if tc.soul != "" {
				files = append(files, workspace.SoulFile, tc.soul)
			}
			soul, ds, err := workflow.ReadSoul(t.Context(), holding(t, files...))
			require.NoError(t, err)
			assert.Equal(t, &tc.want, soul)
			assert.Equal(t, tc.found, found(ds))
		})
	}
}

func TestCompilingTellsWhatTheSoulLacks(t *testing.T) {
	t.Parallel()
	src := plan(`{"steps":[{"id":"a","type":"regular"}]}`)
	src.Soul = []byte("## Objective\na")
	_, ds := workflow.Compile(&src, nil)
	assert.Equal(t, []string{"notice soul.section.missing"}, found(ds))
}

func FuzzSoul(f *testing.F) {
	f.Add([]byte("## Objective\na\n```\n## Success Criteria\n"), []byte(`{"objective":"x"}`))
	f.Add([]byte("\ufeff## constraints ##\r\n~~~x\n"), []byte(`{`))
	f.Fuzz(func(t *testing.T, text, plan []byte) {
		ws := holding(t, workspace.SoulFile, string(text), workspace.PlanFile, string(plan))
		soul, ds, err := workflow.ReadSoul(t.Context(), ws)
		if err != nil || soul == nil || ds.HasErrors() {
			t.Fatalf("%v %v %v", soul, ds, err)
		}
	})
}

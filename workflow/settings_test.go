package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

// wholeSettings has every field of workflow.json.
const wholeSettings = `{
  "schema_version": 1,
  "version": "1.0.35",
  "id": "invoices",
  "label": "Invoices",
  "created_at": "2026-08-01T10:00:00Z",
  "updated_at": "2026-08-02T10:00:00Z",
  "ownership": {"employee_id": "e-1"},
  "schedules": [
    {"id": "daily", "name": "Daily", "description": "every working day", "schedule_type": "cron", "cron_expression": "0 9 * * 1-5", "timezone": "Europe/Oslo",
     "enabled": true, "group_names": ["north"], "mode": "workshop", "messages": ["go"], "workshop_mode": "run", "query": "",
     "resume_previous": false, "direct_messages_reason": "", "route_selections": {"route": "a"}, "pulse_mode": "basic",
     "trigger_payload": {"any": [1]}},
    {"id": "days", "schedule_type": "calendar", "calendar_items": [
      {"id": "i", "date": "2026-12-24", "time": "08:30", "description": "d", "trigger_payload": null, "messages": []}]}
  ],
  "run_retention_count": 7,
  "capabilities": {
    "selected_servers": ["files"], "selected_tools": ["files:*"], "selected_skills": [], "selected_secrets": ["KEY"],
    "selected_global_secret_names": null, "browser_mode": "cdp", "cdp_ports": [9222], "use_code_execution_mode": false,
    "llm_config": {"schema_version": 2, "mode": "explicit", "provider": "p",
      "builder_llm": {"model_id": "b"}, "maintenance_llm": {"model_id": "m"}, "pulse_llm": {"model_id": "p"},
      "tiered_config": {"tier_1": {"model_id": "1"}, "tier_2": {"model_id": "2"}, "tier_3": {"model_id": "3"}}},
    "notifications": {"slack_webhook_secret_name": "HOOK", "run_summary_instructions": "r", "pulse_summary_instructions": "p",
      "run_summary_channels": ["slack"], "pulse_summary_channels": [], "exclude_channels": ["email"], "block_recipients": ["x"]}
  },
  "execution_defaults": {"always_use_same_run": false, "disable_learning": false, "global_skill_objective": "g",
    "disable_parallel_tool_execution": true, "execution_max_turns": 50, "max_parallel_steps": 2,
    "enabled_custom_tools": ["human_tools:*"], "workshop_mode": "run"},
  "oversight_mode": "manual",
  "decision_log_mutability": "append_only",
  "pulse": {"enabled": true},
  "backup": {"enabled": true, "mode": "agent", "triggers": {"after_scheduled_run": true, "after_manual_run": false},
    "destinations": [{"id": "d", "type": "git", "provider": "p", "repo": "r", "branch": "b", "bucket": "", "prefix": "",
      "covers": ["runs"], "secret_refs": ["S"], "notes": "n"}]},
  "publish": {"enabled": false, "mode": "m", "targets": [], "dashboard_mode": "snapshot", "url": "u", "triggers": {},
    "destinations": [{"id": "d", "provider": "p", "method": "cli", "site": "s", "secret_name": "S", "visibility": "v",
      "public_base_url": "b", "url": "u", "covers": []}]}
}
`

func TestFindingsInSettings(t *testing.T) {
	t.Parallel()
	checkFindings(t, workspace.SettingsFile, []findingCase{
		{"every field is known", wholeSettings, nil},
		{"an empty object is fine", `{}`, nil},
		{"an empty file", ``, []string{"error settings.json.syntax"}},
		{"no JSON", "{\n\"id\": oops}", []string{"error settings.json.syntax"}},
		{"more than one value", `{} {}`, []string{"error settings.json.syntax"}},
		{"a list", `[]`, []string{"error settings.json.type"}},
		{"null", `null`, []string{"error settings.json.type"}},
		{"an id that is a number", `{"id": 7}`, []string{"error settings.json.type /id"}},
		{"capabilities that are a list", `{"capabilities": []}`, []string{"error settings.json.type /capabilities"}},
		{"servers that are no texts", `{"capabilities": {"selected_servers": [1]}}`, []string{"error settings.json.type /capabilities/selected_servers"}},
		{"a tier that is a text", `{"capabilities": {"llm_config": {"tiered_config": {"tier_1": "gpt"}}}}`, []string{"error stepconfig.field.type /capabilities/llm_config/tiered_config/tier_1"}},
		{"turns as a text", `{"execution_defaults": {"execution_max_turns": "9"}}`, []string{"error settings.json.type /execution_defaults/execution_max_turns"}},
		{"a port that is null", `{"capabilities": {"cdp_ports": [null]}}`, []string{"error settings.json.type /capabilities/cdp_ports"}},
		{"an unknown key of a model", `{"capabilities": {"llm_config": {"builder_llm": {"model": "m"}}}}`, []string{"notice stepconfig.key.unknown /capabilities/llm_config/builder_llm/model"}},
		{"unknown keys at every level", `{"x": 1, "capabilities": {"y": 1}, "backup": {"destinations": [{"a/b": 1}]}}`, []string{
			"notice settings.key.unknown /x", "notice settings.key.unknown /capabilities/y", "notice settings.key.unknown /backup/destinations/0/a~1b",
		}},
		{"a key twice", `{"id": "a", "id": "b"}`, []string{"notice settings.key.duplicate /id"}},
		{"a backup that is a text", `{"backup": "yes"}`, []string{"notice settings.block.malformed /backup"}},
		{"a value deep in a backup", `{"backup": {"destinations": [{"covers": "all"}]}}`, []string{"notice settings.block.malformed /backup/destinations/0/covers"}},
		{"a destination that is null", `{"publish": {"destinations": [null]}}`, []string{"notice settings.block.malformed /publish/destinations/0"}},
		{"notifications of a wrong form", `{"capabilities": {"notifications": {"exclude_channels": true}}}`, []string{"notice settings.block.malformed /capabilities/notifications/exclude_channels"}},
		{"an owner that is a number", `{"ownership": {"employee_id": 5}}`, []string{"notice settings.block.malformed /ownership/employee_id"}},
		{"schedules that are an object", `{"schedules": {}}`, []string{"notice settings.block.malformed /schedules"}},
		{"blocks that are null", `{"backup": null, "publish": null, "pulse": null, "schedules": null, "ownership": null}`, nil},
		{"an unknown type of backup", `{"backup": {"destinations": [{"type": "tape"}]}}`, []string{"notice settings.block.value /backup/destinations/0/type"}},
		{"an unknown way to publish", `{"publish": {"destinations": [{"method": "fax"}]}}`, []string{"notice settings.block.value /publish/destinations/0/method"}},
		{"an unknown oversight", `{"oversight_mode": "none"}`, []string{"error settings.value.unknown /oversight_mode"}},
		{"an unknown mutability", `{"decision_log_mutability": "free"}`, []string{"error settings.value.unknown /decision_log_mutability"}},
		{"an unknown browser", `{"capabilities": {"browser_mode": "lynx"}}`, []string{"error settings.value.unknown /capabilities/browser_mode"}},
		{"an unknown mode of models", `{"capabilities": {"llm_config": {"mode": "x"}}}`, []string{"error settings.value.unknown /capabilities/llm_config/mode"}},
		{"an unknown mode of work", `{"execution_defaults": {"workshop_mode": "x"}}`, []string{"error settings.value.unknown /execution_defaults/workshop_mode"}},
		{"no run kept", `{"run_retention_count": 0}`, []string{"error settings.value.range /run_retention_count"}},
		{"51 runs kept", `{"run_retention_count": 51}`, []string{"error settings.value.range /run_retention_count"}},
		{"no turns", `{"execution_defaults": {"execution_max_turns": 0}}`, []string{"error settings.value.range /execution_defaults/execution_max_turns"}},
		{"no steps side by side", `{"execution_defaults": {"max_parallel_steps": -1}}`, []string{"error settings.value.range /execution_defaults/max_parallel_steps"}},
		{"five ports", `{"capabilities": {"cdp_ports": [1, 2, 3, 4, 5]}}`, []string{"error settings.value.range /capabilities/cdp_ports"}},
		{"no port", `{"capabilities": {"cdp_ports": [70000]}}`, []string{"error settings.value.range /capabilities/cdp_ports/0"}},
		{"a later form", `{"schema_version": 2}`, []string{"error settings.schema_version.unknown /schema_version"}},
		{"a later form of models", `{"capabilities": {"llm_config": {"schema_version": 3}}}`, []string{"error settings.schema_version.unknown /capabilities/llm_config/schema_version"}},
		{"an older form of models", `{"capabilities": {"llm_config": {"schema_version": 1}}}`, []string{"notice settings.llm_config.legacy /capabilities/llm_config/schema_version"}},
		{"older keys", `{"post_run_monitor": true, "execution_defaults": {"run_mode": "use_same_run", "workshop_mode": "runner"},
			"schedules": [{"id": "a", "cron_expression": "0 0 * * *", "group_ids": ["g"], "workshop_mode": "ask"}]}`, []string{
			"notice settings.key.legacy /post_run_monitor", "notice settings.key.legacy /execution_defaults/run_mode",
			"notice settings.key.legacy /execution_defaults/workshop_mode", "notice settings.key.legacy /schedules/0/group_ids",
			"notice settings.key.legacy /schedules/0/workshop_mode",
		}},
		{"an unknown mode of runs", `{"execution_defaults": {"run_mode": "sometimes"}}`, []string{"error settings.value.unknown /execution_defaults/run_mode"}},
		{"a monitor of an unknown form", `{"post_run_monitor": ["x"]}`, []string{"notice settings.block.malformed /post_run_monitor"}},
		{"a schedule that never comes", `{"schedules": [{"id": "a"}]}`, []string{"notice settings.schedule.invalid /schedules/0/cron_expression"}},
		{"a cron expression of numbers that there are not", `{"schedules": [{"id": "a", "cron_expression": "61 * * * *"}, {"id": "b", "cron_expression": "* * * * MON-FRY"}, {"id": "c", "cron_expression": "*/0 * * * *"}]}`, []string{
			"notice settings.schedule.time /schedules/0/cron_expression", "notice settings.schedule.time /schedules/1/cron_expression",
			"notice settings.schedule.time /schedules/2/cron_expression",
		}},
		{"a day that never comes", `{"schedules": [{"id": "a", "cron_expression": "0 0 30 2 *"}, {"id": "leap", "cron_expression": "0 0 29 2 *"}]}`, []string{"notice settings.schedule.time /schedules/0/cron_expression"}},
		{"forms of cron that the format does not have", `{"schedules": [{"id": "a", "cron_expression": "TZ=UTC 0 9 * *"}, {"id": "b", "cron_expression": "@every 1h 2 3 4"}, {"id": "c", "cron_expression": "TZ=0"}]}`, []string{
			"notice settings.schedule.time /schedules/0/cron_expression", "notice settings.schedule.time /schedules/1/cron_expression",
			"notice settings.schedule.invalid /schedules/2/cron_expression",
		}},
		{"expressions that are right", `{"schedules": [{"id": "a", "cron_expression": "*/15 8-18 1,15 JAN-jun mon-FRI", "timezone": "Europe/Oslo"}, {"id": "b", "cron_expression": "0 0 * * ?", "timezone": "UTC"}]}`, nil},
		{"a time zone that there is not", `{"schedules": [{"id": "a", "cron_expression": "* * * * *", "timezone": "Europe/Olso"}, {"id": "b", "schedule_type": "calendar", "calendar_items": [{"date": "2026-12-24"}], "timezone": "Local"}]}`, []string{
			"notice settings.schedule.time /schedules/0/timezone", "notice settings.schedule.time /schedules/1/timezone",
		}},
		{"a schedule without an id", `{"schedules": [{"cron_expression": "* * * * *"}]}`, []string{"notice settings.schedule.invalid /schedules/0/id"}},
		{"two schedules of one id", `{"schedules": [{"id": "a", "cron_expression": "* * * * *"}, {"id": "a", "cron_expression": "* * * * *"}]}`, []string{"notice settings.schedule.invalid /schedules/1/id"}},
		{"a schedule that is a text", `{"schedules": ["daily"]}`, []string{"notice settings.schedule.invalid /schedules/0"}},
		{"a schedule with wrong values", `{"schedules": [{"id": "a", "schedule_type": "calendar", "enabled": "yes", "pulse_mode": "x",
			"calendar_items": [{"date": "24.12."}, {"date": "2026-12-24", "time": "8"}]}]}`, []string{
			"notice settings.schedule.invalid /schedules/0/enabled", "notice settings.schedule.invalid /schedules/0/calendar_items/0/date",
			"notice settings.schedule.invalid /schedules/0/calendar_items/1/time", "notice settings.schedule.invalid /schedules/0/pulse_mode",
		}},
		{"a calendar without days", `{"schedules": [{"id": "a", "schedule_type": "calendar"}]}`, []string{"notice settings.schedule.invalid /schedules/0/calendar_items"}},
		{"a route that is a number", `{"schedules": [{"id": "a", "cron_expression": "* * * * *", "route_selections": {"r": 1}}]}`, []string{"notice settings.schedule.invalid /schedules/0/route_selections"}},
	})
}

func TestASyntaxErrorInSettingsHasItsPlace(t *testing.T) {
	t.Parallel()
	ds := findingsOf(t, workspace.SettingsFile, "{\n\"id\": oops}")
	assert.Contains(t, ds[0].Message, "line 2, column 7")
}

func TestSettingsThatAreNotThereAreSilent(t *testing.T) {
	t.Parallel()
	settings, ds, err := workflow.ReadSettings(t.Context(), holding(t))
	require.NoError(t, err)
	assert.Empty(t, ds)
	assert.Equal(t, &workflow.Settings{}, settings)
	settings, ds, err = workflow.ReadSettings(t.Context(), holding(t, workspace.SettingsFile, "[]"))
	require.NoError(t, err)
	assert.True(t, ds.HasErrors())
	assert.Nil(t, settings)
}

func TestAbsentNullEmptyAndZeroStayFourThings(t *testing.T) {
	t.Parallel()
	read := func(text string) *workflow.Settings {
		settings, _, err := workflow.ReadSettings(t.Context(), holding(t, workspace.SettingsFile, text))
		require.NoError(t, err)
		return settings
	}
	assert.Nil(t, read(`{}`).Capabilities.SelectedGlobalSecretNames)
	assert.Nil(t, read(`{"capabilities": {"selected_global_secret_names": null}}`).Capabilities.SelectedGlobalSecretNames, "null is all")
	none := read(`{"capabilities": {"selected_global_secret_names": []}}`).Capabilities.SelectedGlobalSecretNames
	assert.NotNil(t, none)
	assert.Empty(t, none)
	for _, text := range []string{
		`{}`, `{"label":null}`, `{"label":""}`, `{"run_retention_count":0}`, `{"run_retention_count":null}`,
		`{"capabilities":{}}`, `{"capabilities":null}`, `{"backup":{}}`, `{"backup":{"enabled":false}}`, `{"backup":{"triggers":{}}}`,
		`{"schedules":[]}`, `{"schedules":[{}]}`, `{"capabilities":{"selected_global_secret_names":null}}`,
		`{"capabilities":{"selected_servers":[]}}`, `{"capabilities":{"llm_config":{"tiered_config":{}}}}`,
	} {
		data, err := read(text).MarshalJSON()
		require.NoError(t, err)
		assert.Equal(t, text, string(data))
	}
}

func TestAMalformedBlockIsIgnoredWholeAndSurvivesASave(t *testing.T) {
	t.Parallel()
	ws := holding(t, workspace.SettingsFile, `{
	"backup": {"enabled": true, "destinations": [{"id": "d", "covers": 7.50}], "extra": "\u00e9"},
	"schedules": "never",
	"label": "old"}`)
	settings, _, err := workflow.ReadSettings(t.Context(), ws)
	require.NoError(t, err)
	assert.Nil(t, settings.Backup, "half a backup is none")
	changes, err := workflow.EditSettings(t.Context(), ws, func(s *workflow.Settings) error {
		s.Label = "new"
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, []workflow.FieldChange{{Pointer: "/label", Before: json.RawMessage(`"old"`), After: json.RawMessage(`"new"`)}}, changes)
	assert.Equal(t, `{
  "backup": {
    "enabled": true,
    "destinations": [
      {
        "id": "d",
        "covers": 7.50
      }
    ],
    "extra": "\u00e9"
  },
  "schedules": "never",
  "label": "new"
}
`, contentOf(t, ws, workspace.SettingsFile))
	_, err = workflow.EditSettings(t.Context(), ws, func(s *workflow.Settings) error {
		s.Backup = &workflow.Backup{Mode: "agent"}
		return nil
	})
	require.NoError(t, err)
	assert.Contains(t, contentOf(t, ws, workspace.SettingsFile), `"backup": {
    "mode": "agent"
  }`, "what is put in its place takes it")
}

func TestOlderSettingsAreReadAndWrittenInTheirPresentFormWithTheNextSave(t *testing.T) {
	t.Parallel()
	const old = `{"post_run_monitor":{"enabled":true,"depth":2},"execution_defaults":{"run_mode":"create_new_runs_always","workshop_mode":"builder"},"schedules":[{"id":"a","cron_expression":"0 0 * * *","group_ids":["g"]}]}`
	ws := holding(t, workspace.SettingsFile, old)
	settings, ds, err := workflow.ReadSettings(t.Context(), ws)
	require.NoError(t, err)
	require.False(t, ds.HasErrors())
	assert.True(t, *settings.Pulse.Enabled)
	assert.False(t, *settings.ExecutionDefaults.AlwaysUseSameRun)
	assert.Equal(t, "workshop", settings.ExecutionDefaults.WorkshopMode)
	assert.Equal(t, []string{"g"}, settings.Schedules[0].GroupNames)

	changes, err := workflow.EditSettings(t.Context(), ws, func(*workflow.Settings) error { return nil })
	require.NoError(t, err)
	assert.Empty(t, changes)
	assert.Equal(t, old, contentOf(t, ws, workspace.SettingsFile), "a form alone is no reason to write")

	_, err = workflow.EditSettings(t.Context(), ws, func(s *workflow.Settings) error {
		s.ID = "x"
		return nil
	})
	require.NoError(t, err)
	assert.JSONEq(t, `{"pulse":{"enabled":true,"depth":2},"execution_defaults":{"always_use_same_run":false,"workshop_mode":"workshop"},
		"schedules":[{"id":"a","cron_expression":"0 0 * * *","group_names":["g"]}],"id":"x"}`, contentOf(t, ws, workspace.SettingsFile))
}

func TestAnEditThatIsRefusedWritesNothing(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, tc := range []struct {
		name, text string
		edit       func(*workflow.Settings) error
		code       string
	}{
		{"the edit fails", `{"id":"a"}`, func(*workflow.Settings) error { return boom }, ""},
		{"the file is no JSON", `{"id":`, func(*workflow.Settings) error { panic("not reached") }, "settings.json.syntax"},
		{"the file is no object", `[]`, func(*workflow.Settings) error { panic("not reached") }, "settings.json.type"},
		{"the result is faulty", `{"id":"a"}`, func(s *workflow.Settings) error {
			s.OversightMode = "none"
			return nil
		}, "settings.value.unknown"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			ws := holding(t, workspace.SettingsFile, tc.text)
			changes, err := workflow.EditSettings(t.Context(), ws, tc.edit)
			assert.Empty(t, changes)
			var ds workspace.Diagnostics
			if tc.code == "" {
				require.ErrorIs(t, err, boom)
			} else {
				require.ErrorAs(t, err, &ds)
				assert.Equal(t, tc.code, ds[0].Code)
			}
			assert.Equal(t, tc.text, contentOf(t, ws, workspace.SettingsFile))
		})
	}
	t.Run("a fault that was there is no reason", func(t *testing.T) {
		t.Parallel()
		ws := holding(t, workspace.SettingsFile, `{"run_retention_count": 99}`)
		_, err := workflow.EditSettings(t.Context(), ws, func(s *workflow.Settings) error {
			s.Label = "x"
			return nil
		})
		require.NoError(t, err)
		assert.Contains(t, contentOf(t, ws, workspace.SettingsFile), "99")
	})
}

func TestEditsOfOneFileDoNotLoseEachOther(t *testing.T) {
	t.Parallel()
	ws := holding(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			_, err := workflow.EditSettings(context.WithoutCancel(t.Context()), ws, func(s *workflow.Settings) error {
				s.Capabilities.SelectedSecrets = append(s.Capabilities.SelectedSecrets, "K")
				return nil
			})
			assert.NoError(t, err)
		})
	}
	all.Wait()
	settings, _, err := workflow.ReadSettings(t.Context(), ws)
	require.NoError(t, err)
	assert.Len(t, settings.Capabilities.SelectedSecrets, 8)
}

func TestAnEditGivesUpWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	ws := holding(t)
	lock, err := ws.Storage().TryLock(t.Context(), workspace.SettingsFile+".lock", "another editor")
	require.NoError(t, err)
	defer lock.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = workflow.EditSettings(ctx, ws, func(*workflow.Settings) error { return nil })
	require.ErrorIs(t, err, context.Canceled)
}

func TestAScheduleWithAFaultIsNotValid(t *testing.T) {
	t.Parallel()
	settings, _, err := workflow.ReadSettings(t.Context(), holding(t, workspace.SettingsFile, `{"schedules": [
		{"id": "a", "cron_expression": "* * * * *"}, {"id": "b", "cron_expression": "@daily"}, {"id": "c", "cron_expression": "* * * * *", "enabled": 1}]}`))
	require.NoError(t, err)
	require.Len(t, settings.Schedules, 3)
	assert.True(t, settings.Schedules[0].Valid())
	assert.False(t, settings.Schedules[1].Valid())
	assert.False(t, settings.Schedules[2].Valid())
}

func TestSchedulesNameGroupsThatThereAre(t *testing.T) {
	t.Parallel()
	src := plan(`{"steps":[{"id":"a","type":"regular"}]}`)
	src.Variables = []byte(`{"groups": [{"name": "north"}]}`)
	src.Settings = []byte(`{"schedules": [{"id": "a", "cron_expression": "* * * * *"}, {"id": "b", "cron_expression": "* * * * *", "group_names": ["north", "east"]}]}`)
	_, ds := workflow.Compile(&src, nil)
	assert.Equal(t, []string{"notice settings.schedule.groups /schedules/0/group_names", "notice settings.schedule.groups /schedules/1/group_names/1"}, found(ds))
}

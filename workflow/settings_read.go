package workflow

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/treadle-dev/treadle/internal/openjson"
	"github.com/treadle-dev/treadle/workspace"
)

// ReadSettings reads workflow.json with everything that is wrong with it. A file that
// does not exist gives the zero value. Settings are nil only when nothing could be read
// from the file: it is no JSON, or no object. The error is the storage's.
func ReadSettings(ctx context.Context, ws *workspace.Workspace) (*Settings, workspace.Diagnostics, error) {
	data, err := readIfExists(ctx, ws.Storage(), workspace.SettingsFile)
	if err != nil {
		return nil, nil, err
	}
	settings, ds := decodeSettings(data)
	ds.Locate(workspace.SettingsFile, data)
	return settings, ds, nil
}

// parseSettings is never nil.
func parseSettings(data []byte) (*Settings, workspace.Diagnostics) {
	settings, ds := decodeSettings(data)
	if settings == nil {
		settings = &Settings{}
	}
	return settings, ds
}

func decodeSettings(data []byte) (*Settings, workspace.Diagnostics) {
	s := &Settings{}
	if data == nil {
		return s, nil
	}
	r := &settingsReader{findings: findings{file: workspace.SettingsFile, table: settingsCodes}, settings: s}
	if !r.decode(data, s, codeSettingsJSON, codeSettingsType) {
		return nil, r.found
	}
	codes := faultCodes{codeSettingsType, codeSettingsKeyUnknown, codeSettingsKeyDuplicate}
	r.objects("", s, codes, r.wrongType)
	r.migrate()
	r.words()
	r.numbers()
	r.models()
	r.schedules()
	r.blocks()
	return s, r.found
}

type settingsReader struct {
	findings
	settings *Settings
}

// optionalBlock is a new block of an optional key; nil for other keys.
func optionalBlock(owner openObject, key string) openObject {
	switch owner.(type) {
	case *Settings:
		switch key {
		case "ownership":
			return &Ownership{}
		case "pulse":
			return &Pulse{}
		case "backup":
			return &Backup{}
		case "publish":
			return &Publish{}
		}
	case *Capabilities:
		if key == "notifications" {
			return &Notifications{}
		}
	}
	return nil
}

// wrongType reports a value of a wrong type: in an optional block it is a notice with
// the place inside, in a schedule a notice, in what runs use an error.
func (r *settingsReader) wrongType(at string, owner openObject, fault openjson.Fault) {
	message := fmt.Sprintf("must be %s, is %s", fault.Wants, fault.Found)
	if block := optionalBlock(owner, fault.Key); block != nil {
		raw := owner.members().Kept(fault.Key)
		_ = block.members().Decode(raw, block) // the text is valid JSON
		codes := faultCodes{codeSettingsBlock, codeSettingsKeyUnknown, codeSettingsKeyDuplicate}
		r.objects(at, block, codes, nil)
		return
	}
	switch owner.(type) {
	case *Schedule, *CalendarItem:
		r.add(codeSettingsSchedule, at, message, "")
		return
	case *Settings:
		if fault.Key == "schedules" {
			r.add(codeSettingsBlock, at, message, "")
			return
		}
	}
	r.add(codeSettingsType, at, message, "")
}

// migrate turns older forms into present ones.
func (r *settingsReader) migrate() {
	s := r.settings
	if s.PostRunMonitor != nil {
		r.migrateMonitor()
	}
	defaults := &s.ExecutionDefaults
	if defaults.RunMode != "" {
		r.migrateRunMode()
	}
	if mode := presentMode(defaults.WorkshopMode); mode != defaults.WorkshopMode {
		r.add(codeSettingsKeyLegacy, "/execution_defaults/workshop_mode", fmt.Sprintf("the mode %q is called %q now", defaults.WorkshopMode, mode), "")
		defaults.WorkshopMode = mode
	}
	for i := range s.Schedules {
		schedule, at := &s.Schedules[i], "/schedules/"+strconv.Itoa(i)
		if schedule.GroupIDs != nil {
			r.add(codeSettingsKeyLegacy, at+"/group_ids", "group_ids is the older form of group_names", "")
			if schedule.GroupNames == nil {
				schedule.GroupNames = schedule.GroupIDs
			}
			schedule.GroupIDs = nil
		}
		if mode := presentMode(schedule.WorkshopMode); mode != schedule.WorkshopMode {
			r.add(codeSettingsKeyLegacy, at+"/workshop_mode", fmt.Sprintf("the mode %q is called %q now", schedule.WorkshopMode, mode), "")
			schedule.WorkshopMode = mode
		}
	}
}

// presentMode is the present name of a mode of work on a workflow.
func presentMode(mode string) string {
	switch mode {
	case "builder", "optimizer", "reporting":
		return "workshop"
	case "ask", "runner", "debugger":
		return "run"
	}
	return mode
}

// migrateMonitor takes post_run_monitor for pulse: it is true or false, or an object
// like it.
func (r *settingsReader) migrateMonitor() {
	const at = "/post_run_monitor"
	s := r.settings
	pulse := &Pulse{}
	if json.Unmarshal(s.PostRunMonitor, &pulse.Enabled) != nil && pulse.UnmarshalJSON(s.PostRunMonitor) != nil {
		r.add(codeSettingsBlock, at, "must be true or false, or an object with enabled, is "+openjson.KindOf(s.PostRunMonitor), "")
		return
	}
	r.add(codeSettingsKeyLegacy, at, "post_run_monitor is the older form of pulse", "")
	if s.Pulse == nil && s.rest.Kept("pulse") == nil {
		s.Pulse = pulse
	}
	s.PostRunMonitor = nil
}

func (r *settingsReader) migrateRunMode() {
	const at = "/execution_defaults/run_mode"
	d := &r.settings.ExecutionDefaults
	if !slices.Contains([]string{"use_same_run", "create_new_runs_always"}, d.RunMode) {
		r.add(codeSettingsValueUnknown, at, fmt.Sprintf("unknown value %q", openjson.Excerpt(d.RunMode, 60)), "set always_use_same_run to true or false instead")
		return
	}
	r.add(codeSettingsKeyLegacy, at, "run_mode is the older form of always_use_same_run", "")
	if same := d.RunMode == "use_same_run"; d.AlwaysUseSameRun == nil {
		d.AlwaysUseSameRun = &same
	}
	d.RunMode = ""
}

// words checks the settings that take one of a few words.
func (r *settingsReader) words() {
	s := r.settings
	for _, word := range []struct {
		pointer, value string
		allowed        []string
	}{
		{"/oversight_mode", s.OversightMode, []string{OversightManual, OversightSupervised, OversightAutonomous}},
		{"/decision_log_mutability", s.DecisionLogMutability, []string{"append_only", "append_only_strict"}},
		{"/capabilities/browser_mode", s.Capabilities.BrowserMode, []string{"none", "auto", "headless", "cdp"}},
		{"/capabilities/llm_config/mode", s.Capabilities.LLMConfig.Mode, []string{"provider_profile", "explicit"}},
		{"/execution_defaults/workshop_mode", s.ExecutionDefaults.WorkshopMode, []string{"workshop", "run"}},
	} {
		r.word(codeSettingsValueUnknown, word.pointer, word.value, word.allowed)
	}
}

func (r *settingsReader) word(code, pointer, value string, allowed []string) {
	if value != "" && !slices.Contains(allowed, value) {
		r.add(code, pointer, fmt.Sprintf("unknown value %q", openjson.Excerpt(value, 60)), "use one of "+strings.Join(allowed, ", "))
	}
}

func (r *settingsReader) numbers() {
	s := r.settings
	for _, number := range []struct {
		pointer string
		value   *int
		most    int // 0 is no limit
	}{
		{"/run_retention_count", s.RunRetentionCount, 50},
		{"/execution_defaults/execution_max_turns", s.ExecutionDefaults.ExecutionMaxTurns, 0},
		{"/execution_defaults/max_parallel_steps", s.ExecutionDefaults.MaxParallelSteps, 0},
	} {
		switch {
		case number.value == nil:
		case *number.value < 1:
			r.add(codeSettingsValueRange, number.pointer, fmt.Sprintf("is %d, must be at least 1", *number.value), "")
		case number.most > 0 && *number.value > number.most:
			r.add(codeSettingsValueRange, number.pointer, fmt.Sprintf("is %d, must be at most %d", *number.value, number.most), "")
		}
	}
	const ports = "/capabilities/cdp_ports"
	if n := len(s.Capabilities.CDPPorts); n > 4 {
		r.add(codeSettingsValueRange, ports, fmt.Sprintf("has %d ports, must have at most 4", n), "remove some")
	}
	for i, port := range s.Capabilities.CDPPorts {
		if port < 1 || port > 65535 {
			r.add(codeSettingsValueRange, ports+"/"+strconv.Itoa(i), fmt.Sprintf("%d is no port", port), "use 1 to 65535")
		}
	}
}

// models checks the versions of what is read.
func (r *settingsReader) models() {
	if v := r.settings.SchemaVersion; v != nil && *v != SettingsSchemaVersion {
		r.add(codeSettingsSchemaVersion, "/schema_version", fmt.Sprintf("is %d, known is %d", *v, SettingsSchemaVersion), "")
	}
	const at = "/capabilities/llm_config/schema_version"
	switch v := r.settings.Capabilities.LLMConfig.SchemaVersion; {
	case v == nil || *v == 2:
	case *v == 1:
		r.add(codeSettingsModelsLegacy, at, "llm_config has schema_version 1", "")
	default:
		r.add(codeSettingsSchemaVersion, at, fmt.Sprintf("is %d, known is 2", *v), "")
	}
}

func (r *settingsReader) schedules() {
	first := map[string]int{}
	for i := range r.settings.Schedules {
		schedule, at := &r.settings.Schedules[i], "/schedules/"+strconv.Itoa(i)
		if schedule.rest.Whole() != nil {
			continue // it is no object, which has been reported
		}
		for _, problem := range schedule.problems() {
			r.add(codeSettingsSchedule, at+problem.pointer, problem.message, problem.hint)
		}
		for _, problem := range schedule.untimely() {
			r.add(codeSettingsScheduleTime, at+problem.pointer, problem.message, problem.hint)
		}
		if earlier, twice := first[schedule.ID]; twice && schedule.ID != "" {
			r.add(codeSettingsSchedule, at+"/id", fmt.Sprintf("the id %q is that of schedule %d, too", schedule.ID, earlier+1), "give it another id")
			continue
		}
		first[schedule.ID] = i
	}
}

// blocks checks the words of the optional blocks.
func (r *settingsReader) blocks() {
	if backup := r.settings.Backup; backup != nil {
		for i := range backup.Destinations {
			r.word(codeSettingsBlockValue, fmt.Sprintf("/backup/destinations/%d/type", i), backup.Destinations[i].Type,
				[]string{"git", "object_store", "huggingface", "local_zip"})
		}
	}
	if publish := r.settings.Publish; publish != nil {
		for i := range publish.Destinations {
			r.word(codeSettingsBlockValue, fmt.Sprintf("/publish/destinations/%d/method", i), publish.Destinations[i].Method,
				[]string{"cli", "git", "sync"})
		}
	}
}

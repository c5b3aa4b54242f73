package workflow

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/treadle-dev/treadle/validation"
	"github.com/treadle-dev/treadle/workspace"
)

// resolveSchema compiles the step's validation. A schema in the step
// configuration is used instead of the plan's.
func (c *compiler) resolveSchema(s *compiledStep) {
	schema, file, pointer := s.Base().ValidationSchema, workspace.PlanFile, s.pointer+"/validation_schema"
	if i, ok := c.configs[s.id]; ok {
		if own := c.program.config.Steps[i].ValidationSchema; len(own) > 0 && string(own) != "null" {
			file, pointer = c.program.configFile, c.program.config.Pointer(i)+"/validation_schema"
			schema = &validation.Schema{}
			_ = json.Unmarshal(own, schema) // is JSON; Compile tells what else is wrong
		}
	}
	if schema == nil {
		return
	}
	checker, ds := schema.Compile(file, pointer)
	c.ds = append(c.ds, ds...)
	s.schema, s.checker, s.schemaFile, s.schemaPointer = schema, checker, file, pointer
	c.schemaVariables(s, ds)
}

// schemaVariables checks the variables in the names of files, and those names with the
// values that a run may have. What the schema has without values is reported already.
func (c *compiler) schemaVariables(s *compiledStep, reported workspace.Diagnostics) {
	for i := range s.schema.Files {
		f, at := &s.schema.Files[i], s.schemaPointer+"/files/"+strconv.Itoa(i)
		if len(usedVariables(f.FileName)) > 0 {
			s.expands = true
			c.checkVariablesIn(s.schemaFile, f.FileName, at+"/file_name")
		}
		c.literals(s.schemaFile, f.JSONChecks, at+"/json_checks")
	}
	for i := range s.schema.DB {
		d, at := &s.schema.DB[i], s.schemaPointer+"/db/"+strconv.Itoa(i)
		c.literal(s.schemaFile, d.SQL, at+"/sql")
		c.literals(s.schemaFile, d.Checks, at+"/checks")
	}
	if !s.expands {
		return
	}
	known := slices.Clone(reported)
	for _, set := range c.program.sets {
		_, ds := set.values.expandSchema(s.schema).Compile(s.schemaFile, s.schemaPointer)
		for _, d := range ds {
			if !slices.ContainsFunc(known, func(k workspace.Diagnostic) bool { return k.Code == d.Code && k.Pointer == d.Pointer }) {
				known, c.ds = append(known, d), append(c.ds, d)
			}
		}
	}
}

func (c *compiler) literals(file string, checks []validation.JSONCheck, pointer string) {
	for i := range checks {
		at := pointer + "/" + strconv.Itoa(i)
		c.literal(file, checks[i].Path, at+"/path")
		c.literal(file, checks[i].Pattern, at+"/pattern")
	}
}

// literal tells of a variable where none is put in. Braces around a name that is none
// of a variable mean what they mean in a pattern or a query.
func (c *compiler) literal(file, text, pointer string) {
	for _, name := range usedVariables(text) {
		if c.program.declared[name] || isInput(name) {
			c.variables(codeVariableLiteral, file, pointer, fmt.Sprintf("{{%s}} is taken as it stands here: variables are put into the names of files only", name), "")
		}
	}
}

// expandSchema is a schema with the values in the names of its files.
func (v Variables) expandSchema(schema *validation.Schema) *validation.Schema {
	return schema.WithFileNames(func(name string) string {
		expanded, _ := v.Expand(name)
		return expanded
	})
}

// withVariables is the step as a run with the values has it. It compiled with them.
func (s *compiledStep) withVariables(v Variables) *compiledStep {
	if !s.expands {
		return s
	}
	expanded := *s
	expanded.schema = v.expandSchema(s.schema)
	expanded.checker, _ = expanded.schema.Compile(s.schemaFile, s.schemaPointer)
	return &expanded
}

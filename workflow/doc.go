// Package workflow runs plans: it compiles a workflow's files to a [Program],
// walks it with a [Controller], and keeps every run durable.
//
// The parts can be used alone. [Compile] is pure. [Program.Next] is the cursor: a
// deterministic function from what happened to what to do. A [Controller] adds
// storage, models, tools, logs and costs.
package workflow

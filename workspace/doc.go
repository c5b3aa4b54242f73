// Package workspace holds the files of one workflow.
//
// [Storage] is the port that a host may implement: eight operations over
// slash-separated, relative names, as in [io/fs]. Two implementations come with
// the package: [Dir] keeps the files in a folder of the local disk and lets no
// symbolic link or ".." leave it, [Mem] keeps them in memory. The package
// workspacetest holds the conformance suite that both pass.
//
// [Layout] builds every path of a workflow, so that no other package joins path
// elements by hand. [Diagnostic] is what every reader of a workflow's files
// reports problems with.
package workspace

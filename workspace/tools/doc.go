// Package tools gives a step's model hands in its workspace: a shell in a sandbox, a
// tool that patches a file, one that looks at an image, and the media tools that a
// host provides.
//
// [New] returns them as one toolset, workspace_advanced. All of them touch what the
// step's [workspace.Guard] allows and nothing else: the file tools go through
// [workspace.GuardedFiles], the shell sees only what the guard names.
package tools

// Package stepconfig reads planning/step_config.json, the configuration of each
// step's agent, which stands beside the plan and not in it.
//
// [Parse] reads one file and reports every fault in it at once; [Load] chooses
// between the file of a run and the default one. What the file says survives being
// read and written: keys that nobody knows, values of a wrong type, the order of
// keys, and the difference between absent, null, empty and zero.
//
// [Resolve] puts a step's configuration over the defaults of its workflow and those of
// the library, and says what holds.
//
// [Update] changes a stored file by the ids of its steps and returns what has changed;
// [Editor] does the same in memory. What an edit does not name stays as it was, and a
// file that cannot be read is not touched.
//
// Legacy forms are migrated in memory with a notice. The file itself changes when it is
// next saved for another reason: the bare list then becomes an object, and the legacy
// keys of an edited step take their present form. [Codes] lists all diagnostics.
package stepconfig

// Package stepconfig reads planning/step_config.json, the configuration of each
// step's agent, which stands beside the plan and not in it.
//
// [Parse] reads one file and reports every fault in it at once; [Load] chooses
// between the file of a run and the default one. What the file says survives being
// read and written: keys that nobody knows, values of a wrong type, the order of
// keys, and the difference between absent, null, empty and zero.
//
// Legacy forms are migrated in memory with a notice. The file itself changes when
// it is next saved for another reason.
package stepconfig

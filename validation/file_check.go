package validation

import (
	"context"
	"fmt"
	"io/fs"
)

// fileCheck is a compiled [FileCheck].
type fileCheck struct {
	label    string // as the author wrote it
	name     string // cleaned
	required bool
	checks   []*jsonCheck
}

func (f *fileCheck) run(ctx context.Context, v *visit) (FileResult, sighting, error) {
	result := FileResult{FileName: f.label}
	places := f.places(v.dir)
	result.ResolvedPath = places.primary
	found, err := places.look(ctx, v, places.primary)
	if err != nil {
		return result, found, err
	}
	if found.missing() && places.alternate != "" {
		other, err := places.look(ctx, v, places.alternate)
		if err != nil {
			return result, found, err
		}
		switch {
		case other.missing():
		case places.tryAlternate:
			result.ResolvedPath, found = places.alternate, other
		default:
			result.AlternatePath, result.AlternateExists = places.alternate, true
		}
	}
	result.Exists = !found.missing()
	return result, found, f.inspect(ctx, v, found, &result)
}

// inspect fills the result with the checks of a file that has been looked up.
func (f *fileCheck) inspect(ctx context.Context, v *visit, found sighting, result *FileResult) error {
	fail := func(check CheckType, expected, actual, message string) error {
		result.add(CheckResult{CheckType: check, Expected: expected, Actual: actual, ErrorMsg: message})
		return nil
	}
	switch {
	case found.refused != nil:
		return fail(CheckPath, "a file that can be reached", "not reachable",
			fmt.Sprintf("%s cannot be reached: %v", f.label, found.refused))
	case found.missing() && !f.required:
		result.add(CheckResult{CheckType: CheckMustExist, Passed: true, Expected: "present or absent", Actual: "absent"})
		return nil
	case found.missing():
		return fail(CheckMustExist, "present", "absent", missingFile(result))
	case !found.info.Mode().IsRegular():
		return fail(CheckFile, "a file", notAFile(found.info), fmt.Sprintf("%s is %s, not a file", f.label, notAFile(found.info)))
	}
	result.add(CheckResult{CheckType: CheckMustExist, Passed: true, Expected: "present", Actual: "present"})
	if len(f.checks) == 0 {
		return nil
	}
	content, err := v.read(ctx, result.ResolvedPath, found.info.Size())
	if err != nil {
		return err
	}
	if content.failed != nil {
		result.add(*content.failed)
		return nil
	}
	result.IsJSON = true
	for _, check := range f.checks {
		results := check.run(ctx, content.document)
		if err := ctx.Err(); err != nil {
			return err // what it found is cut short
		}
		result.add(results...)
	}
	return nil
}

func notAFile(info fs.FileInfo) string {
	switch mode := info.Mode(); {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	default:
		return "a special file"
	}
}

func missingFile(result *FileResult) string {
	message := fmt.Sprintf("the file is missing; it was expected at %s", result.ResolvedPath)
	if result.AlternateExists {
		message += fmt.Sprintf(", but there is one at %s: write it to the expected place", result.AlternatePath)
	}
	return message
}

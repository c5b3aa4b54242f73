package mcp_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// troubles are the rows of the list of troubles that users of MCP clients reported,
// and the tests that show what becomes of each here.
func troubles() map[int][]string {
	return map[int][]string{
		1: {"TestAResultMarkedAsErrorIsAFailedResultWithItsText", "TestAFailureWithoutWordsGetsSome"},
		2: {"TestAFailureThatIsOnlyInTheBodyIsPassedOnAsItIs"},
		4: {
			"TestStructuredContentIsTheTextWhereThereIsNoOther",
			"TestAToolThatPromisedStructureAndReturnsNoneHasFailedAndTheSessionLives",
			"TestAnArrayInPlaceOfAResultIsTakenForItsContent",
			"TestOddResultsAreReadAsFarAsTheyGo",
		},
		5: {
			"TestABurstOfChangesIsOneQuestionAndTheNextTurnHasTheNewList",
			"TestAChangeIsOfItsServerOnly",
			"TestAllPagesAreReadAgain",
			"TestACallUnderWayIsNotDisturbedByAChange",
			"TestAListThatCannotBeReadAgainCostsNoToolAndIsTold",
		},
		6: {"TestAllPagesOfToolsAreRead"},
		7: {"TestAListThatNeverEndsIsAnErrorThatNamesTheServer"},
		8: {
			"TestACallOnAServerThatDiesFailsAtOnceAndTheNextStartsItAgain",
			"TestParallelCallsShareOneRestart",
			"TestACallThatTheServerCannotHaveSeenIsMadeOnTheNext",
			"TestACallThatWasSentIsNeverSentAgain",
			"TestRestartsWaitLongerAndLonger",
		},
		9: {"TestAServerThatNeverInitialisesIsGivenUpWithItsLastWords", "TestAServerIsRequiredAndSharedByTheRunUnlessItSaysOtherwise"},
		10: {
			"TestASlowCallTimesOutTellsTheServerAndLeavesTheSession",
			"TestACallToAServerThatDoesNotReadEndsInTimeAndTheServerIsStartedAgain",
			"TestProgressThatNeverEndsIsStoppedAtTheHardLimit",
		},
		12: {
			"TestACanceledCallTellsTheServerAndLeavesTheOthers", // and the server answers late
			"TestAStartThatIsGivenUpIsNotCanceledOnTheWire",
		},
		13: {"TestACanceledCallTellsTheServerAndLeavesTheOthers", "TestAServerThatDiesOfACancellationIsStartedAgain"},
		14: {"TestALargeResultArrivesWhole"}, // what the model sees of it is cut by the loop, which keeps the rest
		15: {"TestALongLineOnTheWireArrivesWhole", "TestALineIsReadWholeUpToTheLimit", "TestAMessageWithoutEndIsCutOff"},
		16: {"TestASchemaBecomesOneThatEndpointsTake", "TestAToolThatCannotBeUsedIsLeftOutAndReported"},
		18: {"TestASchemaBecomesOneThatEndpointsTake", "TestASchemaOfTheLatestDialectIsNotChanged", "TestASchemaOutOfAllBoundsIsHopeless"},
		19: {
			"TestOldWordsAreWrittenInTheLatestDialect",
			"TestASchemaOfDraft4AcceptsTheSameInTheLatestDialect",
			"TestOneBadSchemaCostsOneTool",
			"TestAHopelessSchemaSaysWhy",
			"TestWhatOnlyPartOfASchemaGetsWrongCostsThatPartAndIsTold",
		},
		20: {"TestOneNameOnTwoServersAndAtHomeIsThreeTools"},
		21: {"TestNamesAreAcceptableUniqueAndKnownByOrigin", "TestAnUnacceptableNameIsCleanedAndKeepsItsPlaceForEver"},
		22: {"TestAToolIsCalledByItsOwnNameWhateverTheModelCallsIt", "TestNamesAreAlwaysAcceptableAndNeverShared"},
		24: {
			"TestAStreamThatIsCutBetweenTwoEventsIsResumedAfterTheLast",
			"TestParallelStreamsAreResumedEachAfterItsOwnLastEvent",
			"TestEveryEventIsHandledOnceHoweverOftenTheStreamBreaks",
			"TestAfterAGapInTheListeningStreamTheToolsAreListedAgain",
		},
		25: {
			"TestACallOnASessionThatIsGoneIsReportedAndTheNextHasANewOne",
			"TestACallThatIsHarmlessTwiceIsMadeOnTheNewSession",
			"TestParallelCallsShareOneNewSession",
		},
		26: {
			"TestARefusedTokenIsRenewedOnceForAllAndEachCallSentOnceMore",
			"TestASecondRefusalIsALoginNeeded",
			"TestNoSecretGetsIntoErrorsLogsOrProblems",
		},
	}
}

func TestEveryReportedTroubleHasATest(t *testing.T) {
	t.Parallel()
	rows := troubleRows(t)
	tests := testsHere(t)
	covered := troubles()
	for _, row := range rows {
		assert.NotEmpty(t, covered[row], "row %d of the list of troubles has no test", row)
	}
	for row, names := range covered {
		assert.Contains(t, rows, row, "the list of troubles has no row %d", row)
		for _, name := range names {
			assert.True(t, tests[name], "row %d: there is no %s", row, name)
		}
	}
}

// troubleRows reads the numbers of the rows.
func troubleRows(t *testing.T) []int {
	t.Helper()
	root := os.Getenv("TREADLE_FIXTURES")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared", "fixtures")
	}
	data, err := os.ReadFile(filepath.Join(root, "mcp", "README.md"))
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the list of troubles is missing: %v; set TREADLE_FIXTURES", err)
		}
		t.Skipf("the list of troubles is not here (%v); set TREADLE_FIXTURES to the fixtures folder", err)
	}
	var rows []int
	for _, match := range regexp.MustCompile(`(?m)^\| *(\d+) *\|`).FindAllStringSubmatch(string(data), -1) {
		n, err := strconv.Atoi(match[1])
		require.NoError(t, err)
		rows = append(rows, n)
	}
	require.NotEmpty(t, rows)
	return rows
}

// testsHere returns the names of the tests in this folder.
func testsHere(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	names := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, decl := range parsed.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
				names[fn.Name.Name] = true
			}
		}
	}
	return names
}

package contract

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// referenceTable returns the rows of a table of docs/reference.md with this header, each a map from
// column to cell. The page is generated from the program's tables, so a new row is a new case here.
func referenceTable(t *testing.T, header string) []map[string]string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs/reference.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(page), "\n| "+header+" |")
	if !found {
		t.Fatalf("docs/reference.md has no table that begins with %q", header)
	}
	lines := strings.Split(after, "\n")
	columns := append([]string{header}, cells("|"+lines[0])...)
	var rows []map[string]string
	for _, line := range lines[2:] {
		if !strings.HasPrefix(line, "|") {
			break
		}
		row := map[string]string{}
		for i, cell := range cells(line) {
			row[columns[i]] = strings.Trim(cell, "`")
		}
		rows = append(rows, row)
	}
	return rows
}

func cells(line string) []string {
	all := strings.Split(strings.Trim(line, "|"), "|")
	for i, cell := range all {
		all[i] = strings.TrimSpace(cell)
	}
	return all
}
